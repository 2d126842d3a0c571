"""The recipe of the planted rules, a slice of the benchmark, and the table of known directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoprog.interpreter import Condition, EventRate, Rule, RuleSet, StratumProbability, explain, make_strata
from benchmarks.interpreter import cohorts, planted_rules


def test_the_recipe_is_kept() -> None:
    planted = planted_rules.plant(7, n=4000)
    X, r = planted.cohort.X, planted.risks > 0.5
    correlation = np.corrcoef(X.T)
    # 4,000 patients: a standard error of a correlation is below 0.016.
    assert abs(np.diag(correlation, 1) - 0.5).max() < 0.08
    assert abs(np.diag(correlation, 2) - 0.25).max() < 0.08
    support = planted.rules.mean(axis=1)
    assert len(support) == 5
    assert 0.08 <= support.min() <= support.max() <= 0.15
    assert np.mean(planted.rules.any(axis=0) != r) == pytest.approx(0.1, abs=0.02)


def test_what_is_found_is_counted_by_the_patients_matched() -> None:
    planted = planted_rules.plant(3)
    strata = make_strata(planted.risks)
    none = RuleSet(strata, (), "")
    assert planted_rules.found(planted, none) == (0, 0, 0)
    probability, rate = StratumProbability(0.5, 0.4, 0.6), EventRate(0.5, 0.4, 0.6, 10)
    broad = Rule((Condition("x0", ">=", -9.0),), "high", probability, rate, 1.0, 0.5, 1.0)
    assert planted_rules.found(planted, RuleSet(strata, (broad,), "")) == (0, 1, 1)
    lower = replace(broad, stratum="low")  # of whom nothing was planted
    assert planted_rules.found(planted, RuleSet(strata, (lower,), "")) == (0, 0, 0)


def test_most_planted_rules_are_found_and_few_others() -> None:
    # Other seeds than the benchmark's, which recovers nine in ten.
    recovered, false, shown = np.sum([planted_rules.recovered(seed) for seed in range(2000, 2003)], axis=0)
    assert recovered >= 11
    assert false <= 3
    assert shown >= 11


def test_rules_on_cleveland_point_where_medicine_says() -> None:
    cohort = cohorts.load("cleveland")
    risks = cohorts.out_of_fold_risks(cohort, "logistic")
    told = [
        cohorts.agrees("cleveland", rule, condition)
        for rule in explain(cohort, risks, make_strata(risks)).rules
        for condition in rule.conditions
    ]
    assert sum(verdict is not None for verdict in told) >= 4
    assert False not in told


def test_a_condition_against_what_is_known_is_told() -> None:
    probability, rate = StratumProbability(0.5, 0.4, 0.6), EventRate(0.5, 0.4, 0.6, 10)
    conditions = (Condition("age", "<", 50.0), Condition("thalach", "<", 140.0), Condition("restecg", "=", "2"))
    rule = Rule(conditions, "high", probability, rate, 0.1, 0.5, 2.0)
    assert [cohorts.agrees("cleveland", rule, condition) for condition in conditions] == [False, True, None]


@pytest.mark.parametrize("name", ["cleveland", "pima_missing", "framingham_chd"])
def test_the_directions_name_features_and_levels_that_exist(name: str) -> None:
    features = {feature.name: feature for feature in cohorts.load(name).features}
    known = [key for key in cohorts._directions() if key[0] == name]
    assert {feature for _, feature, _ in known} <= set(features)
    for _, feature, level in known:
        assert level == "" or level in features[feature].levels
