"""Convert scikit-learn's features and targets into cohorts, and patients into a model's matrix."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from autoprog.cohort import Cohort, encode_patients, parse_spec, read_cohort, read_patients
from autoprog.cohort.canonical import parse_number
from autoprog.cohort.cells import NUMERIC_MISSING_TOKENS
from autoprog.model import PrognosticModel


@dataclass(frozen=True, eq=False)
class Survival:
    """Follow-up of patients, as the target of `AutoPrognosis(mode="survival")`.

    Attributes
    ----------
    time : array-like, shape = (n_patients,)
        Time from the start to the event or to censoring, above 0, in the unit of the horizons.
    event : array-like, shape = (n_patients,)
        How the follow-up ended: 0 or False for censored, 1 or True for the event of interest, 2 and more for competing
        events.

    Raises
    ------
    ValueError
        If one of them is no column of numbers, their lengths differ, or a code is no whole number from 0.

    Examples
    --------
    >>> len(Survival(time=[12.5, 30.0], event=[1, 0]))
    2
    """

    time: ArrayLike
    event: ArrayLike

    def __post_init__(self) -> None:
        time = column_or_1d(np.asarray(self.time, dtype=np.float64))
        event = column_or_1d(np.asarray(self.event))
        check_consistent_length(time, event)
        codes = event.astype(np.int64)
        if (codes != event).any() or (codes < 0).any():
            msg = "event holds codes: 0 for censored, 1 for the event of interest, 2 and more for competing events"
            raise ValueError(msg)
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "event", codes)

    def __len__(self) -> int:
        return len(np.asarray(self.time))


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
