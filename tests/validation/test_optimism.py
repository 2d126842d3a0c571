"""The corrected score: against a plain loop, against what choosing among independent scores is worth, and at chance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm
from scipy.stats import t as student

from autoprog.performance import METRICS, compute_performance, estimate_score, make_metric
from autoprog.validation import (
    Beside,
    Figure,
    Patients,
    corrected_score,
    cross_fitted,
    shrunk_recalibration,
)
from autoprog.validation import optimism as optimism_module
from autoprog.validation.corrections import compute_gains, correct_performance, shift_skill
from autoprog.validation.optimism import MIN_RESAMPLES, Weighing, _counts

N, T = 100, 10
NOBODY = np.zeros((N, 0))  # these rules look at gains alone


def the_best(_: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """All weight to the best."""
    return np.eye(gains.shape[1])[gains.argmax(axis=1)]


def softly(_: np.ndarray, gains: np.ndarray) -> np.ndarray:
    weights = np.exp(20 * gains)
    return weights / weights.sum(axis=1, keepdims=True)


def worthless(seed: int, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes of half of the patients, and T independent sets of risks that know nothing of them."""
    rng = np.random.default_rng(seed)
    return rng.permutation(np.arange(n) % 2), expit(rng.normal(size=(T, n)))


def of_the_best(seed: int, y: np.ndarray, p: np.ndarray, name: str = "auc_roc") -> tuple[float, float]:
    """Apparent and corrected score of the best set of risks."""
    metric, rng = METRICS[name], np.random.default_rng([seed, 1])
    w = the_best(NOBODY, metric.gain(1.0) * np.array([[metric.score(y, risks) for risks in p]]))[0]
    reported = w @ p if metric.ranks_only else cross_fitted(y, w @ p, rng)
    score = corrected_score(metric, Patients(y), reported, p, w, weighing=Weighing(the_best), rng=rng).score
    return metric.score(y, reported), score.estimate


@pytest.mark.parametrize("name", METRICS)
def test_against_a_plain_loop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimism_module, "RESAMPLES", 30)
    metric, sign = METRICS[name], METRICS[name].gain(1.0)
    rng = np.random.default_rng(3)
    y = (rng.random(80) < 0.4).astype(np.int8)
    p = expit(rng.normal(size=(5, 80)) + y - 0.5)
    w = softly(NOBODY, sign * np.array([[metric.score(y, risks) for risks in p]]))[0]
    found = corrected_score(
        metric, Patients(y), w @ p, p, w, weighing=Weighing(softly), rng=np.random.default_rng(9)
    ).score

    of_chosen, of_delivered = [], []
    for c in np.hstack(list(_counts(Patients(y), 30, np.random.default_rng(9)))).T:
        drawn, out = np.repeat(np.arange(80), c.astype(int)), np.flatnonzero(c == 0)
        gains = sign * np.array([[metric.score(y[drawn], risks[drawn]) for risks in p]])
        for weights, scores in ((softly(NOBODY, gains)[0], of_chosen), (w, of_delivered)):
            averaged = weights @ p
            recalibration = shrunk_recalibration(y[drawn], averaged[drawn])
            scores.append(metric.score(y[out], recalibration.apply(averaged[out])))
    chosen = np.array(of_chosen)
    estimate = metric.score(y, w @ p) - np.mean(of_delivered) + chosen.mean()
    m = min(y.sum(), len(y) - y.sum())
    h = student.ppf(0.975, m - 1) * chosen.std(ddof=1) / np.sqrt(np.e - 1)
    ends = np.array([estimate - h, estimate + h])
    if metric.ranks_only:
        ends = expit(logit(estimate) + np.array([-h, h]) / (estimate * (1 - estimate)))
    if name in {"brier", "log_loss"}:
        reach = norm.ppf(0.975) / student.ppf(0.975, m - 1) * h / estimate
        ends = estimate * np.exp(np.array([-reach, reach]))
    np.testing.assert_allclose([found.estimate, found.lower, found.upper], [estimate, *ends], rtol=1e-5)
    assert "30 bootstrap resamples of the patients" in found.method
    assert f"uncorrected it is {metric.score(y, w @ p):.3f}" in found.method


