from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from autoprog.optimizer.improvement import log_expected_improvement, log_h


@pytest.mark.parametrize(("mean", "sd"), [(0.2, 0.3), (-1.0, 0.5), (2.0, 0.1), (-2.0, 0.6)])
def test_it_is_the_logarithm_of_the_integral(mean: float, sd: float) -> None:
    best = 0.5
    integral, _ = quad(lambda f: (f - best) * norm.pdf(f, mean, sd), best, mean + 20 * sd, epsabs=0, epsrel=1e-11)
    value = log_expected_improvement(np.array([mean]), np.array([sd]), best)
    assert value[0] == pytest.approx(np.log(integral), abs=1e-8)


def test_it_is_finite_and_rises_over_forty_thousand_standard_deviations() -> None:
    z = np.concatenate([-np.logspace(4.6, -3, 4000), np.linspace(0, 30, 500)])
    values = log_h(z)
    assert np.isfinite(values).all()
    assert (np.diff(values) > 0).all()


# By mpmath with 60 digits: log(npdf(z) + z ncdf(z)), and its asymptotic series for the last two.
@pytest.mark.parametrize(
    ("z", "truth"),
    [
        (3.0, 1.0987396653277077),
        (0.0, -0.9189385332046728),
        (-0.9999, -2.484930602199176),
        (-1.0001, -2.485311456445883),
        (-5.0, -16.74430116266099),
        (-40.0, -808.29856835662),
        (-1000.0, -500014.73445209116),
        (-50000.0, -1250000022.558495),
    ],
)
def test_it_agrees_with_many_digits(z: float, truth: float) -> None:
    assert log_h(np.array([z]))[0] == pytest.approx(truth, rel=1e-13, abs=1e-13)


def test_what_is_certain_improves_by_its_difference_or_not_at_all() -> None:
    values = log_expected_improvement(np.array([1.0, 0.5, 0.2]), np.zeros(3), 0.5)
    assert values.tolist() == [np.log(0.5), -np.inf, -np.inf]
