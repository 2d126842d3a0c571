"""Recognition of the clinical group of each feature."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort, Feature
from autoprog.cohort.canonical import short
from autoprog.metalearning.meta_features.clinical_terms import (
    BARE_CODE_LETTERS,
    CODES,
    ICD_10,
    SHORT_NAME,
    TERMS,
    VALUE_RULES,
    ClinicalGroup,
)
from autoprog.metalearning.meta_features.outcome import CENSORED, OF_INTEREST, ObservedTimes, days_per_time

Evidence = Literal["meta_group", "name", "code", "values", "unit"]

# Share of a column's levels that must look like codes, and the least number of levels.
_CODED, _MIN_LEVELS = 0.8, 5


@dataclass(frozen=True, slots=True)
class Recognition:
    """The recognised group of one feature.

    Attributes
    ----------
    group : str or None
        One of the eleven groups; None if nothing tells, or if the client's `meta_group` is none of them.
    evidence : {"meta_group", "name", "code", "values", "unit"} or None
        Evidence for the group; the client's `meta_group` always decides.
    """

    group: ClinicalGroup | None
    evidence: Evidence | None


NOTHING_RECOGNISED = (
    "no feature has a name, unit or values that a clinical term explains: the shares of the clinical groups are 0, and "
    "similar cohorts are found by statistics alone; give meta_group in features"
)

_NOTHING = Recognition(None, None)


def clinical_groups(features: Sequence[Feature]) -> tuple[Recognition, ...]:
    """Recognise the features of one cohort.

    Parameters
    ----------
    features : sequence of Feature, length n_features
        The columns, with units, ranges, levels and the client's `meta_group`, where known.

    Returns
    -------
    tuple of Recognition, length n_features
        In the same order. Names of one or two letters count only if another feature is recognised.
    """
    codes_count = _bare_codes_count(features)
    found = [_recognise(feature, codes_count=codes_count) for feature in features]
    if any(r.group and not _is_short(f) for f, r in zip(features, found, strict=True)):
        return tuple(found)
    return tuple(r if r.evidence in {"meta_group", "unit"} else _NOTHING for r in found)


def _recognise(feature: Feature, *, codes_count: bool) -> Recognition:
    if feature.meta_group is not None:
        return Recognition(_labels().get(_plain(feature.meta_group)), "meta_group")
    name = _plain(feature.name)
    tried: tuple[tuple[Evidence, ClinicalGroup | None], ...] = (
        ("values", _by_values(name, feature)),
        ("code", _by_code(feature.name, codes_count=codes_count)),
        ("name", _whole_names().get(name) or _by_words(name)),
        ("values", "diagnosis" if _has_codes(feature.levels) else None),
        ("unit", _units().get(_plain_unit(feature.unit or ""))),
    )
    return next((Recognition(group, evidence) for evidence, group in tried if group), _NOTHING)


def group_notes(features: Sequence[Feature]) -> tuple[str, ...]:
    """Describe unrecognised features and unknown `meta_group` to the user; empty without problems."""
    notes = []
    if not any(recognised.group for recognised in clinical_groups(features)):
        notes.append(NOTHING_RECOGNISED)
    given = {f.meta_group for f in features if f.meta_group is not None}
    if unknown := sorted(label for label in given if _plain(label) not in _labels()):
        listed = ", ".join(short(label) for label in unknown)
        notes.append(f"these values of meta_group are no clinical group, their features count in none: {listed}")
    return tuple(notes)


def describe_cohort(cohort: Cohort) -> tuple[str, ...]:
    """Describe problems of the clinical meta-features to the user: `group_notes`, and an unknown unit of time."""
    notes = group_notes(cohort.features)
    if days_per_time(cohort.outcome) is not None:
        return notes
    text = "neither time_unit nor the name of column {} tells a unit: follow_up_days takes the times for days"
    return (*notes, *(text.format(short(name)) for name in cohort.target.timed_by))


def _plain(name: str) -> str:
    """Convert to lower-case words, separated by blanks."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return " ".join(re.findall(r"[^\W_]+", parted.casefold()))