def test_without_a_choice_there_is_no_correction_and_the_interval_is_the_bootstraps() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.4).astype(np.int8)
    p = expit(rng.normal(size=(3, 400)) + y)
    w = np.array([0.5, 0.3, 0.2])
    metric = METRICS["auc_roc"]
    found = corrected_score(
        metric, Patients(y), w @ p, p, w, weighing=Weighing(lambda c, _: np.tile(w, (c.shape[1], 1))), rng=rng
    ).score
    plain = estimate_score(metric, y, w @ p)
    assert found.estimate == pytest.approx(plain.estimate, abs=1e-12)
    # Each end has a standard error of 3 % of the width, and the scores left out a tail that is a little longer.
    assert found.upper - found.lower == pytest.approx(plain.upper - plain.lower, rel=0.2)


def test_choosing_the_best_of_worthless_risks_is_worth_the_expected_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Independent areas of worthless risks are nearly normal: the best of T exceeds one half by sd E max."""
    monkeypatch.setattr(optimism_module, "RESAMPLES", 30)
    sd = np.sqrt((N + 1) / (12 * (N / 2) ** 2))
    expected_maximum, _ = quad(lambda x: x * T * norm.pdf(x) * norm.cdf(x) ** (T - 1), -8, 8)
    scores = np.array([of_the_best(seed, *worthless(seed)) for seed in range(120)])
    optimism = scores[:, 0] - scores[:, 1]
    apparent, corrected, removed = scores[:, 0].mean(), scores[:, 1].mean(), optimism.mean()
    errors = [values.std() / 120**0.5 for values in (*scores.T, optimism)]
    assert apparent - 0.5 == pytest.approx(sd * expected_maximum, abs=3 * errors[0])
    assert corrected == pytest.approx(0.5, abs=3 * errors[1])
    assert removed == pytest.approx(sd * expected_maximum, abs=3 * errors[2])


def test_the_brier_score_of_worthless_risks_is_not_better_than_the_event_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimism_module, "RESAMPLES", 20)
    scores = np.array([of_the_best(seed, *worthless(seed), name="brier") for seed in range(40)])
    corrected = scores[:, 1]
    assert corrected.mean() > 0.25 - 3 * corrected.std() / 40**0.5
    assert scores[:, 1].mean() > scores[:, 0].mean()


def test_where_one_is_far_better_nothing_was_gained_by_choosing() -> None:
    y, p = worthless(0, n=300)
    p[4] = expit(np.random.default_rng(1).normal(size=300) + 3 * y)
    apparent, corrected = of_the_best(0, y, p)
    assert corrected == pytest.approx(apparent, abs=1e-12)


def test_rows_of_a_group_are_drawn_together() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(60) < 0.4).astype(np.int8)
    groups = rng.integers(0, 15, 60)
    c = np.hstack(list(_counts(Patients(y, groups), 50, rng)))
    for group in range(15):
        assert (np.ptp(c[groups == group], axis=0) == 0).all()
    assert c.sum(axis=0).mean() == pytest.approx(60, rel=0.2)


def test_copies_of_a_patient_do_not_hide_what_choosing_was_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every patient three times: without groups a copy that is left out has been seen."""
    monkeypatch.setattr(optimism_module, "RESAMPLES", 60)
    aware, unaware = [], []
    for seed in range(25):
        y, p = worthless(seed, n=40)
        tripled, risks, groups = np.tile(y, 3), np.tile(p, 3), np.tile(np.arange(40), 3)
        w = the_best(NOBODY, np.array([[METRICS["auc_roc"].score(y, one) for one in p]]))[0]
        for patients, found in ((Patients(tripled, groups), aware), (Patients(tripled), unaware)):
            rng = np.random.default_rng(seed)
            best = Weighing(the_best)
            score = corrected_score(METRICS["auc_roc"], patients, w @ risks, risks, w, weighing=best, rng=rng).score
            found.append(score.estimate)
    assert np.mean(aware) == pytest.approx(0.5, abs=3 * np.std(aware) / 5)
    assert np.mean(unaware) > 0.55


