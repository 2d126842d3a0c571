"""Convert scikit-learn's features and targets into cohorts, and patients into a model's matrix."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from autoprog.cohort import (
    Cohort,
    CohortReadResult,
    Feature,
    encode_patients,
    parse_spec,
    read_cohort,
    read_patients,
    to_parquet,
)
from autoprog.cohort.canonical import LARGEST, canonical_text, parse_number
from autoprog.cohort.cells import NUMERIC_MISSING_TOKENS, read_cells
from autoprog.cohort.checks import is_identifier
from autoprog.cohort.inference import count_values
from autoprog.cohort.messages import count_text, listed
from autoprog.cohort.table import Column
from autoprog.errors import InvalidInputError
from autoprog.estimator.targets import SamplingDesign, Survival
from autoprog.estimator.words import advise, python_words
from autoprog.explanation import Explanation
from autoprog.model import PrognosticModel

# Warnings about what reading has dropped point at the caller of `fit`.
_CALLER_OF_FIT = 5
_SHOWN_LEVELS = 5
_NO_DESIGN = SamplingDesign()


@dataclass(frozen=True, eq=False)
class CohortTable:
    """The patients of a search: a Parquet file with its spec, as the REST API takes them, and what was read of it."""

    source: bytes
    spec: Mapping[str, Any]
    read: CohortReadResult

    @property
    def cohort(self) -> Cohort:
        """The patients."""
        return self.read.cohort

    @classmethod
    def of(cls, source: bytes, spec: Mapping[str, Any]) -> CohortTable:
        """Read the file; raises InvalidInputError."""
        read = read_cohort(source, parse_spec(spec))
        return cls(source, spec, replace(read, warnings=tuple(map(advise, read.warnings))))

    def stored(self) -> bytes:
        """The patients in the form that a search reads."""
        return to_parquet(self.cohort)

    def document(self) -> dict[str, Any]:
        """Description of the cohort, as the REST API shows it."""
        cohort, read = self.cohort, self.read
        return {
            "name": cohort.name,
            "mode": cohort.mode,
            "n_patients": cohort.n_patients,
            "n_sampled": None if cohort.sampled is None else cohort.n_sampled,
            "n_rows": read.n_rows,
            "n_dropped": read.n_dropped,
            "features": [asdict(feature) for feature in cohort.features],
            "outcome": asdict(cohort.outcome),
            "event_rate": float(cohort.event_rate),
            "follow_up": None if read.follow_up is None else asdict(read.follow_up),
            "has_identifiers": False,  # an estimator's table has none
            "sample_size": asdict(read.sample_size),
            "warnings": list(read.warnings),
        }


def name_columns(X: pd.DataFrame) -> pd.DataFrame:
    """Name columns as a file's are read, without surrounding blanks, and the number 0 as `x0`; may raise ValueError."""
    labels = [f"x{label}" if isinstance(label, int | np.integer) else str(label).strip() for label in X.columns]
    names = pd.Index(labels, dtype=object)
    if not names.is_unique:
        msg = f"columns have the same name: {', '.join(sorted(set(names[names.duplicated()])))}"
        raise ValueError(msg)
    return X.set_axis(names, axis=1)


