"""Main effects of algorithms and hyperparameters: a regression with a prior, on a basis whose parts are orthogonal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import eval_legendre
from sklearn.linear_model import Ridge

from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.main_effects import basis, main_effects, term_names
from tests.optimizer.toys import draw, toy_space

ENCODING = Encoding(toy_space(((0, 1), (0, 2), (0, 1, 2, 2), (0, 0))))
CONFIGURATIONS = draw(ENCODING.space, 300, np.random.default_rng(0))
POINTS = ENCODING.encode(CONFIGURATIONS)
NAMES = term_names(ENCODING)


def test_a_term_for_every_algorithm_and_two_for_every_hyperparameter() -> None:
    assert NAMES[: ENCODING.n_algorithms] == ENCODING.keys
    assert len(NAMES) == len(set(NAMES)) == ENCODING.n_algorithms + 2 * len(ENCODING.owner)


def test_the_basis_is_which_algorithms_and_legendre_polynomials_of_their_hyperparameters() -> None:
    phi = basis(ENCODING, POINTS)
    for i, configuration in enumerate(CONFIGURATIONS[:50]):
        expected = dict.fromkeys(NAMES, 0.0)
        for algorithm in ENCODING.space.find_kind(configuration):
            expected[algorithm.key] = 1.0
            values = dict(configuration.step(algorithm.stage).parameters)
            for h in algorithm.hyperparameters:
                u = 2 * h.to_unit(values[h.name]) - 1
                expected[f"{algorithm.key}/{h.name}"] = eval_legendre(1, u)
                expected[f"{algorithm.key}/{h.name}^2"] = eval_legendre(2, u)
        np.testing.assert_allclose(phi[i], list(expected.values()), atol=1e-12)


def test_they_are_those_of_ridge_regression() -> None:
    y = np.random.default_rng(1).normal(3.0, 1.0, len(POINTS))
    oracle = Ridge(2.0, fit_intercept=False).fit(basis(ENCODING, POINTS), y - y.mean())
    np.testing.assert_allclose(main_effects(ENCODING, POINTS, y), oracle.coef_, atol=1e-10)


def test_what_the_gains_were_made_of_is_found() -> None:
    made = {"prediction/prediction1": 0.8, "prediction/prediction2/h0": -0.5, "prediction/prediction2/h1^2": 0.4}
    assert made.keys() <= set(NAMES)
    rng = np.random.default_rng(2)
    y = basis(ENCODING, POINTS) @ np.array([made.get(name, 0.0) for name in NAMES]) + rng.normal(0, 0.05, len(POINTS))
    found = dict(zip(NAMES, main_effects(ENCODING, POINTS, y), strict=True))
    others = [found[f"prediction/prediction{i}"] for i in (0, 2, 3)]
    assert found["prediction/prediction1"] - np.mean(others) == pytest.approx(0.8, abs=0.05)
    for name in list(made)[1:]:
        assert found[name] == pytest.approx(made[name], abs=0.06)
    assert max(abs(found[name]) for name in NAMES[ENCODING.n_algorithms :] if name not in made) < 0.06


def test_of_what_was_never_tried_nothing_is_told() -> None:
    without = [c for c in CONFIGURATIONS if c.prediction.algorithm != "prediction3"]
    effects = main_effects(ENCODING, ENCODING.encode(without), np.arange(len(without), dtype=float))
    assert all(effect == 0 for name, effect in zip(NAMES, effects, strict=True) if "prediction3" in name)