@pytest.mark.parametrize("grouped", [False, True])
def test_two_patients_with_the_outcome_are_enough(grouped: bool) -> None:
    y = np.r_[1, 1, np.zeros(20, dtype=int)]
    groups = np.arange(22) // 2 if grouped else None
    if grouped:
        groups[1] = 5  # the two are in different groups
    for c in _counts(Patients(y, groups), 20, np.random.default_rng(0)):
        for b in range(c.shape[1]):
            assert set(y[c[:, b] > 0]) == set(y[c[:, b] == 0]) == {0, 1}


def test_many_patients_are_resampled_less_often_and_the_method_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimism_module, "_FEWER_FROM", {1000: 7})
    y, p = worthless(0)
    score = corrected_score(
        METRICS["auc_roc"],
        Patients(y),
        p[0],
        p,
        np.eye(T)[0],
        weighing=Weighing(the_best),
        rng=np.random.default_rng(0),
    ).score
    assert "in 7 bootstrap resamples" in score.method
    assert "all 10 pipelines" in score.method
    assert optimism_module.describe_resample(1) == "the only pipeline is scored on the patients who were not drawn"
    again = corrected_score(
        METRICS["auc_roc"],
        Patients(y),
        p[0],
        p,
        np.eye(T)[0],
        weighing=Weighing(the_best),
        rng=np.random.default_rng(0),
    ).score
    assert score == again


def test_when_the_time_is_over_the_resamples_made_so_far_do() -> None:
    y, p = worthless(3)
    w, rng = np.eye(T)[0], np.random.default_rng
    arguments = METRICS["auc_roc"], Patients(y), p[0], p, w
    cut = corrected_score(*arguments, weighing=Weighing(the_best), rng=rng(0), stop=lambda: True).score
    assert f"in {MIN_RESAMPLES} bootstrap resamples" in cut.method
    asked: list[None] = []

    def later() -> bool:
        asked.append(None)
        return len(asked) == 3

    later_cut = corrected_score(*arguments, weighing=Weighing(the_best), rng=rng(0), stop=later).score
    # Asked after the least that there are, and after every five more.
    assert f"in {MIN_RESAMPLES + 2 * 5} bootstrap resamples" in later_cut.method
    whole = corrected_score(*arguments, weighing=Weighing(the_best), rng=rng(0)).score
    assert later_cut.estimate == pytest.approx(whole.estimate, abs=0.05)