def to_frame(X: pd.DataFrame | NDArray[Any], names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a table with named columns (x0, x1 ... for none) and an index from 0."""
    frame = X.reset_index(drop=True) if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X)).infer_objects()
    frame = name_columns(frame) if names is None else frame.set_axis(list(names), axis=1)
    columns = {name: _plain(frame[name]) for name in frame.columns if not _is_plain(frame[name])}
    return frame.assign(**columns) if columns else frame


def _is_plain(column: pd.Series) -> bool:
    return column.dtype.kind in "biuf"


def _plain(column: pd.Series) -> pd.Series:
    """Return categories, and what Parquet does not know, as text."""
    # It has neither intervals nor a mixture of numbers and words.
    if isinstance(column.dtype, pd.CategoricalDtype):
        if column.cat.ordered:
            return column.cat.rename_categories(canonical_text)
        return column.map(canonical_text, na_action="ignore").astype("category")
    if isinstance(column.dtype, pd.IntervalDtype):
        column = column.astype(object)
    if column.dtype != object:
        return column
    kinds = {type(value) for value in column[column.notna()]}
    if (len(kinds) < 2 and pd.Interval not in kinds) or all(
        issubclass(kind, int | float | np.number) and kind is not bool for kind in kinds
    ):
        return column
    return column.map(canonical_text, na_action="ignore")


def binary_cohort(
    frame: pd.DataFrame,
    y: NDArray[Any],
    positive: object,
    design: SamplingDesign = _NO_DESIGN,
    *,
    name: str | None = None,
    all_numeric: bool,
) -> CohortTable:
    """Make a cohort of mode `classification`; raises InvalidInputError."""
    # With `all_numeric` every column stays a number; else values decide, and columns without information are dropped.
    (outcome,) = _unused(frame, name or "outcome")
    labels: NDArray[Any] = (y == positive).astype(np.int64)
    value: object = 1
    if _are_words(y):
        labels, value = y, str(positive)
    spec = {"mode": "classification", "outcome": {"column": outcome, "positive": value}}
    table = frame.assign(**{outcome: labels})
    return _cohort(table, spec, design, {outcome: "y"}, list(map(str, frame)) if all_numeric else ())


def _are_words(y: NDArray[Any]) -> bool:
    """Whether labels are texts that a file can hold as they are, so that reports can use them."""
    values = {str(value).strip() for value in np.unique(y)} if y.dtype.kind in "OU" else set()
    return len(values) == 2 and all(
        value.lower() not in NUMERIC_MISSING_TOKENS and math.isnan(parse_number(value)) for value in values
    )


def survival_cohort(
    frame: pd.DataFrame,
    y: Survival,
    horizons: Sequence[float] | None,
    design: SamplingDesign = _NO_DESIGN,
    *,
    all_numeric: bool,
) -> CohortTable:
    """Make a cohort of mode `survival`, by default with quartiles of event times; raises InvalidInputError."""
    time, event = _unused(frame, "time", "event")
    codes = np.asarray(y.event)
    words = y.labels or tuple(map(str, range(codes.max(initial=1) + 1)))
    competing = [words[code] for code in np.unique(codes) if code > 1]
    outcome: dict[str, Any] = {
        "time": time, "event": event, "event_of_interest": words[1], "competing": competing, "censored": words[0],
    }  # fmt: skip
    if horizons is not None:
        outcome["horizons"] = [float(h) for h in horizons]
    table = frame.assign(**{time: np.asarray(y.time), event: np.array(words)[codes]})
    roles = {time: "the time of y", event: "the event of y"}
    numeric = list(map(str, frame)) if all_numeric else ()
    return _cohort(table, {"mode": "survival", "outcome": outcome}, design, roles, numeric)


def _cohort(
    table: pd.DataFrame, spec: dict[str, Any], design: SamplingDesign, roles: dict[str, str], numeric: Sequence[str]
) -> CohortTable:
    coded = {} if numeric else _coded_columns(table, roles)
    features: dict[str, dict[str, Any]] = {name: {"kind": "numeric"} for name in numeric}
    features |= {name: {"kind": "categorical"} for name in coded}
    features |= {name: {"kind": "ordinal", "levels": levels} for name, levels in _ordered_columns(table).items()}
    spec = {"name": "cohort", **spec, "features": features}
    if design.groups is not None:
        (spec["groups"],) = _unused(table, "groups")
        roles = {**roles, spec["groups"]: "groups"}
        table = table.assign(**{spec["groups"]: _group_codes(design.groups)})
    if design.weights is not None:
        (spec["weights"],) = _unused(table, "weights")
        roles = {**roles, spec["weights"]: "sample_weight"}
        weights = design.weights_of(len(table))
        table = table.assign(**{spec["weights"]: weights})[weights != 0]
    with python_words(roles):
        found = CohortTable.of(_parquet(table), spec)
    for text in (*filter(None, coded.values()), *found.read.warnings):
        warnings.warn(text, UserWarning, stacklevel=_CALLER_OF_FIT)
    return found


def _group_codes(groups: object) -> NDArray[np.int64]:
    """Number the groups; raises ValueError if a patient has none."""
    values = column_or_1d(np.asarray(groups, dtype=object))
    if n := int(pd.isna(values).sum()):
        msg = f"groups: {count_text(n, 'patient')} without a group; patients who belong to nobody are each a group"
        raise ValueError(msg)
    codes: NDArray[np.int64] = pd.factorize(values, sort=True)[0]
    return codes


def _ordered_columns(table: pd.DataFrame) -> dict[str, list[str]]:
    """Return the levels of the columns of ordered categories, of which two need no order."""
    used = {
        str(name): list(table[name].cat.remove_unused_categories().cat.categories)
        for name in table.select_dtypes(include="category")
        if table[name].cat.ordered
    }
    return {name: levels for name, levels in used.items() if len(levels) > 2}


def _coded_columns(table: pd.DataFrame, roles: Mapping[str, str]) -> dict[str, str | None]:
    """Return the columns whose numbers are codes; those with a few words among numbers have a warning of the words."""
    # A file's columns of this kind are numbers, or refused, until it is declared. Here the type category declares it,
    # or text that repeats, as codes do.
    found: dict[str, str | None] = {}
    for name in table.select_dtypes(include=["category", "object", "string"]).columns.difference(list(roles)):
        column = Column.of(name, pa.array(table[name].dropna().astype(str), pa.large_string()))
        cells, categories = read_cells(column), read_cells(column, numeric=False)
        if not cells.is_numeric or is_identifier(categories, count_values(categories)):
            continue
        if isinstance(table[name].dtype, pd.CategoricalDtype):
            if count_values(cells) > 2:
                found[str(name)] = None
        elif cells.words.any():
            words = [repr(text) for text in column.texts.filter(pa.array(cells.words)).to_pylist()]
            found[str(name)] = (
                f"column {name!r} holds numbers and the words {listed(words, len(words))}, so each value is a "
                "category: set the words to None to have numbers"
            )
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


def to_matrix(model: PrognosticModel, frame: pd.DataFrame) -> tuple[NDArray[np.float64], list[str]]:
    """Return new patients as the model takes them, shape = (n_patients, n_features), and what is unusual of them."""
    X, unusual = np.empty((len(frame), len(model.inputs))), []
    try:
        for j, feature in enumerate(model.inputs):
            X[:, j], text = _encode(frame[feature.name], feature, model.metadata.na_values)
            unusual += [text] if text else []
    except InvalidInputError:
        # A single column's faults lack the rows of the whole table.
        with python_words():
            patients = read_patients(_parquet(frame), model.inputs, na_values=model.metadata.na_values)
            encode_patients(model.inputs, patients)
        raise
    return X, unusual


def _encode(column: pd.Series, feature: Feature, na_values: Sequence[str]) -> tuple[NDArray[np.float64], str | None]:
    """Encode a column as a file's is, each of its different values once."""
    if feature.kind == "numeric" and column.dtype in (np.float64, np.int64) and not na_values:
        values = column.to_numpy(dtype=np.float64)
        if not (np.abs(values) >= LARGEST).any():  # infinite ones are read, and refused, below
            return values, _outside(values, feature)
    codes, different = pd.factorize(column)
    if not len(different):
        return np.full(len(column), np.nan), None
    patients = read_patients(_parquet(pd.DataFrame({feature.name: different})), [feature], na_values=na_values)
    encoded = encode_patients([feature], patients)
    values = np.append(encoded.X[:, 0], np.nan)[codes]
    if feature.kind == "numeric":
        return values, _outside(values, feature)
    known = [patient[feature.name] is not None for patient in patients]
    unseen = np.append(np.isnan(encoded.X[:, 0]) & known, False)
    return values, _unseen(unseen[codes], [patients[k][feature.name] for k in np.flatnonzero(unseen)], feature)


def _outside(values: NDArray[np.float64], feature: Feature) -> str | None:
    low, high = feature.minimum, feature.maximum
    if low is None or high is None or not (n := int(((values < low) | (values > high)).sum())):
        return None
    bounds = f"{low:.6g} to {high:.6g}"
    return f"{feature.name} is outside the training range {bounds} for {n:,} of {len(values):,} patients"


def _unseen(rows: NDArray[np.bool_], levels: Sequence[object], feature: Feature) -> str | None:
    if not rows.any():
        return None
    names = ", ".join(map(repr, levels[:_SHOWN_LEVELS])) + (" ..." if len(levels) > _SHOWN_LEVELS else "")
    return (
        f"{feature.name} was never seen in training as {names}, and is treated as missing for {rows.sum():,} of "
        f"{len(rows):,} patients"
    )


def place_of_horizon(horizons: Sequence[float | None], horizon: float | None) -> int:
    """Number of a horizon, the last for None; raises ValueError if it is none of them."""
    if horizon is None:
        return len(horizons) - 1
    if horizon not in horizons:
        known = ", ".join(f"{each:g}" for each in horizons if each is not None)
        msg = f"horizon {horizon:g} is none of {known}" if known else "the outcome has no horizons"
        raise ValueError(msg)
    return horizons.index(horizon)


def importance_table(found: Explanation, horizon: float | None) -> pd.DataFrame:
    """Table of the losses until a horizon, the most important input first."""
    rows = []
    for each in found.importance:
        k = place_of_horizon([at for at, _ in each.horizons], horizon)
        auc, brier = list(each.horizons[k][1].values())[:2]
        rows.append((each.feature, auc.estimate, auc.lower, auc.upper, brier.estimate))
    table = pd.DataFrame(rows, columns=["feature", "auc_loss", "lower", "upper", "brier_rise"])
    return table.sort_values("auc_loss", ascending=False, kind="stable", ignore_index=True)
