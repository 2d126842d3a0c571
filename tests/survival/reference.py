"""R's values for real cohorts (`tests/data/reference`), and those cohorts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

_FOLDER = Path(__file__).parent.parent / "data" / "reference"

COMPETING = ("pbc_cr", "bmt137", "mgus2", "framingham_cr", "pbcseq_first")
SINGLE = ("gbsg2", "whas500", "veteran", "lung")
COHORTS = COMPETING + SINGLE


@cache
def table(name: str) -> pd.DataFrame:
    """A table of `tests/data/reference` whose empty cells are missing."""
    path = next(_FOLDER.glob(f"{name}.csv*"))
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def of_cohort(name: str, cohort: str, **values: object) -> pd.DataFrame:
    """Rows of a table: of a cohort, and of the values of other columns."""
    rows = table(name)
    rows = rows[rows["cohort"] == cohort]
    for column, value in values.items():
        rows = rows[rows[column].isna()] if value is None else rows[rows[column] == value]
    return rows


def metric(cohort: str, name: str) -> np.ndarray:
    """Values of a measure, by horizon where it has one."""
    rows = of_cohort("metrics", cohort, metric=name).drop_duplicates("horizon")
    return rows["value"].to_numpy()


@dataclass(frozen=True)
class ReferenceCohort:
    """The rows that R used, in its order."""

    time: np.ndarray
    event: np.ndarray
    X: np.ndarray
    group: np.ndarray
    horizons: np.ndarray
    lp: np.ndarray
    risk: np.ndarray


@cache
def cohort_of(name: str) -> ReferenceCohort:
    """A cohort with its covariates, and the linear predictor and risks that R's measures are of."""
    spec = of_cohort("cohorts_spec", name).iloc[0]
    rows = pd.read_csv(_FOLDER / spec["file"])
    if spec["filter"] == "first_visit":
        rows = rows.sort_values(["patient_id", "visit_time"]).drop_duplicates("patient_id")
    rows = rows.dropna(subset=["time", "event", *spec["covariates"].split(";")])
    columns = []
    for coding in of_cohort("coding", name).itertuples():
        values = rows[coding.variable]
        if coding.kind == "numeric":
            columns.append(values.to_numpy(dtype=np.float64))
        else:
            columns += [(values.astype(str) == level).to_numpy(float) for level in str(coding.levels).split(";")[1:]]
    inputs = of_cohort("metric_inputs", name)
    return ReferenceCohort(
        rows["time"].to_numpy(dtype=np.float64),
        rows["event"].to_numpy(dtype=np.int64),
        np.column_stack(columns),
        rows[spec["group"]].astype(str).to_numpy(),
        of_cohort("horizons", name)["horizon"].to_numpy(),
        inputs["lp"].to_numpy(),
        inputs[["risk_h1", "risk_h2", "risk_h3"]].to_numpy(),
    )
