from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sksurv.util import Surv

from autoprog.cohort import Feature, stratified_rows
from autoprog.cohort.event_array import event_times
from autoprog.model import dump_estimator, load_estimator
from autoprog.space import Algorithm, Configuration, StageName, Step, TableShape, build_pipeline
from autoprog.space.prediction.survival import COX, CoxRegression
from autoprog.space.registry import list_algorithms
from autoprog.space.subsample import SubsampledClassifier, SubsampledSurvival, SubsampledTransformer


@pytest.mark.parametrize(
    ("events", "n", "size", "expected"),
    [(300, 1000, 100, 30), (3, 1000, 100, 1), (997, 1000, 100, 99), (2, 4, 3, 2), (0, 10, 5, 0)],
)
def test_rows_keep_the_share_of_events(events: int, n: int, size: int, expected: int) -> None:
    y = np.random.default_rng(1).permutation(np.arange(n) < events).astype(np.int8)
    rows = stratified_rows(y, n, size, np.random.default_rng(0))
    assert len(set(rows)) == size
    assert (np.diff(rows) > 0).all()
    assert y[rows].sum() == expected


def test_a_fit_uses_the_subsample_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = (rng.random(500) < 1 / (1 + np.exp(-X[:, 0]))).astype(np.int8)
    rows = stratified_rows(y, 500, 120, np.random.default_rng(7))
    learner = SubsampledClassifier(LogisticRegression(), 120, 7).fit(X, y)
    expected = LogisticRegression().fit(X[rows], y[rows])
    np.testing.assert_array_equal(learner.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(learner.predict(X), expected.predict(X))
    assert learner.n_patients_ == 500

    scaler = SubsampledTransformer(StandardScaler(), 120, 7).fit(X, y)
    np.testing.assert_array_equal(scaler.transform(X), StandardScaler().fit(X[rows]).transform(X))


def test_few_patients_are_all_used() -> None:
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    learner = clone(SubsampledClassifier(LogisticRegression(), 20, 0)).fit(X, y)
    np.testing.assert_array_equal(learner.predict_proba(X), LogisticRegression().fit(X, y).predict_proba(X))


def _times(n: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Three columns, and exponential times of which about a fifth end in an event."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    time, censored = rng.exponential(np.exp(-X[:, 0])), rng.exponential(0.2, n)
    return X, Surv.from_arrays(time <= censored, np.minimum(time, censored))


def test_a_learner_of_times_uses_a_subsample_with_the_share_of_events() -> None:
    X, y = _times(600)
    rows = stratified_rows(y, 600, 150, np.random.default_rng(7))
    assert y[rows]["event"].sum() == round(150 * y["event"].mean())
    learner = SubsampledSurvival(CoxRegression(), 150, 7).fit(X, y)
    expected = CoxRegression().fit(X[rows], y[rows])
    loaded = load_estimator(dump_estimator(learner))
    for fitted in (learner, loaded):
        np.testing.assert_array_equal(fitted.predict(X), expected.predict(X))
        np.testing.assert_array_equal(fitted.predict_survival(X, [0.1, 1.0]), expected.predict_survival(X, [0.1, 1.0]))


def test_a_pipeline_of_times_subsamples_where_the_table_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    X, scikit_survivals = _times(600)
    y = event_times(scikit_survivals["event"], scikit_survivals["time"])
    features = tuple(Feature(f"x{j}", "numeric") for j in range(3))
    few = replace(COX, max_patients=200)

    def entries(stage: StageName, n_causes: int = 1) -> tuple[Algorithm, ...]:
        return tuple(few if a is COX else a for a in list_algorithms(stage, n_causes))

    monkeypatch.setattr("autoprog.space.space.list_algorithms", entries)
    configuration = Configuration(Step.of("none"), Step.of("none"), Step.of("cox"), Step.of("none"))
    shape = TableShape(
        600, 3, int(y["event"].sum()), has_missing=False, mode="survival", times=(0.5,), horizons=(0.5,), n_periods=600
    )
    pipeline = build_pipeline(configuration, features, shape, 5).fit(X, y)
    rows = stratified_rows(y, 600, 200, np.random.default_rng(5))
    expected = CoxRegression().fit(X[rows], scikit_survivals[rows]).predict_survival(X, [0.5])
    np.testing.assert_allclose(pipeline.cumulative_incidence(X, [0.5])[:, 0], 1 - expected, rtol=0, atol=1e-12)
