from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoprog.evaluation import Plan, fit_pipeline
from autoprog.space import Calibrated, Configuration, Step
from tests.cohorts import mixed_cohort

CALIBRATED = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("sigmoid"))
PLAN = Plan("auc_roc", folds=4, repeats=1, seed=0)


def test_inner_folds_keep_groups_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    cohort = mixed_cohort()
    rows = PLAN.fold(cohort, 0).train
    seen: list[list[tuple[np.ndarray, np.ndarray]]] = []
    fit = Calibrated.fit

    def spy(self: Calibrated, X: np.ndarray, y: np.ndarray) -> Calibrated:
        seen.append(self.cv)
        return fit(self, X, y)

    monkeypatch.setattr(Calibrated, "fit", spy)
    pipeline = fit_pipeline(CALIBRATED, cohort, rows, PLAN, seed=3)
    (splits,) = seen
    assert len(splits) == 3
    assert cohort.groups is not None
    groups = cohort.groups[rows]
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(len(rows)))
    assert pipeline.cv.n_splits == 3  # no rows are stored


def test_without_groups_it_is_the_pipeline_as_built() -> None:
    cohort = replace(mixed_cohort(), groups=None)
    rows = np.arange(cohort.n_patients)
    first, second = (fit_pipeline(CALIBRATED, cohort, rows, PLAN, seed=3).predict_proba(cohort.X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
