"""Learners along a path: what a fit says of a value is what an estimator with that value says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from autoprog.space import Algorithm, HeldOut, Space, TableShape, find_registered
from autoprog.space.path import PATIENCE, compute_log_loss, grid_up_to
from autoprog.space.prediction import BEYOND_TABLE_1, PREDICTION, epochs, histogram_booster
from autoprog.space.prediction.mlp import EpochwisePerceptron
from autoprog.space.threads import lend_threads

LEARNERS = [a for a in (*PREDICTION, *BEYOND_TABLE_1) if a.path is not None and not a.takes_times]
# XGBoost adds up in float32. A weakly penalised kernel has directions that hardly matter to the loss: where the solver
# stops in them depends on where it began, and on how the machine's linear algebra rounds.
TOLERANCE = {"xgboost": 1e-5, "penalised_logistic": 1e-4, "spline_logistic": 1e-4, "kernel_logistic": 5e-3}


def simulated(n: int = 500, *, missing: bool = True) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 6))
    risk = 1 / (1 + np.exp(-(X[:, 0] + X[:, 1] ** 2 - X[:, 2] * X[:, 3])))
    y = (rng.random(n) < risk).astype(np.int8)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def shape_of(X: NDArray[np.float64], y: NDArray[np.int8]) -> TableShape:
    return TableShape(len(X), X.shape[1], int(min(y.sum(), len(y) - y.sum())), has_missing=True)


@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize("algorithm", LEARNERS, ids=lambda a: a.name)
def test_a_value_says_what_an_estimator_with_it_says(algorithm: Algorithm, weighted: bool) -> None:
    X, y = simulated()
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y)) if weighted else None
    learnt, others = np.arange(350), np.arange(350, 500)
    shape = shape_of(X[learnt], y[learnt])
    axis = next(h for h in algorithm.hyperparameters if h.name == algorithm.path)
    values = {h.name: h.default for h in algorithm.hyperparameters} | {algorithm.path: axis.high}
    held_out = HeldOut(X[others], y[others], None if weight is None else weight[others])
    of_learnt = None if weight is None else weight[learnt]
    path = algorithm.build(values, shape, 3).fit_path(X[learnt], y[learnt], held_out, of_learnt)
    at_values = path.risks_of(X[others])
    assert at_values.shape == (len(path.values), len(others))
    np.testing.assert_allclose(path.risks_of(X[others[:60]]), at_values[:, :60], rtol=1e-5)
    assert list(path.values) == sorted(set(path.values))
    assert axis.low <= path.values[0] <= path.values[-1] <= axis.high
    losses = [compute_log_loss(p, held_out.y, held_out.weight) for p in at_values]
    for place in {0, int(np.argmin(losses)), len(path.values) - 1}:
        single = algorithm.build(values | {algorithm.path: path.values[place]}, shape, 3)
        more = {} if of_learnt is None else {"sample_weight": of_learnt}
        risks = single.fit(X[learnt], y[learnt], **more).predict_proba(X[others])[:, 1]
        np.testing.assert_allclose(at_values[place], risks, atol=TOLERANCE.get(algorithm.name, 1e-6))


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "stochastic_boosting"])
def test_boosting_ends_when_forty_trees_brought_nothing(name: str) -> None:
    X, y = simulated(missing=False)
    y = np.random.default_rng(2).permutation(y)
    algorithm = Space.full().algorithm("prediction", name)
    values = {h.name: h.default for h in algorithm.hyperparameters} | {"trees": 500, "learning_rate": 0.3}
    booster = algorithm.build(values, shape_of(X, y), 0)
    path = booster.fit_path(X[:350], y[:350], HeldOut(X[350:], y[350:]))
    assert path.values[-1] <= 3 * PATIENCE


def test_networks_are_watched_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = simulated()
    whole, in_blocks = [], []
    for found, block in ((whole, 10_000), (in_blocks, 40)):
        monkeypatch.setattr(epochs, "_BLOCK", block)
        found.append(EpochwisePerceptron(8, width=32).fit_path(X[:350], y[:350], HeldOut(X[350:], y[350:])))
        found.append(found[0].risks_of(X[350:]))
    assert whole[0].values == in_blocks[0].values
    np.testing.assert_allclose(whole[1], in_blocks[1], rtol=1e-4)


def test_rows_of_weight_zero_do_not_count() -> None:
    X, y = simulated()
    algorithm = Space.full().algorithm("prediction", "stochastic_boosting")
    values = {h.name: h.default for h in algorithm.hyperparameters} | {"trees": 1500}
    counted, all_rows = np.arange(350, 420), np.arange(350, 500)
    weight = np.isin(all_rows, counted).astype(float)
    build = lambda: algorithm.build(values, shape_of(X, y), 0)  # noqa: E731
    of_some = build().fit_path(X[:350], y[:350], HeldOut(X[counted], y[counted]))
    of_all = build().fit_path(X[:350], y[:350], HeldOut(X[all_rows], y[all_rows], weight))
    assert of_some.values == of_all.values
    np.testing.assert_allclose(of_some.risks_of(X[350:]), of_all.risks_of(X[350:]))


def test_a_grid_is_ascending_and_ends_at_its_bound() -> None:
    assert grid_up_to(25, 25) == (25,)
    assert grid_up_to(25, 10) == (10,)
    whole = grid_up_to(10, 1500)
    assert whole[0] == 10
    assert whole[-1] == 1500
    assert all(isinstance(v, int) for v in whole)
    assert list(whole) == sorted(set(whole))
    real = grid_up_to(3e-4, 3.0, 0.6)
    assert len(real) == 9
    np.testing.assert_allclose(np.diff(np.log(real)), np.log(real[1] / real[0]))


def test_a_part_of_many_held_out_rows_ends_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path scores all rows as ever; where the rarer outcome would be too rare in the part, all rows end it."""
    y = np.arange(400) % 4 == 0
    rows = HeldOut(np.arange(400.0)[:, None], y.astype(int), np.arange(400.0))
    assert histogram_booster._monitored(rows) is rows
    monkeypatch.setattr(histogram_booster, "_MONITORED", 100)
    assert histogram_booster._monitored(rows) is rows
    monkeypatch.setattr(histogram_booster, "_MONITORED_RARER", 20)
    part = histogram_booster._monitored(rows)
    assert part.weight is not None
    assert len(part.y) == len(np.unique(part.weight)) == 100
    assert (part.X[:, 0] == part.weight).all()
    assert (part.y == y[part.weight.astype(int)]).all()


@pytest.mark.parametrize("name", ["lightgbm", "stochastic_boosting"])
def test_lent_threads_change_nothing_in_a_model(name: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20_000, 8))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 0).astype(int)
    algorithm = find_registered("prediction", name)
    values = {h.name: h.default for h in algorithm.hyperparameters} | {"trees": 60}
    assert algorithm.threaded
    risks = []
    for threads in (1, 2, 3):
        with lend_threads(threads):
            booster = algorithm.build(values, TableShape(20_000, 8, n_minority=9_000, has_missing=False), 0)
            risks.append(booster.fit(X, y).predict_proba(X))
        assert booster.estimator_.get_params()["n_jobs"] == 1
    assert (risks[0] == risks[1]).all()
    assert (risks[0] == risks[2]).all()
