"""Rules of cohorts with groups: none is shown where risks tell nothing of the features, and planted ones are found."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.interpreter import explain, make_strata, matching
from autoprog.interpreter.selection import FALSE_DISCOVERY_RATE
from tests.interpreter.groups import alike, cohort_of, serial

COHORTS = 200
KINDS = {
    "six visits each, alike": (alike, 0.9, np.full(100, 6)),
    "six rows each, the same": (alike, 1.0, np.full(60, 6)),
    "25 visits each, alike if near": (serial, 0.9, np.full(40, 25)),
    "1 to 20 visits": (alike, 0.8, np.resize([1, 2, 4, 9, 20], 90)),
    "16 hospitals": (alike, 0.6, np.resize([20, 40, 90], 16)),
}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS.keys())
def test_cohorts_where_nothing_is_to_be_found_show_a_rule_no_more_often_than_stated(kind: str) -> None:
    draw, likeness, sizes = KINDS[kind]
    group = np.repeat(np.arange(len(sizes)), sizes)
    shown = 0
    for seed in range(COHORTS):
        rng = np.random.default_rng([2026, seed])
        X, z = draw(rng, group, 8, likeness), draw(rng, group, 1, likeness)[0]
        risks = 1 / (1 + np.exp(-z))
        shown += bool(explain(cohort_of(X, group, rng), risks, make_strata(risks), seed).rules)
    print(f"{kind}: {shown} of {COHORTS} cohorts show a rule")
    assert shown <= FALSE_DISCOVERY_RATE * COHORTS


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("n_groups", "size", "likeness"), [(120, 5, 0.5), (120, 5, 0.9), (12, 60, 0.1)])
def test_planted_rules_are_found_in_groups(n_groups: int, size: int, likeness: float) -> None:
    group = np.repeat(np.arange(n_groups), size)
    recovered = others = 0
    for seed in range(50):
        rng = np.random.default_rng([2027, seed])
        X = alike(rng, group, 8, likeness)
        planted = np.array([(X[0] >= 0.3) & (X[1] < 0.4), (X[2] >= 0.6) & (X[3] >= 0)])
        r = planted.any(axis=0) ^ (rng.random(len(group)) < 0.1)
        cohort, risks = cohort_of(X, group, rng), np.where(r, 0.9, 0.1)
        rules = explain(cohort, risks, make_strata(risks), seed).rules
        found = [matching(rule, cohort.features, cohort.X) for rule in rules if rule.stratum == "high"]
        J = np.array([[(A & B).sum() / (A | B).sum() for B in found] for A in planted]).reshape(2, -1)
        recovered += np.count_nonzero((J >= 0.8).any(axis=1))
        others += np.count_nonzero(~(J >= 0.8).any(axis=0))
    print(f"{n_groups} groups of {size}: {recovered} of 100 recovered, {others} others")
    assert recovered >= 90
    assert others <= 10
