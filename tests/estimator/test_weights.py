"""`sample_weight` says how many patients each stands for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from autoprog import AutoPrognosis, Survival
from autoprog.estimator.words import InvalidArgumentsError
from tests.estimator.support import QUICK, patients


def test_a_case_control_sample_predicts_its_population(tmp_path: Path) -> None:
    """All with the outcome and a tenth of the others: without weights risks are ten times the odds."""
    rng = np.random.default_rng(0)
    population = pd.DataFrame({"age": rng.uniform(40, 80, 6_000), "bmi": rng.uniform(20, 40, 6_000)})
    risk = 1 / (1 + np.exp(3.5 - 0.1 * (population.age - 60)))
    died = rng.random(6_000) < risk
    sampled = died | (np.arange(6_000) % 10 == 0)
    X, y, w = population[sampled], died[sampled], np.where(died, 1, 10)[sampled]
    model = AutoPrognosis(time_budget_s=120, settings=QUICK, random_state=0).fit(X, y, sample_weight=w)
    population = population.clip(X.min(), X.max(), axis=1)
    assert model.predict_risk(population).sum() == pytest.approx(died.sum(), rel=0.05)
    score = model.ensemble_["score"]
    assert score["estimate"] == pytest.approx(model.score(population, died), abs=0.03)
    unweighted = AutoPrognosis(time_budget_s=120, settings=QUICK, random_state=0).fit(X, y).ensemble_["score"]
    width = score["upper"] - score["lower"]
    # Intervals are of the patients sampled, not of those they stand for, who would make them a half as wide.
    assert width > 0.9 * (unweighted["upper"] - unweighted["lower"])
    model.report(tmp_path / "report.md")
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert f"{len(X):,} patients who stand for {w.sum():,}" in report
    assert f"was present in {died.sum():,} of {w.sum():,} patients" in report


def test_weights_of_0_leave_patients_out_and_weights_of_1_change_nothing() -> None:
    X, y = patients()
    n = len(X)
    w = (np.arange(n) % 4 != 0).astype(float)
    left_out, without = AutoPrognosis()._cohort(X, y, weights=w), AutoPrognosis()._cohort(X[w > 0], y[w > 0])
    np.testing.assert_array_equal(left_out.cohort.X, without.cohort.X)
    assert left_out.cohort.sampled is None
    assert AutoPrognosis()._cohort(X, y, weights=[1] * n).stored() == AutoPrognosis()._cohort(X, y).stored()


def test_weights_of_event_times_repeat_patients() -> None:
    rng = np.random.default_rng(1)
    X, time, event = rng.normal(size=(60, 2)), rng.exponential(size=60) + 0.1, rng.integers(0, 2, 60)
    w = rng.integers(1, 4, 60)
    cohort = AutoPrognosis(mode="survival")._cohort(X, Survival(time, event), weights=w).cohort
    np.testing.assert_array_equal(cohort.time, np.repeat(time, w))
    assert (cohort.n_patients, cohort.n_sampled) == (w.sum(), 60)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ((3, 0.5), "sample_weight: 1 row with a weight that is no whole number from 1: row 4; divide"),
        ((3, -2), "sample_weight: 1 row with a weight that is no whole number from 1: row 4"),
        ((3, np.nan), "sample_weight: 1 row without a weight: row 4"),
    ],
)
def test_other_weights_are_named(change: tuple[int, float], text: str) -> None:
    X, y = patients()
    w = np.ones(len(X))
    w[change[0]] = change[1]
    with pytest.raises(InvalidArgumentsError, match=text):
        AutoPrognosis().fit(X, y, sample_weight=w)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AutoPrognosis().fit(X, y, sample_weight=w[1:])
