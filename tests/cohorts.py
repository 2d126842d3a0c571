"""Cohorts that tests share."""

from __future__ import annotations

import gzip
import io
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from autoprog.cohort import Binary, Cohort, Feature, cleveland, parse_spec, read_cohort


@cache
def cleveland_cohort() -> Cohort:
    """The bundled 303 patients, six missing cells among them."""
    path, spec = cleveland()
    return read_cohort(path, spec).cohort


@cache
def real_cohort(name: str) -> Cohort:
    """A cohort of `tests/data`: pima_missing, hepatitis, ckd or stroke; or cleveland."""
    if name == "cleveland":
        return cleveland_cohort()
    content = (Path(__file__).parent / "data" / f"{name}.csv.gz").read_bytes()
    return read_cohort(content, parse_spec({"name": name, "outcome": {"column": "outcome", "positive": 1}})).cohort


EVENT_SPECS: dict[str, dict[str, object]] = {
    "whas500": {"event_of_interest": 1, "horizons": [30, 365, 1095], "ignore": ["los"]},
    "gbsg2": {"event_of_interest": 1, "horizons": [365, 1095, 1825]},
    "veteran": {"event_of_interest": 1, "horizons": [30, 90, 180]},
    "lung": {"event_of_interest": 1, "horizons": [180, 365]},
    "mgus2": {"event_of_interest": 1, "competing": [2], "horizons": [60, 120, 240]},
    "framingham_cr": {"event_of_interest": 1, "competing": [2], "horizons": [1826, 3652, 7305]},
    "pbc_cr": {"event_of_interest": 1, "competing": [2], "horizons": [365, 1095, 1825]},
    "bmt137": {"event_of_interest": 1, "competing": [2], "horizons": [180, 365]},
    "pbcseq": {"event_of_interest": 1, "competing": [2], "horizon": 365},
}
"""What the outcome of a cohort of `tests/data/reference` is, beside its columns `time` and `event`."""


def event_file(name: str) -> bytes:
    """The gzipped CSV file of a cohort of `EVENT_SPECS`."""
    return (Path(__file__).parent / "data" / "reference" / f"{name}.csv.gz").read_bytes()


def event_spec(name: str) -> dict[str, object]:
    """The spec of a cohort of `EVENT_SPECS`; `pbcseq` is one of visits."""
    outcome: dict[str, object] = {"time": "time", "event": "event", **EVENT_SPECS[name]}
    ignore = outcome.pop("ignore", [])
    mode = "survival"
    if name == "pbcseq":
        mode = "temporal"
        outcome |= {"patient": "patient_id", "visit_time": "visit_time"}
    return {"name": name, "mode": mode, "outcome": outcome, "ignore": ignore}


@cache
def event_cohort(name: str) -> Cohort:
    """A cohort of `EVENT_SPECS`: patients, or of `pbcseq` visits, followed up for an event."""
    return read_cohort(event_file(name), parse_spec(event_spec(name))).cohort


@cache
def labelled_visits() -> Cohort:
    """The visits of pbcseq, labelled by whether albumin is below 3.5 g/dl then."""
    return _labelled_visits(lacks_every=0)


@cache
def partly_labelled_visits() -> Cohort:
    """The same visits; every third row of the file has no label."""
    return _labelled_visits(lacks_every=3)


def _labelled_visits(lacks_every: int) -> Cohort:
    frame = pd.read_csv(io.BytesIO(gzip.decompress(event_file("pbcseq"))))
    frame["low"] = (frame.pop("albumin") < 3.5).astype("Int64")
    if lacks_every:
        frame.loc[::lacks_every, "low"] = pd.NA
    outcome = {"patient": "patient_id", "visit_time": "visit_time", "horizon": 1, "column": "low", "positive": 1}
    spec = {"name": "albumin", "mode": "temporal", "outcome": outcome, "ignore": ["time", "event"]}
    return read_cohort(frame.to_csv(index=False).encode(), parse_spec(spec)).cohort


@cache
def mixed_cohort() -> Cohort:
    """200 simulated patients with every kind of feature, missing cells and groups."""
    rng = np.random.default_rng(7)
    n = 200
    age = rng.normal(60, 10, n)
    sex = rng.integers(0, 2, n).astype(float)
    site = rng.integers(0, 3, n).astype(float)
    grade = rng.integers(0, 4, n).astype(float)
    y = (rng.random(n) < 1 / (1 + np.exp(-(age - 60) / 8 - sex + site))).astype(np.int8)
    X = np.column_stack([age, sex, site, grade])
    X[rng.random(X.shape) < 0.05] = np.nan
    features = (
        Feature("age", "numeric"),
        Feature("sex", "binary", ("female", "male")),
        Feature("site", "categorical", ("a", "b", "c")),
        Feature("grade", "ordinal", ("1", "2", "3", "4")),
    )
    return Cohort("mixed", Binary("outcome", "1", "0"), features, X, y, groups=rng.integers(0, 40, n))
