"""Rules mined on real and on simulated cohorts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.interpreter import EventRate, RuleSet, explain, make_strata, matching, stratum_indices
from autoprog.interpreter.mining import posterior
from autoprog.interpreter.rules import MAX_LENGTH, MAX_RULES
from autoprog.interpreter.selection import FALSE_DISCOVERY_RATE, hold_out
from tests.cohorts import cleveland_cohort, labelled_visits
from tests.interpreter.groups import alike, cohort_of


def _cleveland_risks() -> np.ndarray:
    cohort = cleveland_cohort()
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
    return cross_val_predict(pipeline, cohort.X, cohort.y, cv=5, method="predict_proba")[:, 1]


@pytest.fixture(scope="module")
def cleveland_rules() -> RuleSet:
    risks = _cleveland_risks()
    return explain(cleveland_cohort(), risks, make_strata(risks))


def _noise(seed: int, n: int = 400, width: int = 8) -> Cohort:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    X[:, width // 2 :] = X[:, width // 2 :] > 0
    features = tuple(
        Feature(f"x{j}", "numeric") if j < width // 2 else Feature(f"x{j}", "binary", ("0", "1")) for j in range(width)
    )
    return Cohort("noise", Binary("y", "1", "0"), features, X, rng.integers(0, 2, n).astype(np.int8))


def test_rules_of_a_large_cohort_are_mined_on_a_sample_and_their_figures_are_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("autoprog.interpreter.interpreter._MAX_MINED", 2_000)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(9_000, 3))
    risks = 1 / (1 + np.exp(-2 * X[:, 0] + 0.3 * rng.normal(size=9_000)))
    features = tuple(Feature(f"x{j}", "numeric") for j in range(3))
    cohort = Cohort("many", Binary("y", "1", "0"), features, X, (rng.random(9_000) < risks).astype(np.int8))
    strata = make_strata(risks)
    found = explain(cohort, risks, strata, seed=1)
    assert "found on 2,000 patients" in found.note
    assert "those of 2,250 patients who had no part" in found.note
    assert found == explain(cohort, risks, strata, seed=1)
    assert {rule.conditions[0].feature for rule in found.rules} == {"x0"}
    r = stratum_indices(strata, risks)
    for rule in found.rules:
        matches = matching(rule, features, X)
        assert rule.observed_event_rate.n == matches.sum() > 2_000 * 0.03
        index = [stratum.name for stratum in strata].index(rule.stratum)
        assert rule.confidence == pytest.approx(np.mean(r[matches] == index))


def test_every_figure_of_every_rule_is_that_of_the_patients_it_matches(cleveland_rules: RuleSet) -> None:
    cohort = cleveland_cohort()
    r = stratum_indices(cleveland_rules.strata, _cleveland_risks())
    names = [stratum.name for stratum in cleveland_rules.strata]
    assert cleveland_rules.rules
    for rule in cleveland_rules.rules:
        index = names.index(rule.stratum)
        matches = matching(rule, cohort.features, cohort.X)
        n_A, n_Ar, q_r = int(matches.sum()), int((matches & (r == index)).sum()), float(np.mean(r == index))
        assert rule.support == pytest.approx(n_A / cohort.n_patients)
        assert rule.support >= 0.03
        assert rule.confidence == pytest.approx(n_Ar / n_A)
        assert rule.lift == pytest.approx(n_Ar / n_A / q_r)
        assert rule.stratum_probability == posterior(n_A, n_Ar, q_r)
        rate, events = rule.observed_event_rate, int(cohort.y[matches].sum())
        wilson = stats.binomtest(events, n_A).proportion_ci(0.9, method="wilson")
        assert (rate.estimate, rate.lower, rate.upper, rate.n) == pytest.approx(
            (events / n_A, wilson.low, wilson.high, n_A)
        )


def test_every_rule_stands_among_patients_who_had_no_part_in_it(cleveland_rules: RuleSet) -> None:
    cohort, risks = cleveland_cohort(), _cleveland_risks()
    r = stratum_indices(cleveland_rules.strata, risks)
    held_out = hold_out(risks, None, np.random.default_rng(0))
    names = [stratum.name for stratum in cleveland_rules.strata]
    for rule in cleveland_rules.rules:
        matches = matching(rule, cohort.features, cohort.X) & held_out
        in_stratum = (r == names.index(rule.stratum)) & held_out
        n_A, n_Ar, n_r = int(matches.sum()), int((matches & in_stratum).sum()), int(in_stratum.sum())
        check = rule.held_out
        assert check is not None
        assert (check.n, check.in_stratum) == (n_A, n_Ar)
        table = [[n_Ar, n_A - n_Ar], [n_r - n_Ar, int(held_out.sum()) - n_A - n_r + n_Ar]]
        assert check.p_value == pytest.approx(stats.fisher_exact(table, alternative="greater").pvalue)
        assert check.p_value <= check.adjusted_p_value <= FALSE_DISCOVERY_RATE


def test_rules_on_real_patients_are_few_short_and_distinct(cleveland_rules: RuleSet) -> None:
    cohort = cleveland_cohort()
    for stratum in cleveland_rules.strata:
        rules = [rule for rule in cleveland_rules.rules if rule.stratum == stratum.name]
        assert len(rules) <= MAX_RULES
        matches = [matching(rule, cohort.features, cohort.X) for rule in rules]
        for k, rule in enumerate(rules):
            assert 1 <= len(rule.conditions) <= MAX_LENGTH
            assert rule.lift > 1
            others = np.zeros(cohort.n_patients, dtype=np.bool_)
            others[:] = np.any(matches[:k] + matches[k + 1 :], axis=0) if len(rules) > 1 else False
            assert (matches[k] & ~others).any()
    assert {rule.stratum for rule in cleveland_rules.rules} >= {"high", "low"}
    high = [rule for rule in cleveland_rules.rules if rule.stratum == "high"]
    assert min(rule.observed_event_rate.lower for rule in high) > cohort.event_rate


def test_measurements_with_a_unit_are_cut_where_clinicians_cut_them(cleveland_rules: RuleSet) -> None:
    cuts = {"trestbps": {120, 130, 140, 160, 180}, "chol": {200, 240}, "oldpeak": {1, 2}, "age": set(range(5, 100, 5))}
    clinical = [c for rule in cleveland_rules.rules for c in rule.conditions if c.feature in cuts]
    assert clinical
    assert all(c.value in cuts[c.feature] for c in clinical)


def test_fidelity_is_that_of_the_rules_on_the_patients_held_out(cleveland_rules: RuleSet) -> None:
    cohort, risks = cleveland_cohort(), _cleveland_risks()
    names = [stratum.name for stratum in cleveland_rules.strata]
    held_out = hold_out(risks, None, np.random.default_rng(0))
    fidelity = cleveland_rules.fidelity
    assert fidelity is not None
    placed = []
    for i in range(cohort.n_patients):
        row = cohort.X[i : i + 1]
        fired = [rule for rule in cleveland_rules.rules if matching(rule, cohort.features, row)[0]]
        best = max(fired, key=lambda rule: rule.stratum_probability.mean, default=None)
        placed.append(names.index(fidelity.default if best is None else best.stratum))
    r = stratum_indices(cleveland_rules.strata, risks)
    assert fidelity.n == held_out.sum()
    assert fidelity.kappa == pytest.approx(cohen_kappa_score(r[held_out], np.array(placed)[held_out]))
    assert fidelity.lower < fidelity.kappa < fidelity.upper
    assert fidelity.lower > 0


def test_rules_of_a_horizon_say_so_and_ask_their_own_outcome() -> None:
    class Half:
        described = "half of those who match"

        def event_rate(self, patients: np.ndarray) -> EventRate:
            return EventRate(0.5, 0.4, 0.6, int(patients.sum()))

    cohort, risks = cleveland_cohort(), _cleveland_risks()
    rules = explain(cohort, risks, make_strata(risks), observed=Half(), horizon=365.0)
    assert rules.rules
    assert {(rule.horizon, rule.observed_event_rate.estimate) for rule in rules.rules} == {(365.0, 0.5)}
    assert "observed_event_rate is half of those who match" in rules.note


def test_the_note_says_what_the_risks_are(cleveland_rules: RuleSet) -> None:
    cohort, risks = cleveland_cohort(), _cleveland_risks()
    assert "risk stratum, by their out-of-fold risks; " in cleveland_rules.note
    assert "risk stratum, by a score; " in explain(cohort, risks, make_strata(risks), source="a score").note


def test_the_note_counts_rules_that_did_not_stand_out_only_if_there_are_any(cleveland_rules: RuleSet) -> None:
    assert "at a false-discovery rate of 10%; all did. fidelity says" in cleveland_rules.note


def test_the_same_rules_every_time_whatever_the_order_of_the_patients(cleveland_rules: RuleSet) -> None:
    cohort, risks = cleveland_cohort(), _cleveland_risks()
    order = np.random.default_rng(3).permutation(cohort.n_patients)
    shuffled = Cohort(cohort.name, cohort.outcome, cohort.features, cohort.X[order], cohort.y[order])
    assert explain(shuffled, risks[order], make_strata(risks)) == cleveland_rules


def test_a_planted_conjunction_is_found_alone() -> None:
    cohort = _noise(0, n=2000)
    x0, x4, x5 = cohort.X[:, 0], cohort.X[:, 4], cohort.X[:, 5]
    planted = (x0 >= 0) & (x4 == 1) & (x5 == 0)
    risks = np.where(planted, 0.9, 0.1)
    rules = explain(cohort, risks, make_strata(risks, high=0.5, medium=0.3)).rules
    (rule,) = [rule for rule in rules if rule.stratum == "high"]
    assert {(c.feature, c.operator) for c in rule.conditions} == {("x0", ">="), ("x4", "="), ("x5", "=")}
    matches = matching(rule, cohort.features, cohort.X)
    assert (matches & planted).sum() / (matches | planted).sum() > 0.95


def test_risks_that_have_nothing_to_do_with_the_features_give_no_rules() -> None:
    # Without any true rule a false one is shown with probability at most 0.1: in 8 of 20 with probability below 5e-4.
    shown = 0
    for seed in range(20):
        risks = np.random.default_rng(1000 + seed).random(400)
        shown += bool(explain(_noise(seed), risks, make_strata(risks), seed).rules)
    assert shown <= 7


def test_nor_do_they_where_the_rows_of_a_group_are_the_same() -> None:
    # As above: in 6 of 12 with probability below 6e-4. More in tests/slow.
    group, shown = np.repeat(np.arange(60), 6), 0
    for seed in range(12):
        rng = np.random.default_rng(3000 + seed)
        X, z = alike(rng, group, 8, 1.0), alike(rng, group, 1, 1.0)[0]
        risks = 1 / (1 + np.exp(-z))
        shown += bool(explain(cohort_of(X, group, rng), risks, make_strata(risks), seed).rules)
    assert shown <= 5


def test_of_visits_patients_are_counted_and_alike_visits_are_worth_less() -> None:
    cohort = labelled_visits()
    assert cohort.visits is not None
    patient = cohort.visits.patient
    x = np.nan_to_num(cohort.X[:, [f.name for f in cohort.features].index("bili")])
    risks = 1 / (1 + np.exp(-np.log1p(x) + np.random.default_rng(0).normal(size=len(x)) / 3))
    strata = make_strata(risks)
    rules = explain(cohort, risks, strata)
    r, held_out = stratum_indices(strata, risks), hold_out(risks, cohort.groups, np.random.default_rng(0))
    mined, checked = (f"{rows.sum():,} visits of {len(set(patient[rows]))} patients" for rows in (~held_out, held_out))
    assert f"found on {mined}, so" in rules.note
    assert f"those of {checked} who had no part" in rules.note
    assert "which visits this model places" in rules.note
    assert "visits that had the outcome" in rules.note
    assert "Visits of one patient are alike" in rules.note
    assert rules.fidelity is not None
    assert rules.fidelity.n == len(set(patient[held_out]))
    widened = []
    for rule in rules.rules:
        matches = matching(rule, cohort.features, cohort.X)
        in_stratum = matches & (r == [s.name for s in strata].index(rule.stratum))
        rate, check, told = rule.observed_event_rate, rule.held_out, rule.stratum_probability
        assert check is not None
        assert rate.n == len(set(patient[matches])) < matches.sum()
        assert (check.n, check.in_stratum) == tuple(len(set(patient[a & held_out])) for a in (matches, in_stratum))
        assert (rule.support, rule.confidence) == pytest.approx((matches.mean(), in_stratum.sum() / matches.sum()))
        assert rate.estimate == pytest.approx(cohort.y[matches].mean())
        wilson = stats.binomtest(int(cohort.y[matches].sum()), int(matches.sum())).proportion_ci(0.9, method="wilson")
        assert rate.upper - rate.lower > 1.2 * (wilson.high - wilson.low)
        independent = posterior(int(matches.sum()), int(in_stratum.sum()), float(np.mean(r == r[in_stratum][0])))
        widened.append((told.upper - told.lower) / (independent.upper - independent.lower))
    assert min(widened) >= 1
    assert max(widened) > 1.1


def test_groups_of_one_row_are_none() -> None:
    cohort, risks = cleveland_cohort(), _cleveland_risks()
    alone = replace(cohort, groups=np.arange(cohort.n_rows))
    assert explain(alone, risks, make_strata(risks)).rules == explain(cohort, risks, make_strata(risks)).rules


def test_equal_risks_have_one_stratum_and_no_rule() -> None:
    cohort = cleveland_cohort()
    risks = np.full(cohort.n_patients, 0.4)
    rules = explain(cohort, risks, make_strata(risks))
    assert [s.name for s in rules.strata] == ["all"]
    assert rules.rules == ()
    assert rules.fidelity is None


def test_a_stratum_without_patients_has_no_rules() -> None:
    cohort, risks = cleveland_cohort(), _cleveland_risks() * 0.5
    rules = explain(cohort, risks, make_strata(risks, high=0.8, medium=0.25))
    assert rules.strata[0].fraction == 0
    assert {rule.stratum for rule in rules.rules} <= {"medium", "low"}


def test_a_cohort_wider_than_the_screen_still_finds_the_planted_rule() -> None:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (300, 400)).astype(np.float64)
    features = tuple(Feature(f"x{j}", "binary", ("0", "1")) for j in range(400))
    cohort = Cohort("wide", Binary("y", "1", "0"), features, X, X[:, 0].astype(np.int8))
    risks = np.where((X[:, 7] == 1) & (X[:, 390] == 1), 0.9, 0.1)
    rules = explain(cohort, risks, make_strata(risks)).rules
    high = next(rule for rule in rules if rule.stratum == "high")
    assert {c.feature for c in high.conditions} == {"x7", "x390"}


def test_a_cohort_that_allows_no_condition_has_no_rules() -> None:
    features = (Feature("x", "numeric"),)
    y = np.array([0, 1] * 10, dtype=np.int8)
    cohort = Cohort("empty", Binary("y", "1", "0"), features, np.full((20, 1), np.nan), y)
    risks = np.linspace(0, 1, 20)
    assert explain(cohort, risks, make_strata(risks)).rules == ()


def test_mining_that_is_stopped_keeps_what_it_found() -> None:
    """The later the stop, the more is there; stopped at once, there are no rules, and the note says why."""
    cohort = cleveland_cohort()
    risks = _cleveland_risks()
    strata = make_strata(risks)
    whole = explain(cohort, risks, strata)
    none = explain(cohort, risks, strata, stop=lambda: True)
    assert none.rules == ()
    assert "time ended" in none.note
    assert "time ended" not in whole.note
    asked: list[bool] = []

    def later() -> bool:
        asked.append(True)
        return len(asked) > 12

    some = explain(cohort, risks, strata, stop=later)
    assert 0 < len(some.rules) <= len(whole.rules)
    assert "time ended" in some.note
