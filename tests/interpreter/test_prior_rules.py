"""A clinician's rules: what is refused, and what becomes of the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from autoprog.cohort import VisitTable
from autoprog.cohort.weights import weigh
from autoprog.interpreter import (
    STRATUM_NAMES,
    Condition,
    Prior,
    PriorRule,
    explain,
    make_strata,
    matching,
    prior_rule_faults,
    settled_prior_rules,
)
from tests.cohorts import cleveland_cohort
from tests.interpreter.groups import cohort_of

PRIOR = Prior(0.8, 40.0)


def _rule(*conditions: Condition, stratum: str = "high") -> PriorRule:
    return PriorRule(conditions, stratum, PRIOR)


def _risks() -> np.ndarray:
    """Risks that rise with age, chest pain without symptoms and a low heart rate."""
    X = cleveland_cohort().X
    age, cp, thalach = X[:, 0], X[:, 2], X[:, 7]
    return 1 / (1 + np.exp(-(0.05 * (age - 54) + 1.5 * (cp == 3) - 0.05 * (thalach - 150))))


def test_levels_may_be_written_as_numbers() -> None:
    stated = [_rule(Condition("cp", "=", 4.0), Condition("age", ">=", 55.0))]
    (settled,) = settled_prior_rules(stated, cleveland_cohort().features)
    assert settled.conditions == (Condition("cp", "=", "4"), Condition("age", ">=", 55.0))
    assert prior_rule_faults([settled], cleveland_cohort(), STRATUM_NAMES) == []


@pytest.mark.parametrize(
    ("rule", "pointer", "text"),
    [
        (_rule(Condition("agee", ">=", 60.0)), "0/conditions/0/feature", "no feature 'agee'; it has age, sex"),
        (_rule(Condition("cp", "=", "9")), "0/conditions/0/value", "cp has no level '9'; it has 1, 2, 3, 4"),
        (_rule(Condition("cp", ">=", "2")), "0/conditions/0/operator", "cp is categorical: = in place of >="),
        (_rule(Condition("age", "=", 60.0)), "0/conditions/0/operator", "age is numeric: >= or < in place of ="),
        (_rule(Condition("age", ">=", "old")), "0/conditions/0/value", "a number in place of 'old'"),
        (_rule(Condition("age", ">=", 90.0)), "0/conditions/0/value", "no patient has age >= 90 years"),
        (_rule(Condition("age", "<", 29.0)), "0/conditions/0/value", "observed are 29 to 77"),
        (_rule(Condition("age", ">=", 60.0), Condition("age", "<", 50.0)), "0/conditions", "no patient of the cohort"),
        (_rule(Condition("age", ">=", 76.0)), "0/conditions", "fewer than 5 patients"),
        (_rule(), "0/conditions", "a rule has 1 to 4 conditions, not 0"),
        (_rule(*[Condition("age", ">=", 40.0 + k) for k in range(5)]), "0/conditions", "1 to 4 conditions, not 5"),
        (_rule(Condition("sex", "=", "1"), stratum="huge"), "0/stratum", "no stratum 'huge'; there are high, medium"),
    ],
)
def test_what_a_cohort_cannot_bear_is_named(rule: PriorRule, pointer: str, text: str) -> None:
    (fault,) = prior_rule_faults([rule], cleveland_cohort(), STRATUM_NAMES)
    assert fault.pointer == f"/prior_rules/{pointer}"
    assert text in fault.detail


def test_all_faults_of_all_rules_come_at_once() -> None:
    age = Condition("age", ">=", 60.0)
    rules = [_rule(Condition("x", "<", 1.0), Condition("cp", "=", "9")), _rule(age), _rule(age)]
    rules += [_rule(Condition("age", ">=", 40.0 + k)) for k in range(10)]
    faults = prior_rule_faults(rules, cleveland_cohort(), STRATUM_NAMES)
    assert [fault.pointer for fault in faults] == [
        "/prior_rules/0/conditions/0/feature",
        "/prior_rules/0/conditions/1/value",
        "/prior_rules/2",
        "/prior_rules",
    ]
    assert "13 rules of the stratum 'high' are more than 10" in faults[-1].detail


@pytest.mark.parametrize("prior", [Prior(0.9, 1.0), Prior(0.9, 200.0), Prior(0.05, 30.0)])
def test_a_clinicians_rule_is_shown_and_moved_as_the_beta_posterior_says(prior: Prior) -> None:
    cohort, risks = cleveland_cohort(), _risks()
    strata = make_strata(risks)
    conditions = (Condition("cp", "=", "4"), Condition("age", ">=", 55.0))
    rules = explain(cohort, risks, strata, prior_rules=[PriorRule(conditions, "high", prior)])
    (shown,) = [rule for rule in rules.rules if rule.prior]
    assert shown is rules.rules[0]
    matches = matching(shown, cohort.features, cohort.X)
    n_A, n_Ar = int(matches.sum()), int((matches & (risks >= strata[0].lower)).sum())
    beta = stats.beta(prior.strength * prior.probability + n_Ar, prior.strength * (1 - prior.probability) + n_A - n_Ar)
    assert shown.stratum_probability.mean == pytest.approx(beta.mean(), rel=1e-12)
    assert (shown.stratum_probability.lower, shown.stratum_probability.upper) == pytest.approx(beta.interval(0.9))
    assert (shown.prior, shown.confidence) == (prior, pytest.approx(n_Ar / n_A))
    assert "brought by a clinician" in rules.note


def test_a_supported_rule_leaves_mined_rules_the_others_and_an_unsupported_one_changes_nothing() -> None:
    cohort, risks = cleveland_cohort(), _risks()
    strata = make_strata(risks)
    mined = explain(cohort, risks, strata)
    best = next(rule for rule in mined.rules if rule.stratum == "high")
    beside = explain(cohort, risks, strata, prior_rules=[PriorRule(best.conditions, "high", PRIOR)])
    assert [rule.conditions for rule in beside.rules if rule.stratum == "high"].count(best.conditions) == 1
    doubted = PriorRule((Condition("age", "<", 45.0),), "high", Prior(0.02, 500.0))
    without = [rule for rule in explain(cohort, risks, strata, prior_rules=[doubted]).rules if not rule.prior]
    assert without == list(mined.rules)  # their adjusted p-values too


def test_visits_of_too_few_patients_are_too_few() -> None:
    rng, patient = np.random.default_rng(0), np.repeat(np.arange(100), 6)
    visits = VisitTable(patient, np.tile(np.arange(6.0), 100))
    cohort = replace(cohort_of(patient[None].astype(np.float64), patient, rng), visits=visits)
    risks = rng.random(600)
    of_four, of_five = (_rule(Condition("x0", ">=", bound)) for bound in (96.0, 95.0))
    (fault,) = prior_rule_faults([of_four, of_five], cohort, STRATUM_NAMES)
    assert (fault.pointer, "fewer than 5 patients" in fault.detail) == ("/prior_rules/0/conditions", True)
    rules = explain(cohort, risks, make_strata(risks), prior_rules=[of_four, of_five])
    (shown,) = [rule for rule in rules.rules if rule.prior]
    assert (shown.conditions, shown.observed_event_rate.n) == (of_five.conditions, 5)
    assert shown.held_out is None  # some of the 30 visits are held out, of fewer than five patients
    assert "1 cannot be shown: fewer than 5 patients match" in rules.note


def test_a_rule_that_too_few_match_is_not_shown_and_the_note_says_so() -> None:
    cohort, risks = cleveland_cohort(), _risks()
    few = _rule(Condition("age", ">=", 76.0))
    nowhere = replace(few, stratum="all")
    rules = explain(cohort, risks, make_strata(risks), prior_rules=[few, nowhere])
    assert not any(rule.prior for rule in rules.rules)
    assert "2 cannot be shown: fewer than 5 patients match" in rules.note


def test_a_rule_that_few_patients_of_large_weight_match_is_refused_and_not_shown() -> None:
    weighted = weigh(cleveland_cohort(), np.full(303, 5))
    rule = _rule(Condition("age", ">=", 76.0))
    (fault,) = prior_rule_faults([rule], weighted, STRATUM_NAMES)
    assert fault.detail == "fewer than 5 patients of the cohort satisfy all conditions"
    risks = np.repeat(_risks(), 5)
    rules = explain(weighted, risks, make_strata(risks), prior_rules=[rule], stop=lambda: True)
    assert rules.rules == ()
    assert "1 cannot be shown: fewer than 5 patients match" in rules.note
