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
from autoprog.diagnosis.building import ModelOptions, build_model, distinct_names, short_name
from autoprog.diagnosis.discretization import candidate_thresholds
from autoprog.diagnosis.learning import Case, Finding, ResponseLearner
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.responses import Responses
from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

# Cases studied while thresholds are learnt: repeated passes over a small cohort, a sample of a large one.
_CASES = 3000
_CANDIDATES = 9


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
    rng: np.random.Generator,
) -> CohortModel:
    """Build a diagnosis model from a cohort.

    Parameters
    ----------
    cohort : Cohort
        Records with a known outcome.
    choice : CohortChoice
        Columns and cuts.
    options : ModelOptions
    rng : numpy.random.Generator
        Draws the order of the records while thresholds are learnt.

    Returns
    -------
    CohortModel
        Reproducible for the same state of `rng`.

    Raises
    ------
    InvalidInputError
        If a named feature does not exist or has the wrong kind, a record has no group, cells are missing without an
        error rate, or no query remains; names every fault.
    """
    faults = _faults(cohort, choice)
    if faults:
        raise InvalidInputError(capped(faults, "/findings"))
    levels, group_of = _groups(cohort, choice.group)
    names = distinct_names([_name(level) for level in levels])
    columns = _findings(cohort, choice)
    given = {name: tuple(sorted(set(map(float, cut)))) for name, cut in choice.thresholds.items()}
    numeric = [j for j in columns if cohort.features[j].kind == "numeric"]
    learnt = _learnt(cohort, [j for j in numeric if cohort.features[j].name not in given], names, group_of, rng)
    thresholds = {name: given.get(name, learnt.get(name, ())) for name in (cohort.features[j].name for j in numeric)}
    queries, answers = _answers(cohort, columns, thresholds)
    if not queries:
        raise InvalidInputError([Fault("/findings", "every finding is constant: there is nothing to ask for")])
    packed, groups, counts = _distinct(answers, group_of)
    objects = _object_names(names, groups)
    model = build_model(
        packed,
        objects=objects,
        queries=distinct_names(queries),
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
    for i, name in enumerate(choice.findings or ()):
        if name == choice.group or name in (choice.findings or ())[:i]:
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
    names = [feature.name for feature in cohort.features]
    wanted = names if choice.findings is None else choice.findings
    return [names.index(name) for name in wanted if name in names and name != choice.group]


def _groups(cohort: Cohort, group: str | None) -> tuple[tuple[str, ...], _Ints]:
    if group is None:
        outcome = classified(cohort, "a diagnosis model whose groups are the outcome")
        names = tuple(f"{outcome.column} = {value}" for value in (outcome.negative, outcome.positive))
        return names, cohort.y.astype(np.int64)
    j = [feature.name for feature in cohort.features].index(group)
    return cohort.features[j].levels, cohort.X[:, j].astype(np.int64)


def _learnt(
    cohort: Cohort, columns: list[int], names: tuple[str, ...], group_of: _Ints, rng: np.random.Generator
) -> dict[str, tuple[float, ...]]:
    """One threshold per feature, learnt by Exp3 over quantiles; none where the feature is constant."""
    X = cohort.X[:, columns]
    candidates = [tuple(candidate_thresholds(x, _CANDIDATES).tolist()) for x in X.T]
    if not any(candidates):
        return {cohort.features[j].name: () for j in columns}
    findings = [Finding(cohort.features[j].name, cut) for j, cut in zip(columns, candidates, strict=True)]
    learner = ResponseLearner(findings, names)
    order = rng.permutation(len(X))
    for number in range(max(_CASES, min(len(X), 2 * _CASES))):
        i = int(order[number % len(X)])
        for question in learner.learner.ask(learner.prior, rng, select=False):
            learner.learner.reward(question)
        if number < len(X):  # each record is counted once
            learner.learn(Case(learner.prior, dict(enumerate(X[i]))), int(group_of[i]))
    chosen = learner.thresholds()
    return {f.name: (chosen[i],) if i in chosen else () for i, f in enumerate(findings)}


def _answers(
    cohort: Cohort, columns: list[int], thresholds: Mapping[str, tuple[float, ...]]
) -> tuple[list[str], NDArray[np.int8]]:
    """Names of the queries, and answers 0, 1 or -1 (missing), shape (records, queries)."""
    queries: list[str] = []
    answers: list[NDArray[np.int8]] = []
    for j in columns:
        x, feature = cohort.X[:, j], cohort.features[j]
        for name, yes in _cuts(feature, x, thresholds):
            queries.append(name)
            answers.append(np.where(np.isnan(x), -1, yes).astype(np.int8))
    return queries, np.stack(answers, axis=1) if answers else np.empty((len(cohort.X), 0), dtype=np.int8)


def _cuts(
    feature: Feature, x: _Floats, thresholds: Mapping[str, tuple[float, ...]]
) -> list[tuple[str, NDArray[np.bool_]]]:
    name, levels = feature.name, feature.levels
    if feature.kind == "numeric":
        return [(_name(f"{name} > {cut:.12g}"), x > cut) for cut in thresholds[name]]
    if feature.kind == "binary":
        return [(_name(f"{name} = {levels[1]}"), x == 1)]
    if feature.kind == "ordinal":
        return [(_name(f"{name} >= {levels[k]}"), x >= k) for k in range(1, len(levels))]
    return [(_name(f"{name} = {level}"), x == k) for k, level in enumerate(levels)]


def _name(text: str) -> str:
    """Make a name of a text of the cohort: levels may be long, and hold line breaks."""
    return short_name("".join(" " if is_hidden(letter) else letter for letter in text).strip() or "…")


def _distinct(answers: NDArray[np.int8], group_of: _Ints) -> tuple[Responses, _Ints, _Ints]:
    """Distinct records in order of first occurrence, their groups, and their counts."""
    packed = Responses.pack(answers == 1, answers >= 0)
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
