"""Conditions of every kind of feature; missing cells satisfy none."""

from __future__ import annotations

import numpy as np

from autoprog.cohort import Feature
from autoprog.interpreter import Condition, EventRate, Rule, StratumProbability, matching
from autoprog.interpreter.conditions import QUARTILES, VENTILES, candidate_conditions, satisfies
from tests.cohorts import mixed_cohort


def test_both_sides_of_each_cut_of_a_numeric_feature() -> None:
    age = Feature("age", "numeric")
    values = np.append(np.arange(20.0, 100.0), np.nan)
    conditions = list(candidate_conditions(age, values, QUARTILES))
    assert [(c.operator, c.value) for c in conditions] == [
        (">=", 40.0), ("<", 40.0), (">=", 60.0), ("<", 60.0), (">=", 80.0), ("<", 80.0),
    ]  # fmt: skip


def test_finer_cuts_are_nineteen_where_the_values_allow() -> None:
    values = np.random.default_rng(0).normal(size=4000)
    cuts = [c.value for c in candidate_conditions(Feature("x", "numeric"), values, VENTILES)][::2]
    shares = np.array([np.mean(values < cut) for cut in cuts])
    np.testing.assert_allclose(shares, VENTILES, atol=0.005 + 1e-12)


def test_levels_of_the_other_kinds() -> None:
    sex = Feature("sex", "binary", ("female", "male"))
    grade = Feature("grade", "ordinal", ("I", "II", "III"))
    codes = np.array([0, 1, 0, 1, 2, 2], dtype=np.float64)
    assert list(candidate_conditions(sex, codes[:4], QUARTILES)) == [
        Condition("sex", "=", "female"),
        Condition("sex", "=", "male"),
    ]
    assert list(candidate_conditions(grade, codes, QUARTILES)) == [
        Condition("grade", ">=", "II"),
        Condition("grade", "<", "II"),
        Condition("grade", ">=", "III"),
        Condition("grade", "<", "III"),
    ]
    assert satisfies(Condition("grade", ">=", "II"), grade, codes).tolist() == [False, True, False, True, True, True]


def test_a_feature_without_values_gives_no_condition() -> None:
    assert list(candidate_conditions(Feature("x", "numeric"), np.full(5, np.nan), QUARTILES)) == []


def test_the_sides_of_a_condition_partition_the_observed() -> None:
    cohort = mixed_cohort()
    for j, feature in enumerate(cohort.features):
        values = cohort.X[:, j]
        missing = np.isnan(values)
        masks = [satisfies(c, feature, values) for c in candidate_conditions(feature, values, VENTILES)]
        assert not any((mask & missing).any() for mask in masks)
        if feature.kind in {"numeric", "ordinal"}:
            for above, below in zip(masks[::2], masks[1::2], strict=True):
                np.testing.assert_array_equal(above ^ below, ~missing)
        else:
            np.testing.assert_array_equal(np.sum(masks, axis=0), ~missing)


def test_a_rule_matches_where_all_conditions_hold() -> None:
    cohort = mixed_cohort()
    rule = Rule(
        (Condition("age", ">=", 60.0), Condition("sex", "=", "male")),
        "high", StratumProbability(0.5, 0.4, 0.6), EventRate(0.5, 0.4, 0.6, 10), 0.1, 0.5, 1.5,
    )  # fmt: skip
    expected = (cohort.X[:, 0] >= 60) & (cohort.X[:, 1] == 1)
    np.testing.assert_array_equal(matching(rule, cohort.features, cohort.X), expected)
    assert 0 < expected.sum() < len(expected)
