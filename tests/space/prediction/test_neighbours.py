"""The share of events among the nearest, by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.space.prediction.neighbours import K_NEAREST_NEIGHBOURS
from tests.space.prediction.learners import fitted, patients, standardised


@pytest.mark.parametrize("d", [3, 20])  # a tree of the patients, and none
@pytest.mark.parametrize("neighbours", [3, 25])
def test_risk_is_the_share_of_events_among_the_nearest(d: int, neighbours: int) -> None:
    X, y = patients(100, d)
    Z = standardised(X)
    distances = ((Z[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)
    nearest = np.argsort(distances, axis=1)[:, :neighbours]
    risks = fitted(K_NEAREST_NEIGHBOURS, X, y, neighbours=neighbours).predict_proba(X)[:, 1]
    np.testing.assert_allclose(risks, y[nearest].mean(axis=1))


def test_there_are_never_more_neighbours_than_an_inner_fold_has_patients() -> None:
    X, y = patients(60, 2)
    built = fitted(K_NEAREST_NEIGHBOURS, X, y, neighbours=150)
    inner = built.fit(X[:40], y[:40]).predict_proba(X)[:, 1]
    assert built.estimator.neighbours == 30
    assert built.estimator_.estimator_.n_neighbors == 20
    assert len(np.unique(inner)) > 1
