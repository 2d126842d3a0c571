"""Groups reach every learner that splits its training rows, row by row, and keep whole there."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from autoprog.space import CalibratedIncidence, CalibratedRisk, HeldOut, IncidencePipeline
from autoprog.space.event_times import CauseSpecific, DiscreteTime, WeightedHorizons, discrete_time
from autoprog.space.groups import splits_by_group, with_groups
from autoprog.space.path import FittedPath
from autoprog.space.prediction.standardised import Standardised
from autoprog.space.prediction.survival import CoxRegression
from autoprog.space.subsample import SubsampledClassifier
from tests.space.event_times.cohorts import simulated

TIMES = (0.3, 0.6, 1.0)


class Grouped(ClassifierMixin, BaseEstimator):
    """A learner of rows whose first column is their group, up to a standardisation."""

    n_fits = 0

    def fit(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        sample_weight: NDArray[np.float64] | None = None,
        groups: NDArray[np.integer] | None = None,
    ) -> Grouped:
        assert groups is not None
        assert len(groups) == len(X) == len(y)
        np.testing.assert_array_equal(*(np.unique(of_row, return_inverse=True)[1] for of_row in (groups, X[:, 0])))
        self.classes_, self.share_ = np.array([0, 1]), float(np.mean(y))
        Grouped.n_fits += 1
        return self

    def fit_path(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        held_out: HeldOut,
        sample_weight: NDArray[np.float64] | None = None,
        groups: NDArray[np.integer] | None = None,
    ) -> FittedPath:
        self.fit(X, y, sample_weight, groups)
        return FittedPath((1,), lambda rows: np.full((1, len(rows)), self.share_))

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.tile([1 - self.share_, self.share_], (len(X), 1))


LEARNERS = {
    "standardised": (Standardised(Grouped()), 1),
    "subsampled": (SubsampledClassifier(Grouped(), 150, 0), 1),
    "pipeline": (Pipeline([("prediction", Standardised(Grouped()))]), 1),
    "calibrated risk": (CalibratedRisk(Pipeline([("prediction", Grouped())])), 4),
    "discrete time": (DiscreteTime(Grouped(), TIMES), 1),
    "weighted horizons": (WeightedHorizons(SubsampledClassifier(Grouped(), 150, 0), TIMES), 3),
    "calibrated incidence": (
        CalibratedIncidence(IncidencePipeline(Pipeline([("a", "passthrough")]), DiscreteTime(Grouped(), TIMES))),
        4,
    ),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_groups_reach_the_learner_in_the_order_of_its_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Grouped, "n_fits", 0)
    monkeypatch.setattr(discrete_time, "MAX_CELLS", 2000)  # the pooled table is a subsample
    learner, fits = LEARNERS[name]
    if isinstance(learner, CalibratedIncidence):
        learner.set_params(times=TIMES)
    data = simulated(0, 400)
    groups = np.random.default_rng(0).integers(60, size=400)
    X = np.column_stack([groups, data.X])
    has_times = hasattr(learner, "cumulative_incidence")
    y = data.y if has_times else (data.y["event"] == 1).astype(np.int8)
    learner.fit(X, y, **with_groups(learner, groups))
    assert Grouped.n_fits == fits
    if isinstance(learner, DiscreteTime | WeightedHorizons):
        pipeline = IncidencePipeline(Pipeline([("a", "passthrough")]), learner)
        pipeline.fit_path(X, y, X[:50], y[:50], np.array(TIMES), groups)
        assert Grouped.n_fits == 2 * fits
    if isinstance(learner, SubsampledClassifier):
        learner.fit_path(X, y, HeldOut(X, y), groups=groups)
        assert Grouped.n_fits == 2 * fits


def test_intervals_of_a_patient_are_a_group_where_patients_have_none() -> None:
    data = simulated(0, 400)
    fitted = DiscreteTime(Grouped(), TIMES).fit(np.column_stack([np.arange(400.0), data.X]), data.y)
    assert len(fitted.classifiers_) == 1


def test_learners_that_split_no_rows_get_no_groups() -> None:
    groups = np.arange(3)
    assert with_groups(LogisticRegression(), groups) == {}
    assert with_groups(CauseSpecific(CoxRegression()), groups) == {}
    assert with_groups(Grouped(), None) == {}


def test_every_part_to_learn_from_has_both_labels_or_rows_are_split() -> None:
    groups, label = np.repeat(np.arange(20), 5), np.zeros(100)
    label[:10] = 1  # two groups
    splits = splits_by_group(label, groups, 5, seed=0)
    assert splits is not None
    for train, test in splits:
        assert set(label[train]) == {0, 1}
        assert not set(groups[train]) & set(groups[test])
    label[5:10] = 0
    assert splits_by_group(label, groups, 5, seed=0) is None
    assert splits_by_group(label, None, 5, seed=0) is None


def test_where_fewer_folds_do_not_part_the_groups_with_a_label_more_do() -> None:
    """Of four groups two have the label, and balance alone would put them together."""
    groups, label = np.repeat(np.arange(4), (10, 31, 60, 4)), np.zeros(105)
    label[:11] = 1
    for seed in range(5):
        splits = splits_by_group(label, groups, 2, seed)
        assert splits is not None
        assert all(set(label[train]) == {0, 1} for train, _ in splits)
        np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(105))


def test_labels_that_no_training_part_needs_may_lie_in_one_group() -> None:
    groups, label = np.repeat(np.arange(7), 10), np.ones(70)
    label[60:] = 0
    assert splits_by_group(label, groups, 3, seed=0) is None
    splits = splits_by_group(label, groups, 3, seed=0, needed=(1,))
    assert splits is not None
    assert all((label[train] == 1).any() for train, _ in splits)
