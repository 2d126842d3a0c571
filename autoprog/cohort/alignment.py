"""Align another cohort's patients with a model's features."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import TWINS, canonical_text, parse_number
from autoprog.cohort.messages import count_text
from autoprog.cohort.schema import Feature
from autoprog.errors import Fault, InvalidInputError


def align(
    features: Sequence[Feature], others: Sequence[Feature], cells: NDArray[np.float64], pointer: str
) -> NDArray[np.float64]:
    """Reorder and recode another cohort's cells to a model's features.

    Parameters
    ----------
    features : sequence of Feature
        The model's features.
    others : sequence of Feature, length n_others
        The other cohort's features; those that the model does not know are ignored.
    cells : ndarray, shape = (n_rows, n_others)
        The other cohort's rows.
    pointer : str
        JSON pointer for faults.

    Returns
    -------
    ndarray, shape = (n_rows, n_features)
        float64; NaN is a missing cell.

    Raises
    ------
    InvalidInputError
        If a feature is absent, has another unit, holds words where the model has numbers, or has unseen categories.
    """
    places = {feature.name: j for j, feature in enumerate(others)}
    X = np.full((len(cells), len(features)), math.nan)
    faults: list[str] = []
    for j, feature in enumerate(features):
        if feature.name not in places:
            faults.append(
                f"the cohort has no feature {feature.name!r}, which the model needs; if its column was left out, as "
                "all patients are alike in it, declare it in features"
            )
            continue
        other = others[places[feature.name]]
        values = cells[:, places[feature.name]]
        if feature.unit and other.unit and feature.unit != other.unit:
            faults.append(f"{feature.name} is in {other.unit} here and in {feature.unit} in the model")
        if feature.kind == "numeric":
            X[:, j], fault = _numbers(feature, other, values)
        else:
            X[:, j], fault = _codes(feature, other, values)
        faults += [fault] if fault else []
    if faults:
        raise InvalidInputError([Fault(pointer, detail) for detail in faults])
    return X


def _numbers(feature: Feature, other: Feature, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], str | None]:
    if other.kind == "numeric":
        return values, None
    numbers = [parse_number(level) for level in other.levels]
    n_words = sum(math.isnan(number) for number in numbers)
    if n_words:
        categories = count_text(len(numbers), "category", "categories")
        return values, f"{feature.name} is a number in the model; of its {categories} here {n_words:,} write no number"
    return _looked_up(np.array(numbers), values), None


def _codes(feature: Feature, other: Feature, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], str | None]:
    codes = {level: float(code) for code, level in enumerate(feature.levels)}
    if feature.kind == "binary":
        codes = {TWINS[level]: code for level, code in codes.items() if level in TWINS} | codes
    if other.kind == "numeric":
        texts = [None if math.isnan(value) else canonical_text(value) for value in values.tolist()]
    else:
        texts = [None if math.isnan(value) else other.levels[int(value)] for value in values.tolist()]
    unseen = Counter(text for text in texts if text is not None and text not in codes)
    if unseen:
        found = f"{count_text(len(unseen), 'value')} ({count_text(unseen.total(), 'patient')})"
        known = f"compare with the {count_text(len(feature.levels), 'level')} that the model shows"
        return values, f"{feature.name} has {found} that the model has never seen; {known}"
    return np.array([math.nan if text is None else codes[text] for text in texts]), None


def _looked_up(numbers: NDArray[np.float64], codes: NDArray[np.float64]) -> NDArray[np.float64]:
    known = ~np.isnan(codes)
    looked_up = np.full(len(codes), math.nan)
    looked_up[known] = numbers[codes[known].astype(np.intp)]
    return looked_up
