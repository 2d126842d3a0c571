"""Cohorts that tests share."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

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
