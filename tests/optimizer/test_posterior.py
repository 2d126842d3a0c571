"""What a posterior says of other gains than those observed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autoprog.evaluation import History, Status
from autoprog.optimizer import OptimizerOptions, Posterior, make_optimizer
from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.kernel import KernelParameters
from autoprog.optimizer.observations import observe
from autoprog.optimizer.surrogate import Surrogate
from autoprog.performance import METRICS
from tests.optimizer.toys import SHAPE, draw, history_of, toy_space

SPACE = toy_space(((0,), (1,), (1, 2), (0,)))
SCORES = [None if i % 5 == 4 else 0.6 + 0.02 * (i % 6) for i in range(15)]


def history() -> History:
    """Failures and one that was raced out among them."""
    made = history_of(draw(SPACE, len(SCORES), np.random.default_rng(0)), SCORES.__getitem__)
    lost = replace(made.evaluations[7], status=Status.RACED_OUT, score=None, risks=None, fold_scores=(0.6, 0.6))
    return History(made.metric, (*made.evaluations[:7], lost, *made.evaluations[8:]))


def posterior(scored: History) -> Posterior:
    optimizer = make_optimizer(SPACE, SHAPE, OptimizerOptions(subspaces=3))
    return optimizer.posterior(scored, np.random.default_rng(0), {})


def test_a_smoother_makes_the_surrogates_mean_of_any_observations() -> None:
    encoding, rng = Encoding(SPACE), np.random.default_rng(1)
    points, others = (encoding.encode(draw(SPACE, n, rng)) for n in (12, 5))
    labels = rng.integers(0, 3, encoding.n_algorithms)
    parameters = KernelParameters(1.2, 0.5, 0.1, 0.75)

    def surrogate(y: np.ndarray) -> Surrogate:
        return Surrogate(points, y, labels, 3, owner=encoding.owner, parameters=parameters)

    smoother = surrogate(rng.normal(size=12)).smoother(others)
    y = rng.normal(size=12)
    np.testing.assert_allclose(smoother @ y, surrogate(y).joint(others)[0], rtol=0, atol=1e-12)


def test_given_the_gains_that_were_observed_the_means_are_the_posteriors() -> None:
    scored = history()
    known = posterior(scored)
    np.testing.assert_allclose(known.means_given(scored.gains()[None])[0], known.means, rtol=0, atol=1e-9)


def test_given_other_gains_the_means_are_those_of_their_observations() -> None:
    scored = history()
    known = posterior(scored)
    rng = np.random.default_rng(2)
    gains = 0.6 + 0.2 * rng.random((2, len(scored.succeeded)))
    found = known.means_given(gains)
    assert found.shape == (2, len(known.decompositions), len(known.numbers))
    observed = observe(scored)
    assert observed is not None
    for means, of_gains in zip(found, observed.revised(gains), strict=True):
        np.testing.assert_allclose(means, known.smoothers @ of_gains, rtol=0, atol=1e-12)


def test_neither_the_level_of_the_gains_nor_the_direction_of_the_metric_matters() -> None:
    scored = history()
    known = posterior(scored)
    gains = scored.gains()[None]
    np.testing.assert_allclose(known.means_given(gains + 0.1), known.means_given(gains), rtol=0, atol=1e-9)
    loss = History(METRICS["brier"], scored.evaluations)
    turned = posterior(loss)
    np.testing.assert_allclose(turned.means_given(-gains)[0], turned.means, rtol=0, atol=1e-9)
