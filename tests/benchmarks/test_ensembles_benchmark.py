"""The parts of the ensembles' benchmark whose mistakes would not show in its figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from autoprog.endpoints import make_endpoint
from autoprog.validation import PRIOR_PRECISION, recalibration_covariance
from benchmarks.ensembles import (
    coverage,
    coverage_figures,
    equivalence,
    laboratory,
    lines,
    outer,
    outer_figures,
    simulated,
)
from tests.cohorts import cleveland_cohort
from tests.search.inline import InlineDispatcher

METHODS = ("delivered", "rule/greedy", "simple", "lightgbm", "best_single")


@pytest.mark.parametrize("truth", ["logistic", "interaction", "threshold", "rare"])
def test_simulated_patients_have_the_event_rate_and_the_risks_that_are_told(truth: str) -> None:
    nature = simulated.Nature(truth, 3)
    cohort, p = nature.cohort(20_000, np.random.default_rng(0))
    rate = 0.08 if truth == "rare" else 0.35
    assert p.mean() == pytest.approx(rate, abs=0.01)
    # Standard error at most .0034 over all; .011 in a tenth of the patients: five of them.
    assert cohort.y.mean() == pytest.approx(p.mean(), abs=0.017)
    tenth = p > np.quantile(p, 0.9)
    assert cohort.y[tenth].mean() == pytest.approx(p[tenth].mean(), abs=0.055)
    again, same = nature.cohort(20_000, np.random.default_rng(0))
    np.testing.assert_array_equal(again.X, cohort.X)
    np.testing.assert_array_equal(same, p)
    np.testing.assert_array_equal(nature.risks(cohort.X[:5]), p[:5])


def test_any_twenty_cohorts_in_a_row_are_of_every_truth_and_size() -> None:
    design = coverage.design
    assert len({design(number) for number in range(180, 200)}) == 20


def test_the_true_auc_is_that_of_outcomes_drawn_by_the_risks() -> None:
    rng = np.random.default_rng(0)
    p = expit(rng.normal(-0.5, 1, 50))
    q = p + rng.normal(0, 0.05, 50).round(2)
    found = coverage.true_auc(p, q)
    many = np.repeat(np.arange(50), 4000)
    y = rng.random(len(many)) < p[many]
    assert found == pytest.approx(roc_auc_score(y, q[many]), abs=0.01)  # standard error .0013
    above = np.sign(q[:, None] - q[None, :]) / 2 + 0.5
    pairs = np.outer(p, 1 - p)
    assert found == pytest.approx(float((above * pairs).sum() / pairs.sum()), abs=1e-12)


def test_a_line_that_was_broken_off_is_measured_again(tmp_path: Path) -> None:
    file = tmp_path / "shards.jsonl"
    file.write_text('\n{"number": 0}\n{"number": 1}\n{"numb', encoding="utf-8")
    assert [row["number"] for row in lines.read(file)] == [0, 1]
    assert lines.read(tmp_path / "absent.jsonl") == []


def coverage_row(number: int, **changes: Any) -> dict[str, Any]:
    row = {
        "number": number, "truth": "rare", "n_patients": 200, "time_s": 10.0, "total_s": 9.0, "validation_s": 2.0,
        "estimate": 0.71, "lower": 0.65, "upper": 0.77, "true_auc": 0.7, "naive": 0.74, "uncorrected": 0.73,
        "covered": 0.9, "covered_by_risk": [0.8, 0.9, 1.0], "width": 0.2, "interval_method": "refits",
    }  # fmt: skip
    return {**row, **changes}


def test_figures_of_coverage() -> None:
    rows = [coverage_row(i) for i in range(8)]
    rows += [coverage_row(8, true_auc=0.8), coverage_row(9, covered=None, truth="logistic")]
    figures = coverage_figures.coverage_figures(rows)
    score = figures["score"]
    assert (score["n"], score["covered"], score["above"], score["below"]) == (10, 0.9, 1, 0)
    assert score["covered_lower"] == pytest.approx(0.555, abs=1e-4)  # R: binom.test(9, 10)
    assert score["covered_upper"] == pytest.approx(0.9975, abs=1e-4)
    assert score["bias_reported"] == pytest.approx(0.01 - 0.01)
    assert score["bias_naive"] == pytest.approx(0.03)
    assert figures["patient_intervals"]["without"] == 1
    assert figures["patient_intervals"]["covered"] == 0.9
    assert figures["by_truth"]["logistic"]["patient_intervals"] == {"n": 0, "without": 1}
    assert figures["time"]["most_total_over_budget"] == 0.9
    assert json.loads(json.dumps(figures)) == figures
    assert coverage_figures.coverage_figures([]) == {"cohorts": 0}


def shard(cohort: str, fold: int, noise: dict[str, float], seed: int) -> dict[str, Any]:
    """Risks that are the truth's, but for so much noise on the scale of log odds."""
    rng = np.random.default_rng([seed, fold])
    x = rng.normal(-0.5, 1.2, 120)
    y = (rng.random(120) < expit(x)).astype(int)
    return {
        "cohort": cohort, "fold": fold, "time_s": 30.0, "n_train": 480, "total_s": 29.0, "validation_s": 6.0,
        "score": {"estimate": 0.8, "lower": 0.75, "upper": 0.85}, "naive": 0.82, "interval_width": None,
        "instability": 0.05, "y": y.tolist(),
        "risks": {m: expit(x + rng.normal(0, noise.get(m, 0.0), 120)).tolist() for m in METHODS},
    }  # fmt: skip


