"""Notes on a fit that succeeded: a learner's warnings, columns left out, patients not used.

Notes hold names of columns, counts and texts of libraries, never a patient's value.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from autoprog.cohort import Cohort
from autoprog.evaluation.folds import Fold
from autoprog.space import (
    MAX_DUMMIES,
    STAGES,
    CalibratedIncidence,
    CalibratedRisk,
    Configuration,
    IncidencePipeline,
    IndependentColumns,
    Space,
    TableShape,
)

_QUOTED = re.compile(r"(?<!\w)(['\"]).*?(?:\1(?!\w)|\Z)", re.DOTALL)
_BRACKETED = re.compile(r"\[.*\]|\[.*", re.DOTALL)
_NUMBER = re.compile(r"-?[\d.,]*\.\d+(?:e[+-]?\d+)?|\b\d+e[+-]?\d+\b", re.IGNORECASE)
# Enough for what is shown, and few enough characters for patterns that search for a closing mark.
_MAX_READ = 5_000


def without_values(text: str) -> str:
    """Replace possible patients' values (quoted, bracketed, decimal) by dots; whole numbers stay, most being counts."""
    text = _BRACKETED.sub("[...]", _QUOTED.sub("'...'", text[:_MAX_READ]))
    return _NUMBER.sub("...", text)


_MOST = 160
_NAMED = 5
_ROUNDING = 1e-6  # of float32, which paths are in


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Collect the distinct warnings of a block as notes, category and first sentence, instead of printing them."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += dict.fromkeys(_first_sentence(w) for w in caught)


def _first_sentence(warning: warnings.WarningMessage) -> str:
    text = " ".join(without_values(str(warning.message)).split())
    sentence = re.split(r"(?<=[a-z)\]])[.:;]\s", text, maxsplit=1)[0].rstrip(".")
    return f"{warning.category.__name__}: {sentence[:_MOST]}"


def notes_on_columns(cohort: Cohort, fold: Fold, pipeline: BaseEstimator) -> list[str]:
    """Note features with one value among the training patients, and columns that the fitted pipeline left out."""
    train = cohort.X[fold.train]
    constant = [
        feature.name
        for j, feature in enumerate(cohort.features)
        if _is_constant(train[:, j]) and not _is_constant(cohort.X[:, j])
    ]
    notes = [f"{_names(constant)}: one value among the training patients of a fold"] if constant else []
    steps = dict(_fitted_steps(pipeline))
    for name in ("features_columns", "prediction_columns"):
        if isinstance(step := steps.get(name), IndependentColumns) and len(step.determined_):
            processed = name == "prediction_columns" and "features" in steps
            if determined := _determined(cohort, step, processed=processed):
                notes.append(f"{determined}: left out of a fold, determined by other columns")
    return notes


def _determined(cohort: Cohort, step: IndependentColumns, *, processed: bool) -> str:
    """Names of columns that others determine; dummies are unnamed, as they always determine the last one."""
    if processed:
        return f"{len(step.determined_)} processed columns"
    names = _column_names(cohort)
    return _names([names[j] for j in step.determined_ if names[j]])


def _column_names(cohort: Cohort) -> list[str]:
    """Names of the design matrix's columns; empty for dummies."""
    names: list[str] = []
    for feature in cohort.features:
        dummies = min(len(feature.levels), MAX_DUMMIES) if feature.kind == "categorical" else 0
        names += [""] * dummies if dummies else [feature.name]
    return [*names, *(f"missing {f.name}" for f in cohort.features if f.missing_fraction > 0)]


def _fitted_steps(pipeline: BaseEstimator) -> Sequence[tuple[str, BaseEstimator]]:
    if isinstance(pipeline, CalibratedRisk | CalibratedIncidence):
        pipeline = pipeline.estimator_
    if isinstance(pipeline, IncidencePipeline):
        pipeline = pipeline.stages_
    return pipeline.steps if isinstance(pipeline, Pipeline) else ()


def _is_constant(column: np.ndarray) -> bool:
    known = column[~np.isnan(column)]
    return len(known) == 0 or bool(known.min() == known.max())


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def notes_on_causes(F: np.ndarray) -> list[str]:
    """Note how many patients had risks of the causes, learnt separately, that summed above 1 and were scaled to it."""
    n = int((F[:, :, -1].sum(axis=1) >= 1.0 - _ROUNDING).sum())
    return [f"risks of {n:,} of {len(F):,} patients held out summed above 1 over the causes: scaled to 1"] if n else []


def notes_on_sizes(configuration: Configuration, shape: TableShape) -> list[str]:
    """Note each algorithm that does not use all patients of a training fold of this shape."""
    notes = []
    for algorithm in Space.full(shape.n_causes).find_kind(configuration):
        is_reduced = algorithm.stage == "prediction" and not algorithm.takes_times
        table = shape.of_classifier() if is_reduced else shape
        most, rows = algorithm.max_patients, "patients" if table.n_patients == shape.n_patients else "intervals"
        if most is not None and table.n_patients > most and algorithm.stage in STAGES:
            who = "is fitted on" if algorithm.subsample == "fit" else "fits each member on"
            notes.append(f"{algorithm.key} {who} {most:,} of {table.n_patients:,} {rows}")
        if is_reduced and shape.n_pooled < shape.n_patients:
            part = f"{shape.n_pooled:,} of {shape.n_patients:,}"
            notes.append(f"{algorithm.key} learns from the intervals of {part} patients")
    return notes


def summarise(notes_by_fold: Iterable[Sequence[str]]) -> str | None:
    """Join the notes of all folds, each once with the number of its folds; None if there are none."""
    folds = [list(dict.fromkeys(notes)) for notes in notes_by_fold]
    counts = Counter(note for notes in folds for note in notes)
    texts = [note if n == len(folds) else f"{note} ({n} of {len(folds)} folds)" for note, n in counts.items()]
    return "; ".join(texts) or None
