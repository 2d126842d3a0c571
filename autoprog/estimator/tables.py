"""Convert scikit-learn's features and targets into cohorts, and patients into a model's matrix."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from autoprog.cohort import Cohort, encode_patients, parse_spec, read_cohort, read_patients
from autoprog.cohort.canonical import parse_number
from autoprog.cohort.cells import NUMERIC_MISSING_TOKENS
from autoprog.estimator.follow_up import Survival
from autoprog.model import PrognosticModel

# Warnings about what reading has dropped point at the caller of `fit`.
_CALLER_OF_FIT = 5


def to_frame(X: pd.DataFrame | NDArray[np.float64]) -> pd.DataFrame:
    """Return a table with named columns (x0, x1 ... for an array), an index from 0, and categories as values."""
    if not isinstance(X, pd.DataFrame) or not all(isinstance(name, str) for name in X.columns):
        values = np.asarray(X)
        return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
    frame = X.reset_index(drop=True)
    for name in frame.columns[frame.dtypes == "category"]:
        frame[name] = frame[name].astype(object)
    return frame


def binary_cohort(frame: pd.DataFrame, y: NDArray[np.bool_], groups: object, *, all_numeric: bool) -> Cohort:
    """Make a cohort of mode `classification`; raises InvalidInputError."""
    # With `all_numeric` every column stays a number; else values decide, and columns without information are dropped.
    (outcome,) = _unused(frame, "outcome")
    spec = {"mode": "classification", "outcome": {"column": outcome, "positive": 1}}
    table = frame.assign(**{outcome: y.astype(np.int64)})
    return _cohort(table, spec, groups, list(map(str, frame)) if all_numeric else ())


def survival_cohort(
    frame: pd.DataFrame, y: Survival, horizons: Sequence[float] | None, groups: object, *, all_numeric: bool
) -> Cohort:
    """Make a cohort of mode `survival`, by default with quartiles of event times; raises InvalidInputError."""
    time, event = _unused(frame, "time", "event")
    codes = np.asarray(y.event)
    competing = [int(code) for code in np.unique(codes) if code > 1]
    outcome: dict[str, Any] = {"time": time, "event": event, "event_of_interest": 1, "competing": competing}
    if horizons is not None:
        outcome["horizons"] = [float(h) for h in horizons]
    table = frame.assign(**{time: np.asarray(y.time), event: codes})
    return _cohort(
        table, {"mode": "survival", "outcome": outcome}, groups, list(map(str, frame)) if all_numeric else ()
    )


def to_matrix(model: PrognosticModel, frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return new patients as the model takes them, shape = (n_patients, n_features of the model)."""
    if not model.inputs:
        return np.empty((len(frame), 0))
    patients = read_patients(_parquet(frame), model.inputs)
    return encode_patients(model.inputs, patients).X


def _cohort(table: pd.DataFrame, spec: dict[str, Any], groups: object, numeric: Sequence[str]) -> Cohort:
    kinds = dict.fromkeys(numeric, "numeric") or dict.fromkeys(_mixed_columns(table), "categorical")
    spec = {"name": "cohort", **spec, "features": {name: {"kind": kind} for name, kind in kinds.items()}}
    if groups is not None:
        (spec["groups"],) = _unused(table, "groups")
        table = table.assign(**{spec["groups"]: np.unique(np.asarray(groups), return_inverse=True)[1]})
    intake = read_cohort(_parquet(table), parse_spec(spec))
    for text in intake.warnings:
        warnings.warn(text, UserWarning, stacklevel=_CALLER_OF_FIT)
    return intake.cohort


def _mixed_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns that pandas holds as text because they mix numbers with words."""
    # In a file such a column may hold numbers with mistakes, and is refused until its kind is declared. Here the type
    # of the column declares it.
    found = []
    for name in table.select_dtypes(include=["object", "string"]):
        texts = table[name].dropna().astype(str).str.strip().unique()
        known = [text for text in texts if text.lower() not in NUMERIC_MISSING_TOKENS]
        if 0 < sum(math.isfinite(parse_number(text)) for text in known) < len(known):
            found.append(str(name))
    return found


def _unused(frame: pd.DataFrame, *names: str) -> list[str]:
    """Return names like these that no column has."""
    found = []
    for name in names:
        while name in frame:
            name += "_"  # noqa: PLW2901  until it is free
        found.append(name)
    return found


def _parquet(frame: pd.DataFrame) -> bytes:
    target = io.BytesIO()
    frame.to_parquet(target, index=False)
    return target.getvalue()