def test_figures_of_the_outer_folds() -> None:
    worse = {"simple": 1.0, "lightgbm": 2.0, "best_single": 1.5, "rule/greedy": 0.0}
    shards = [shard(name, fold, worse, seed) for seed, name in enumerate("abc") for fold in range(10)]
    figures = outer_figures.outer_figures(shards)
    assert figures["best_of_three"] == "simple"
    by_hand = [
        np.mean(
            [
                roc_auc_score(s["y"], s["risks"]["delivered"]) - roc_auc_score(s["y"], s["risks"]["simple"])
                for s in shards
                if s["cohort"] == name
            ]
        )
        for name in "abc"
    ]
    found = figures["differences"]["simple"]
    assert found["mean"] == pytest.approx(np.mean(by_hand), abs=1e-4)
    assert min(by_hand) - 1e-4 <= found["lower"] <= found["mean"]
    assert figures["flagged"] == []
    assert figures["calibration"]["lightgbm"]["ici"] > figures["calibration"]["delivered"]["ici"]
    assert figures["time"] == {
        "most_total_over_budget": 0.9667, "median_validation_share": 0.2, "most_validation_share": 0.2,
        "without_intervals": 30,
    }  # fmt: skip
    assert json.loads(json.dumps(figures)) == figures


def test_a_cohort_on_which_the_ensemble_is_worse_is_flagged() -> None:
    shards = [shard("good", fold, {"simple": 1.0}, 0) for fold in range(10)]
    shards += [shard("bad", fold, {"delivered": 3.0}, 1) for fold in range(10)]
    figures = outer_figures.outer_figures(shards)
    assert figures["flagged"] == ["bad"]


def test_the_corrected_t_is_that_of_nadeau_and_bengio() -> None:
    shards = [shard("a", fold, {"simple": 1.0}, 0) for fold in range(10)]
    found = outer_figures._corrected_t(shards, "simple")
    d = [roc_auc_score(s["y"], s["risks"]["delivered"]) - roc_auc_score(s["y"], s["risks"]["simple"]) for s in shards]
    error = np.sqrt((1 / 10 + 120 / 480) * np.var(d, ddof=1))
    assert found["upper"] - found["mean"] == pytest.approx(1.8331 * error, abs=2e-4)  # t of 9 degrees, .95


def test_one_fold_is_no_cohort() -> None:
    assert outer_figures.outer_figures([shard("a", 0, {}, 0)]) == {"shards": 1}


def test_delivered_intervals_have_the_recalibration_and_the_covariance_of_a_delivery(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cohort = cleveland_cohort()
    noise = np.random.default_rng(0).normal(0.0, 1.0, (len(equivalence._LEARNERS), cohort.n_rows))
    p = expit(noise + 3.0 * cohort.y)  # far from calibrated
    refits = np.tile(p, (equivalence.REFITS, 1, 1))
    fits = equivalence._Fits(cohort.X, cohort.y, cohort.X, p, p, refits, refits)
    endpoint = make_endpoint(cohort)
    given = []

    class FirstError(Exception):
        pass

    def fit(*_: Any, covariance: Any, **__: Any) -> None:
        given.append(covariance)
        raise FirstError

    monkeypatch.setattr(equivalence, "fit_patient_intervals", fit)
    weights = {"logistic": 0.5, "boosting": 0.5}
    with pytest.raises(FirstError):
        equivalence._of_ensemble(fits, endpoint, weights, p[0])
    averaged = np.array([weights.get(name, 0.0) for name in equivalence._LEARNERS]) @ p
    recalibration = endpoint.fit_recalibration(averaged)
    np.testing.assert_allclose(given[0], recalibration_covariance(averaged, recalibration, PRIOR_PRECISION))


def test_the_rule_of_a_search_gives_the_risks_of_its_model() -> None:
    """Other rules are weighed and recalibrated in the same way."""
    cohort = cleveland_cohort()
    lab = laboratory.Laboratory(InlineDispatcher(first_last=False))
    quick = {
        "imputation": ["median", "mean"], "features": ["none"], "calibration": ["none"],
        "prediction": ["logistic_regression", "ridge", "lda"],
    }  # fmt: skip
    settings = {"budget": {"time_s": 600, "evaluations": 6}, "space": quick, "ensemble": "linear_pool"}
    search = lab.search(cohort, settings)
    assert 1 < len(search.candidates.chosen_before) < len(search.history)
    X = cohort.X[~np.isnan(cohort.X).any(axis=1)]  # others' missing cells are drawn by the model
    risks = dict(outer._others(lab, cohort, search, X, seed=1))
    np.testing.assert_allclose(risks["rule/linear_pool"], search.result.model.risks(X), atol=1e-6)


def test_shards_go_round_the_cohorts() -> None:
    asked = outer.shards(("a", "b"), 3)
    assert [(s.cohort, s.fold) for s in asked] == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]