def _plain_unit(unit: str) -> str:
    return re.sub(r"\s", "", unit).casefold().replace("µ", "μ")


def _is_short(feature: Feature) -> bool:
    return feature.meta_group is None and len(_plain(feature.name)) <= SHORT_NAME


def _by_values(name: str, feature: Feature) -> ClinicalGroup | None:
    for rule in VALUE_RULES:
        if rule.name != name or rule.numeric != (feature.kind == "numeric"):
            continue
        lowest, highest = feature.minimum, feature.maximum
        if not rule.numeric or lowest is None or highest is None or (lowest >= rule.lower and highest <= rule.upper):
            return rule.group
    return None


def _by_code(name: str, *, codes_count: bool) -> ClinicalGroup | None:
    stripped = name.strip()
    for form, group in CODES:
        if form.fullmatch(stripped):
            return group
    return "diagnosis" if codes_count and ICD_10.fullmatch(stripped) else None


def _bare_codes_count(features: Sequence[Feature]) -> bool:
    letters = {f.name.strip()[0] for f in features if ICD_10.fullmatch(f.name.strip())}
    return len(letters) >= BARE_CODE_LETTERS


def _has_codes(levels: Sequence[str]) -> bool:
    coded = sum(ICD_10.fullmatch(level) is not None for level in levels)
    return len(levels) >= _MIN_LEVELS and coded >= _CODED * len(levels)


def _by_words(name: str) -> ClinicalGroup | None:
    """Find the group of the term that ends last; of several, the longest."""
    ends = [
        (match.end(), match.end() - match.start(), group)
        for group, pattern in _word_patterns()
        for match in pattern.finditer(name)
    ]
    return max(ends, key=lambda found: found[:2])[2] if ends else None


def _terms(text: str) -> list[str]:
    return [term.strip() for term in text.split(",") if term.strip()]


def _expression(term: str) -> str:
    return re.escape(term).replace(r"\*", r"\w*")


@cache
def _word_patterns() -> tuple[tuple[ClinicalGroup, re.Pattern[str]], ...]:
    # Longest first, because the first alternative that matches at a place wins.
    return tuple(
        (
            terms.group,
            re.compile(r"\b(?:" + "|".join(map(_expression, sorted(_terms(terms.words), key=len)[::-1])) + r")\b"),
        )
        for terms in TERMS
    )


@cache
def _whole_names() -> dict[str, ClinicalGroup]:
    return {name: terms.group for terms in TERMS for name in _terms(terms.names)}


@cache
def _units() -> dict[str, ClinicalGroup]:
    return {unit: terms.group for terms in TERMS for unit in _terms(terms.units)}


@cache
def _labels() -> dict[str, ClinicalGroup]:
    return {label: terms.group for terms in TERMS for label in (terms.group, *_terms(terms.labels))}


def group_shares(recognised: Sequence[Recognition]) -> dict[str, float]:
    """Compute the share of each clinical group among the features; the shares sum to at most 1."""
    groups = [r.group for r in recognised]
    return {f"{group}_share": groups.count(group) / max(len(groups), 1) for group in get_args(ClinicalGroup)}


def time_features(follow_up: ObservedTimes | None, visits: NDArray[np.integer] | None) -> dict[str, float]:
    """Describe visits (`visits` counts each patient's), follow-up, censoring and competing events; 0 for none."""
    values = {"visits_per_patient": 0.0 if visits is None else float(visits.mean())}
    if follow_up is None:
        return {**values, "follow_up_days": 0.0, "censored_share": 0.0, "competing_share": 0.0}
    return {
        **values,
        "follow_up_days": follow_up.median_days(),
        "censored_share": float((follow_up.event == CENSORED).mean()),
        "competing_share": float((follow_up.event > OF_INTEREST).mean()),
    }
