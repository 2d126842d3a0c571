"""A diagnosis model built from a cohort: distinct records are objects, whose prior is their frequency.

A binary feature is one query, a categorical feature one per level, an ordinal one a query "at least" for each level but
the first, and a numeric one a query "above" for each threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort, Feature, classified
from autoprog.cohort.messages import capped, count_text, make_suggester, pointer
from autoprog.cohort.spec_values import MAX_NAME, is_hidden
from autoprog.diagnosis.building import MAX_CELLS, ModelOptions, build_model, distinct_names, short_name
from autoprog.diagnosis.discretization import candidate_thresholds, expected_information
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.responses import Responses
from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

# Quantiles among which the most informative is the threshold of a feature.
_CANDIDATES = 9
# Cells that are compared at once.
_CHUNK = 1 << 22


@dataclass(frozen=True)
class CohortChoice:
    """Columns of a cohort that form a diagnosis model.

    Attributes
    ----------
    group : str or None
        Feature whose level is to be identified; None is the outcome.
    findings : tuple of str or None
        Features that can be asked for; None is all but the group.
    thresholds : mapping of str to tuple of float
        Cuts of numeric features; any other is cut once, where it is most informative on the group.
    false_positive_rate, false_negative_rate : float
        Error rates of every query, in [0, 1), summing to less than 1. Missing cells need one of them above 0.
    """

    group: str | None = None
    findings: tuple[str, ...] | None = None
    thresholds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    false_positive_rate: float = 0.0
    false_negative_rate: float = 0.0


@dataclass(frozen=True, eq=False)
class CohortModel:
    """A model whose objects are the distinct records of a cohort."""

    model: DiagnosisModel
    # Cuts of each numeric finding; empty for a constant one, which is not asked for.
    thresholds: Mapping[str, tuple[float, ...]]


def model_from_cohort(
    cohort: Cohort,
    choice: CohortChoice = CohortChoice(),
    *,
    options: ModelOptions = ModelOptions(),  # noqa: B008  frozen
) -> CohortModel:
    """Build a diagnosis model from a cohort.

    Parameters
    ----------
    cohort : Cohort
        Records with a known outcome.
    choice : CohortChoice
        Columns and cuts.
    options : ModelOptions

    Returns
    -------
    CohortModel
        The model, and the cuts of its numeric findings.

    Raises
    ------
    InvalidInputError
        If a named feature does not exist or has the wrong kind, a record has no group, cells are missing without an
        error rate, no query remains, or records and queries are too many; names every fault.
    """
    faults = _faults(cohort, choice)
    if faults:
        raise InvalidInputError(capped(faults, "/findings"))
    levels, group_of = _groups(cohort, choice.group)
    names = distinct_names([_name(level) for level in levels])
    columns = _findings(cohort, choice)
    given = {name: tuple(sorted(set(map(float, cut)))) for name, cut in choice.thresholds.items()}
    numeric = [j for j in columns if cohort.features[j].kind == "numeric"]
    names_of = {j: cohort.features[j].name for j in numeric}
    thresholds = {n: given[n] if n in given else _cut(cohort.X[:, j], group_of) for j, n in names_of.items()}
    queries = _queries(cohort, columns, thresholds)
    if not queries:
        raise InvalidInputError([Fault("/findings", "every finding is constant: there is nothing to ask for")])
    records = len(cohort.X)
    if records * len(queries) > MAX_CELLS:
        text = f"{records:,} records by {len(queries):,} queries, at most {MAX_CELLS:,} cells are allowed"
        raise InvalidInputError([Fault("/findings", text)])
    packed, groups, counts = _distinct(_answers(cohort.X, queries), group_of)
    objects = _object_names(names, groups)
    model = build_model(
        packed,
        objects=objects,
        queries=distinct_names([query.name for query in queries]),
        groups=[names[g] for g in groups],
        prior=counts.astype(np.float64),
        false_positive_rates=[choice.false_positive_rate] * len(queries),
        false_negative_rates=[choice.false_negative_rate] * len(queries),
        options=options,
    )
    return CohortModel(model, thresholds)


def _faults(cohort: Cohort, choice: CohortChoice) -> list[Fault]:
    known = {feature.name: j for j, feature in enumerate(cohort.features)}
    faults: list[Fault] = []
    named = [("/group", choice.group)] if choice.group is not None else []
    named += [(f"/findings/{i}", name) for i, name in enumerate(choice.findings or ())]
    named += [(pointer("thresholds", name), name) for name in choice.thresholds]
    suggest = make_suggester(known)
    for place, name in named:
        if name not in known:
            faults.append(Fault(place, f"the cohort has no feature of this name{suggest(str(name))}"))
    faults += _group_faults(cohort, choice, known) + _threshold_faults(cohort, choice, known)
    first: dict[str, int] = {}
    for i, name in enumerate(choice.findings or ()):
        if name == choice.group or first.setdefault(name, i) != i:
            faults.append(Fault(f"/findings/{i}", "is the group" if name == choice.group else "is named twice"))
    rates = (choice.false_positive_rate, choice.false_negative_rate)
    if not all(0 <= rate < 1 for rate in rates) or sum(rates) >= 1:
        faults.append(Fault("/false_positive_rate", "the two error rates lie in [0, 1) and sum to less than 1"))
    elif not any(rates):
        for j in _findings(cohort, choice):
            if n := int(np.isnan(cohort.X[:, j]).sum()):
                text = f"{count_text(n, 'cell')} missing; give an error rate, or leave the feature out"
                faults.append(Fault(pointer("findings", cohort.features[j].name), text))
    return faults


def _group_faults(cohort: Cohort, choice: CohortChoice, known: Mapping[str, int]) -> list[Fault]:
    if choice.group not in known or choice.group is None:
        return []
    j = known[choice.group]
    if cohort.features[j].kind == "numeric":
        return [Fault("/group", "is numeric; the group must be a binary, categorical or ordinal feature")]
    missing = int(np.isnan(cohort.X[:, j]).sum())
    return [Fault("/group", f"{count_text(missing, 'record')} without a group")] if missing else []


def _threshold_faults(cohort: Cohort, choice: CohortChoice, known: Mapping[str, int]) -> list[Fault]:
    faults = []
    asked = {cohort.features[j].name for j in _findings(cohort, choice)}
    for name, cut in choice.thresholds.items():
        place = pointer("thresholds", name)
        if name in known and cohort.features[known[name]].kind != "numeric":
            faults.append(
                Fault(place, f"the feature is {cohort.features[known[name]].kind}; only numeric ones are cut")
            )
        elif name in known and name not in asked:
            faults.append(Fault(place, "the feature is not among the findings"))
        if not len(cut) or not np.isfinite(np.asarray(cut, dtype=np.float64)).all():
            faults.append(Fault(place, "give at least one finite number"))
    return faults


def _findings(cohort: Cohort, choice: CohortChoice) -> list[int]:
    place = {feature.name: j for j, feature in enumerate(cohort.features)}
    wanted = place if choice.findings is None else choice.findings
    return [place[name] for name in wanted if name in place and name != choice.group]


def _groups(cohort: Cohort, group: str | None) -> tuple[tuple[str, ...], _Ints]:
    if group is None:
        outcome = classified(cohort, "a diagnosis model whose groups are the outcome")
        names = tuple(f"{outcome.column} = {value}" for value in (outcome.negative, outcome.positive))
        return names, cohort.y.astype(np.int64)
    j = [feature.name for feature in cohort.features].index(group)
    return cohort.features[j].levels, cohort.X[:, j].astype(np.int64)


def _cut(x: _Floats, group_of: _Ints) -> tuple[float, ...]:
    """The one of some quantiles that is most informative on the group; none where the feature is constant."""
    seen = ~np.isnan(x)
    x, group_of = x[seen], group_of[seen]
    candidates = candidate_thresholds(x, _CANDIDATES)
    if not len(candidates):
        return ()
    totals = np.bincount(group_of)
    above = np.stack([np.bincount(group_of[x > cut], minlength=len(totals)) for cut in candidates], axis=1)
    present = totals > 0
    information = expected_information(totals[present] / len(x), above[present] / totals[present, None])
    return (float(candidates[np.argmax(information)]),)


@dataclass(frozen=True, slots=True)
class _Query:
    """A question: is a column above, at least or equal to a value? A missing cell has no answer."""

    name: str
    column: int
    compare: np.ufunc
    value: float


def _queries(cohort: Cohort, columns: list[int], thresholds: Mapping[str, tuple[float, ...]]) -> list[_Query]:
    queries = []
    for j in columns:
        feature = cohort.features[j]
        for sign, compare, value, text in _comparisons(feature, thresholds):
            queries.append(_Query(_name(f"{feature.name} {sign} {text}"), j, compare, value))
    return queries


def _comparisons(
    feature: Feature, thresholds: Mapping[str, tuple[float, ...]]
) -> list[tuple[str, np.ufunc, float, str]]:
    """Sign, comparison, value and its text of each query of a feature."""
    levels = list(enumerate(feature.levels))
    if feature.kind == "numeric":
        return [(">", np.greater, cut, f"{cut:.12g}") for cut in thresholds[feature.name]]
    if feature.kind == "ordinal":
        return [(">=", np.greater_equal, k, level) for k, level in levels[1:]]
    return [("=", np.equal, k, level) for k, level in (levels[1:] if feature.kind == "binary" else levels)]


def _answers(X: _Floats, queries: Sequence[_Query]) -> Responses:
    """Answers of all records, some records at a time, as the cells of all may be many times the cohort's."""
    columns = [query.column for query in queries]
    rows, known = [], []
    step = max(1, _CHUNK // len(queries))
    for start in range(0, len(X), step):
        part = X[start : start + step]
        yes = np.stack([query.compare(part[:, query.column], query.value) for query in queries], axis=1)
        rows.append(np.packbits(yes, axis=1))
        known.append(np.packbits(~np.isnan(part[:, columns]), axis=1))
    is_known = not np.isnan(X[:, sorted(set(columns))]).any()
    return Responses(np.concatenate(rows), len(queries), None if is_known else np.concatenate(known))


def _name(text: str) -> str:
    """Make a name of a text of the cohort: levels may be long, and hold line breaks."""
    return short_name("".join(" " if is_hidden(letter) else letter for letter in text).strip() or "…")


def _distinct(packed: Responses, group_of: _Ints) -> tuple[Responses, _Ints, _Ints]:
    """Distinct records in order of first occurrence, their groups, and their counts."""
    classes = packed.row_classes()
    pairs = np.stack([classes, group_of], axis=1)
    _, first, counts = np.unique(pairs, axis=0, return_index=True, return_counts=True)
    by = np.argsort(first)
    first = first[by]
    known = None if packed.known is None else packed.known[first]
    return Responses(packed.rows[first], packed.n_queries, known), group_of[first], counts[by]


def _object_names(names: tuple[str, ...], groups: _Ints) -> list[str]:
    """Name each object by its group and a number."""
    seen = np.zeros(len(names), dtype=np.int64)
    objects = []
    for g in groups:
        seen[g] += 1
        label = names[g] if len(names[g]) <= MAX_NAME - 12 else f"group {g + 1}"
        objects.append(f"{label} {seen[g]}")
    return objects
