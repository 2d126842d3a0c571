"""A clinician's rules: the expected stratum of certain patients, with its strength."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autoprog.cohort import Cohort, Feature, canonical_text
from autoprog.errors import Fault
from autoprog.interpreter.clusters import Clusters
from autoprog.interpreter.conditions import all_satisfied
from autoprog.interpreter.rules import MAX_LENGTH, MAX_RULES, MIN_PATIENTS, Condition, Operator, Prior

_OPERATORS: dict[str, tuple[Operator, ...]] = {
    "numeric": (">=", "<"),
    "ordinal": (">=", "<"),
    "binary": ("=",),
    "categorical": ("=",),
}


@dataclass(frozen=True, slots=True)
class PriorRule:
    """A clinician's rule: conditions that must all hold, and the expected stratum of matching patients."""

    conditions: tuple[Condition, ...]
    stratum: str
    prior: Prior


def settled_prior_rules(rules: Sequence[PriorRule], features: Sequence[Feature]) -> tuple[PriorRule, ...]:
    """Convert the levels of a client's prior rules, perhaps numbers or booleans, to their canonical texts."""
    by_name = {feature.name: feature for feature in features}
    return tuple(replace(rule, conditions=tuple(_settled(c, by_name) for c in rule.conditions)) for rule in rules)


def prior_rule_faults(
    rules: Sequence[PriorRule], cohort: Cohort, strata: Sequence[str], pointer: str = "/prior_rules"
) -> list[Fault]:
    """Check prior rules against a cohort.

    Parameters
    ----------
    rules : sequence of PriorRule
        Rules from `settled_prior_rules`.
    cohort : Cohort
        The cohort.
    strata : sequence of str
        Names of the possible strata.
    pointer : str
        JSON pointer to the list.

    Returns
    -------
    list of Fault
        All faults: an unknown feature, level or stratum; an operator that the feature's kind does not allow; a number
        beyond the observed range; conditions that fewer than `MIN_PATIENTS` satisfy; a repeated rule; more than
        `MAX_RULES` of a stratum.
    """
    features = {feature.name: feature for feature in cohort.features}
    faults = []
    for i, rule in enumerate(rules):
        faults += _faults(rule, cohort, features, strata, f"{pointer}/{i}")
    counts = Counter(rule.stratum for rule in rules)
    too_many = [
        Fault(pointer, f"{count} rules of the stratum {name!r} are more than {MAX_RULES}")
        for name, count in counts.items()
        if count > MAX_RULES
    ]
    return faults + _repeated(rules, pointer) + too_many


def _settled(condition: Condition, features: dict[str, Feature]) -> Condition:
    feature = features.get(condition.feature)
    if feature is None or feature.kind == "numeric":
        return condition
    return replace(condition, value=canonical_text(condition.value))


def _faults(
    rule: PriorRule, cohort: Cohort, features: dict[str, Feature], strata: Sequence[str], pointer: str
) -> list[Fault]:
    faults: list[Fault] = []
    for j, condition in enumerate(rule.conditions):
        faults += _misused(condition, features, f"{pointer}/conditions/{j}")
    if rule.stratum not in strata:
        detail = f"there is no stratum {rule.stratum!r}; there are {', '.join(strata)}"
        faults.append(Fault(f"{pointer}/stratum", detail))
    if not 1 <= len(rule.conditions) <= MAX_LENGTH:
        detail = f"a rule has 1 to {MAX_LENGTH} conditions, not {len(rule.conditions)}"
        return [*faults, Fault(f"{pointer}/conditions", detail)]
    if faults:
        return faults
    matching = Clusters.of(cohort).n_different(all_satisfied(rule.conditions, cohort.features, cohort.X))
    if matching == 0:
        faults.append(Fault(f"{pointer}/conditions", "no patient of the cohort satisfies all conditions"))
    elif matching < MIN_PATIENTS:
        detail = f"fewer than {MIN_PATIENTS} patients of the cohort satisfy all conditions"
        faults.append(Fault(f"{pointer}/conditions", detail))
    return faults


def _misused(condition: Condition, features: dict[str, Feature], pointer: str) -> Iterator[Fault]:
    name, feature = condition.feature, features.get(condition.feature)
    if feature is None:
        yield Fault(f"{pointer}/feature", f"the cohort has no feature {name!r}; it has {', '.join(features)}")
        return
    allowed = _OPERATORS[feature.kind]
    if condition.operator not in allowed:
        detail = f"{name} is {feature.kind}: {' or '.join(allowed)} in place of {condition.operator}"
        yield Fault(f"{pointer}/operator", detail)
    if feature.kind == "numeric":
        yield from _out_of_range(condition, feature, pointer)
    elif condition.value not in feature.levels:
        levels = ", ".join(feature.levels)
        yield Fault(f"{pointer}/value", f"{name} has no level {condition.value!r}; it has {levels}")


def _out_of_range(condition: Condition, feature: Feature, pointer: str) -> Iterator[Fault]:
    value = condition.value
    if isinstance(value, str | bool) or not np.isfinite(value):
        yield Fault(f"{pointer}/value", f"{feature.name} is numeric: a number in place of {value!r}")
        return
    if feature.minimum is None or feature.maximum is None:
        return
    beyond = value > feature.maximum if condition.operator == ">=" else value <= feature.minimum
    if beyond:
        observed = f"{feature.minimum:g} to {feature.maximum:g}"
        yield Fault(f"{pointer}/value", f"no patient has {condition.in_words(feature.unit)}: observed are {observed}")


def _repeated(rules: Sequence[PriorRule], pointer: str) -> list[Fault]:
    first: dict[tuple[frozenset[Condition], str], int] = {}
    faults = []
    for i, rule in enumerate(rules):
        earlier = first.setdefault((frozenset(rule.conditions), rule.stratum), i)
        if earlier != i:
            faults.append(Fault(f"{pointer}/{i}", f"the same rule as {pointer}/{earlier}"))
    return faults
