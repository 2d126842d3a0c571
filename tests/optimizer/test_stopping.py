"""When a search has found what it can."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.evaluation import History
from autoprog.optimizer import OptimizerOptions, Stop, make_optimizer
from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.mixture import Mixture
from autoprog.optimizer.observations import observe
from autoprog.optimizer.stopping import expected_regret
from autoprog.optimizer.surrogate_state import SurrogateState
from autoprog.space import Space
from tests.optimizer.toys import SHAPE, draw, history_of, toy_score, toy_space

SPACE = toy_space(((0, 1), (0, 2), (0, 1, 2, 2), (0, 0)))
OPTIONS = OptimizerOptions(subspaces=4)


def history_in(space: Space, n: int, fold_sd: float) -> History:
    configurations = draw(space, n, np.random.default_rng(1))
    score = toy_score(Encoding(space))
    return history_of(configurations, lambda i: score(configurations[i]), fold_sd=fold_sd)


def goes_on(history: History, stop: Stop, acquisition: str = "log_ei") -> bool:
    options = OptimizerOptions.of("default", {"subspaces": 4, "stop": stop, "acquisition": acquisition})
    optimizer = make_optimizer(SPACE, SHAPE, options)
    return bool(optimizer.propose(history, 5, 2, np.random.default_rng(0), {}).configurations)


@pytest.mark.parametrize("acquisition", ["log_ei", "ucb"])
def test_a_search_ends_where_scores_are_luck_and_goes_on_where_they_are_not(acquisition: str) -> None:
    configurations, luck = draw(SPACE, 40, np.random.default_rng(1)), np.random.default_rng(2).normal(0.8, 0.02, 40)
    loud, quiet = history_of(configurations, lambda i: float(luck[i]), fold_sd=0.05), history_in(SPACE, 20, 1e-4)
    assert goes_on(loud, "never", acquisition)
    assert not goes_on(loud, "improvement", acquisition)
    assert not goes_on(loud, "regret", acquisition)
    assert goes_on(quiet, "regret", acquisition)


@pytest.mark.parametrize("acquisition", ["log_ei", "ucb"])
def test_a_search_that_goes_on_proposes_what_it_would_without_the_rule(acquisition: str) -> None:
    history = history_in(SPACE, 20, 1e-4)
    proposed = []
    for stop in ("never", "regret"):
        options = OptimizerOptions.of("default", {"subspaces": 4, "stop": stop, "acquisition": acquisition})
        optimizer = make_optimizer(SPACE, SHAPE, options)
        proposed.append(optimizer.propose(history, 5, 2, np.random.default_rng(0), {}).configurations)
    assert proposed[0] == proposed[1]


def test_regret_is_left_wherever_a_single_improvement_is() -> None:
    """Knowing all gains at least as much as knowing one."""
    for sd in (0.003, 0.01, 0.03, 0.1):
        history = history_in(SPACE, 20, sd)
        assert goes_on(history, "regret") or not goes_on(history, "improvement")


def test_the_expected_regret_is_what_the_pick_lacks() -> None:
    f = np.array([[1.0, 3.0, 2.0], [5.0, 1.0, 2.0]])
    assert expected_regret(f) == pytest.approx((2.0 + 0.0) / 2)


def test_draws_have_the_moments_of_the_mixture() -> None:
    encoding, rng = Encoding(SPACE), np.random.default_rng(3)
    observations = observe(history_in(SPACE, 20, 0.02))
    assert observations is not None
    belief = SurrogateState.learn(encoding, OPTIONS, observations, {}, rng, {"prediction/prediction1": 0.7})
    belief.sweep(6, 4)
    mixture = Mixture(belief, belief.samples)
    points = encoding.encode(draw(SPACE, 12, rng))
    n = 40_000
    f = mixture.draws(points, n, rng)
    mean, sd = mixture.marginal(points)
    # Five standard errors.
    np.testing.assert_array_less(np.abs(f.mean(axis=0) - mean), 5 * sd / np.sqrt(n))
    np.testing.assert_allclose(f.std(axis=0), sd, rtol=0.05)
