"""Corrections of the figures at each horizon."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.performance import ScoringContext
from autoprog.survival import censoring_survival
from autoprog.validation.event_times import correct_horizons, event_figures
from autoprog.validation.optimism import Correction, Left
from tests.space.event_times.cohorts import simulated


def test_horizons_alike_in_six_digits_have_corrections_of_their_own() -> None:
    y = simulated(0, 200).y
    y["time"] *= 2e6
    horizons = (1_000_000.0, 1_000_001.0)
    figures = event_figures(ScoringContext(horizons, horizons, 1, censoring_survival(y["time"], y["event"])))
    assert len({figure.name for figure in figures}) == len(figures) == 4 + 2 * 2
    scores = np.random.default_rng(0).uniform(0.4, 0.6, 50)
    # The last four are AUC and Brier score of the first horizon, and of the second.
    left = {each.name: Left(scores, scores + 0.01 * k, scores) for k, each in enumerate(figures[-4:])}
    correction = Correction(left, {each.name: each for each in figures}, 50, grouped=False)
    ends = {"lower": 0.0, "upper": 0.3}
    documents = [
        {
            "horizon": horizon,
            "performance": {"auc": 0.7, "brier": 0.2, "brier_skill": 0.1, "intervals": {"brier_skill": ends}},
            "gain_over_baseline": {"auc": {"estimate": 0.2}, "brier": {"estimate": -0.1}},
        }
        for horizon in horizons
    ]
    correct_horizons(documents, correction)
    for k, document in enumerate(documents):
        told, gain = document["performance"], document["gain_over_baseline"]
        assert (told["auc"], told["brier"]) == pytest.approx((0.7 - 0.02 * k, 0.2 - 0.02 * k - 0.01))
        assert (gain["auc"]["estimate"], gain["brier"]["estimate"]) == pytest.approx(
            (0.2 - 0.02 * k, -0.1 - 0.02 * k - 0.01)
        )