def by_rank(c: np.ndarray, p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weights that a resample chooses by its own areas, whatever the metric is."""
    rows = [np.repeat(np.arange(len(y)), times.astype(int)) for times in c.T]
    scores = [[METRICS["auc_roc"].score(y[drawn], risks[drawn]) for risks in p] for drawn in rows]
    return the_best(NOBODY, np.array(scores))


@pytest.mark.parametrize("name", ["auc_roc", "auc_prc", "brier", "log_loss"])
def test_another_figure_is_corrected_as_the_score_would_be(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimism_module, "RESAMPLES", 25)
    rng = np.random.default_rng(6)
    y = (rng.random(90) < 0.4).astype(np.int8)
    p = expit(0.7 * rng.normal(size=(6, 90)) + y - 0.5)
    w, metric = np.eye(6)[0], METRICS[name]
    choose = Weighing(lambda c, _: by_rank(c, p, y))
    other = METRICS["brier" if name != "brier" else "auc_roc"]
    arguments = (Patients(y), p[0], p, w)
    whole = corrected_score(metric, *arguments, weighing=choose, rng=np.random.default_rng(2)).score
    beside = corrected_score(
        other, *arguments, weighing=choose, rng=np.random.default_rng(2), beside=Beside([Figure.of(metric)])
    )
    found = beside.figures.correct(name, metric.score(y, p[0]))
    assert found is not None
    assert (found.estimate, found.lower, found.upper) == pytest.approx((whole.estimate, whole.lower, whole.upper))
    assert beside.figures.correct_gain(name, 0.1) is None  # without risks by the simple pipeline


def test_without_a_choice_a_gain_stays_and_its_interval_is_the_paired_one() -> None:
    rng = np.random.default_rng(7)
    y = (rng.random(400) < 0.4).astype(np.int8)
    x = rng.normal(size=400) + y
    p = expit(np.array([0.6 * x + 0.8 * rng.normal(size=400), x]) - 1)
    w, thresholds = np.array([0.0, 1.0]), (0.05, 0.2)
    fixed = Weighing(lambda c, _: np.tile(w, (c.shape[1], 1)))
    figures = [Figure.of(METRICS["brier"]), Figure.of(make_metric("net_benefit", thresholds))]
    correction = corrected_score(
        METRICS["auc_roc"], Patients(y), p[1], p, w, weighing=fixed, rng=rng, beside=Beside(figures, p[0])
    ).figures
    pair = (p[1], p[1]), (p[0], p[0])
    plain = compute_gains(y, *pair, thresholds)
    corrected = compute_gains(y, *pair, thresholds, None, correction)
    for name, gain in plain.items():
        assert corrected[name].estimate == pytest.approx(gain.estimate)
        wide = corrected[name].upper - corrected[name].lower
        assert wide == pytest.approx(gain.upper - gain.lower, rel=0.35)
    performance = compute_performance(y, p[1], thresholds)
    same = correct_performance(performance, correction)
    assert same.uncorrected is not None
    assert set(same.uncorrected) == {"auc_roc", "brier", "net_benefit", "brier_skill"}
    for name, value in same.uncorrected.items():
        assert getattr(same, name) == pytest.approx(value)
        assert same.intervals[name].estimate == pytest.approx(value)
    assert same.slope == performance.slope


def test_the_best_of_worthless_risks_gains_nothing_and_has_no_skill() -> None:
    """Twelve cohorts: the mean gain in area is within three standard errors of nothing, and no skill is found."""
    figures = [Figure.of(METRICS["brier"]), Figure.of(make_metric("net_benefit", (0.05, 0.2)))]
    gains, skills = [], []
    for seed in range(12):
        y, p = worthless(seed, 200)
        rng = np.random.default_rng([seed, 1])
        w = the_best(NOBODY, np.array([[METRICS["auc_roc"].score(y, risks) for risks in p]]))[0]
        correction = corrected_score(
            METRICS["auc_roc"], Patients(y), w @ p, p, w, weighing=Weighing(the_best), rng=rng,
            beside=Beside(figures, p[0]),
        ).figures  # fmt: skip
        recalibrated, simple = cross_fitted(y, w @ p, rng), cross_fitted(y, p[0], rng)
        found = compute_gains(y, (w @ p, recalibrated), (p[0], simple), (0.05, 0.2), None, correction)
        gains.append((found["auc_roc"].estimate, found["brier"].estimate))
        skills.append(correct_performance(compute_performance(y, recalibrated, (0.05, 0.2)), correction).brier_skill)
    area, brier = np.array(gains).T
    assert abs(area.mean()) <= 3 * area.std(ddof=1) / 12**0.5
    # Recalibration learns from the luck of the chosen, and makes new patients' risks worse than the event rate.
    assert brier.mean() > -0.002
    assert np.mean(skills) < 0


def test_a_skill_moves_as_its_brier_score() -> None:
    y = np.array([0, 0, 1, 1, 0], dtype=np.int8)
    p = np.array([0.1, 0.4, 0.8, 0.5, 0.2])
    found = compute_performance(y, p, (0.05, 0.2))
    moved = shift_skill(found.intervals["brier_skill"], found.brier, found.brier + 0.02)
    assert moved.estimate == pytest.approx(1 - (found.brier + 0.02) / (0.4 * 0.6))
    assert moved.upper <= 1


def test_a_figure_without_a_value_in_most_resamples_is_not_corrected() -> None:
    y, p = worthless(3)
    nothing = Figure("nothing", lambda *_: math.nan)
    correction = corrected_score(
        METRICS["auc_roc"], Patients(y), p[0], p, np.eye(T)[0], weighing=Weighing(the_best),
        rng=np.random.default_rng(0), beside=Beside([nothing], p[1]),
    ).figures  # fmt: skip
    assert correction.correct("nothing", 0.3) is None
    assert correction.correct_gain("nothing", 0.3) is None
