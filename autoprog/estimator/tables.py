"""Features and targets as scikit-learn's users have them, brought into the form of a cohort's file, and back."""

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

# Where a warning of what reading has dropped belongs.
_CALLER_OF_FIT = 5


def to_frame(X: pd.DataFrame | NDArray[np.float64]) -> pd.DataFrame:
    """A table with named columns: those of an array are called x0, x1 and so on.

    Parameters
    ----------
    X : DataFrame or ndarray, shape = (n_patients, n_features)
        The features.

    Returns
    -------
    DataFrame
        With an index from 0; categories as their values.
    """
    if not isinstance(X, pd.DataFrame) or not all(isinstance(name, str) for name in X.columns):
        values = np.asarray(X)
        return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
    frame = X.reset_index(drop=True)
    for name in frame.columns[frame.dtypes == "category"]:
        frame[name] = frame[name].astype(object)
    return frame


def binary_cohort(frame: pd.DataFrame, y: NDArray[np.bool_], groups: object, *, all_numeric: bool) -> Cohort:
    """The cohort of an outcome without a time.

    Parameters
    ----------
    frame : DataFrame, shape = (n_patients, n_features)
        The features.
    y : ndarray of bool, shape = (n_patients,)
        Who has the outcome.
    groups : array-like, shape = (n_patients,), or None
        Rows that must not be split over folds.
    all_numeric : bool
        Whether every column is a number and stays one; else kinds are told from the values, and columns without
        information are left out.

    Returns
    -------
    Cohort
        Of mode `classification`.

    Raises
    ------
    InvalidInputError
        With every fault of the columns.
    """
    (outcome,) = _unused(frame, "outcome")
    spec = {"mode": "classification", "outcome": {"column": outcome, "positive": 1}}
    table = frame.assign(**{outcome: y.astype(np.int64)})
    return _cohort(table, spec, groups, list(map(str, frame)) if all_numeric else ())


def survival_cohort(
    frame: pd.DataFrame, y: Survival, horizons: Sequence[float] | None, groups: object, *, all_numeric: bool
) -> Cohort:
    """The cohort of a time to an event; see `binary_cohort`.

    Parameters
    ----------
    frame : DataFrame, shape = (n_patients, n_features)
        The features.
    y : Survival, length n_patients
        The follow-up.
    horizons : sequence of float or None
        Times at which risks are asked for; None for the quartiles of the times of the event of interest.
    groups, all_numeric
        As `binary_cohort` takes them.

    Returns
    -------
    Cohort
        Of mode `survival`.

    Raises
    ------
    InvalidInputError
        With every fault of columns, times and horizons.
    """
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
    """New patients as the model takes them, shape = (n_patients, n_features of the model)."""
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
    """Columns that pandas holds as text, since beside numbers they have words.

    In a file such a column may be one of numbers with mistakes in it, and is refused until somebody says. Here the
    type of the column says it.
    """
    found = []
    for name in table.select_dtypes(include=["object", "string"]):
        texts = table[name].dropna().astype(str).str.strip().unique()
        known = [text for text in texts if text.lower() not in NUMERIC_MISSING_TOKENS]
        if 0 < sum(math.isfinite(parse_number(text)) for text in known) < len(known):
            found.append(str(name))
    return found


def _unused(frame: pd.DataFrame, *names: str) -> list[str]:
    """Names like these that no column has."""
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
