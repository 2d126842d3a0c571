"""Table of the rules that make an ensemble of explored pipelines.

A rule gives weights, and the weights for patients counted otherwise, which the correction for optimism needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from autoprog.ensemble.ensemble import Ensemble, Scale, WeighedPipeline
from autoprog.ensemble.model_averaging import RevisedWeights, best_probabilities, thinned
from autoprog.ensemble.pseudo_bma import PseudoBma, temperature
from autoprog.ensemble.weights import greedy_weights, likeliest, pooled_weights, stacked_weights
from autoprog.evaluation import History
from autoprog.optimizer import Posterior
from autoprog.performance import compute_logit

EnsembleName = Literal["model_averaging", "pseudo_bma", "linear_pool", "blend", "greedy", "stacking", "best"]

# Best pipelines from which each ensemble is made: more add noise and little else.
_GREEDY_FROM, _STACKED_FROM, _POOLED_MOST = 50, 20, 25
# Patients with the rarer outcome at which both parts of a blend have equal shares.
_POOLED_HALF = 800

_Floats = NDArray[np.float64]
Choose = Callable[[NDArray[np.float32], _Floats], _Floats]
"""From how often each patient counts, (n, b), and the pipelines' resulting gains, (b, t), to weights, (b, t)."""


@dataclass(frozen=True, eq=False)
class KnownRisks:
    """Risks and known outcomes; with event times, one row per patient and time at which the outcome is known."""

    p: NDArray[np.float32]  # out-of-fold risks of the pipelines, (t, m)
    y: NDArray[np.int8]  # whether the outcome was seen, (m,)
    patient: NDArray[np.intp]  # (m,)
    weight: _Floats  # of inverse probability of censoring, 1 if the outcome has no time, (m,)


class Observed(Protocol):
    """Outcomes of patients, as rules that weigh pipelines need them."""

    @property
    def y(self) -> NDArray[Any]:
        """Outcomes, shape = (n,)."""
        ...

    def count_rarer(self) -> int:
        """Count the patients with the rarer outcome."""
        ...

    def seen(self) -> tuple[NDArray[np.int8], _Floats]:
        """Whether the outcome was seen, shape = (n,) or (n, n_times), and weights, 0 where that is unknown."""
        ...

    def probabilities(self, P: NDArray[np.floating[Any]]) -> _Floats:
        """Probability that risks, shape = (t, n) or (t, n, n_times), gave to each patient's outcome, shape = (t, n)."""
        ...


@dataclass(frozen=True)
class Candidates:
    """Pipelines from which an ensemble is chosen."""

    history: History
    posterior: Posterior | None  # of the succeeded evaluations; None for a rule that does not need it
    observed: Observed  # outcomes of the evaluated patients
    chosen_before: Collection[int] = ()  # numbers of those chosen before any score was seen, and so not by luck

    @property
    def before(self) -> NDArray[np.bool_]:
        """Which pipelines were chosen before any score was seen, shape = (t,)."""
        return np.array([number in self.chosen_before for number in self.numbers])

    @property
    def rarer(self) -> int:
        """Patients with the rarer outcome or, with event times, with the event; at least 1."""
        return max(1, self.observed.count_rarer())

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The t evaluations to choose from; in a very long history the posterior holds the best and the latest."""
        return tuple(e.number for e in self.history.succeeded) if self.posterior is None else self.posterior.numbers

    @property
    def known_posterior(self) -> Posterior:
        """Posterior, or ValueError if there is none."""
        if self.posterior is None:
            msg = "this rule asks for the posterior of the gains"
            raise ValueError(msg)
        return self.posterior

    @cached_property
    def risks(self) -> NDArray[np.float32]:
        """Out-of-fold risks, shape = (t, n) or (t, n, n_times)."""
        by_number = {e.number: e.risks for e in self.history.succeeded}
        return np.array([by_number[number] for number in self.numbers], dtype=np.float32)

    @cached_property
    def known(self) -> KnownRisks:
        """Risks and outcomes, for rules that compare them."""
        seen, w = self.observed.seen()
        known = w > 0
        return KnownRisks(self.risks[:, known], seen[known], np.nonzero(known)[0], w[known])

    @cached_property
    def probabilities(self) -> _Floats:
        """Probability that each pipeline gave to each patient's outcome, shape = (t, n)."""
        return self.observed.probabilities(self.risks)

    @cached_property
    def gains(self) -> _Floats:
        """Cross-validated scores, more is better, shape = (t,)."""
        by_number = dict(zip((e.number for e in self.history.succeeded), self.history.gains(), strict=True))
        return np.array([by_number[number] for number in self.numbers])

    def ensemble(self, weights: _Floats, scale: Scale) -> Ensemble:
        """Ensemble of the pipelines with these weights, the heaviest first, the earliest among equals."""
        by_number = {e.number: e for e in self.history.succeeded}
        heaviest = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights)]
        chosen = [(float(weights[i]), by_number[self.numbers[i]]) for i in heaviest]
        members = (
            WeighedPipeline(w, e.number, e.configuration, float(e.score)) for w, e in chosen if e.score is not None
        )
        return Ensemble(tuple(members), scale)


class WeighingRule(Protocol):
    """Rule that weighs pipelines; `asks_for_posterior` says whether it needs the optimiser's posterior."""

    name: EnsembleName
    asks_for_posterior: bool

    def weigh(self, candidates: Candidates, rng: np.random.Generator) -> Ensemble:
        """Make the ensemble to deliver."""

    def reweigh(self, candidates: Candidates, rng: np.random.Generator) -> Choose:
        """Make a function that weighs the pipelines again for other counts of the patients."""


class ModelAveraging:
    """Weights by the probability to be the best; see `autoprog.ensemble.model_averaging`."""

    name: EnsembleName = "model_averaging"
    asks_for_posterior = True

    def weigh(self, candidates: Candidates, rng: np.random.Generator) -> Ensemble:
        """Apply eq. 9."""
        posterior = candidates.known_posterior
        return candidates.ensemble(thinned(best_probabilities(posterior.means, posterior.covariances, rng)), "risk")

    def reweigh(self, candidates: Candidates, rng: np.random.Generator) -> Choose:
        """Apply eq. 9 again, with the same kernel and decompositions."""
        revised = RevisedWeights(candidates.known_posterior, rng)
        return lambda _, gains: revised(gains)


class Best:
    """The one pipeline with the largest posterior mean, which luck inflates less than the largest score."""

    name: EnsembleName = "best"
    asks_for_posterior = True

    def weigh(self, candidates: Candidates, rng: np.random.Generator) -> Ensemble:  # noqa: ARG002  the rules' signature
        """Give one pipeline all the weight."""
        return candidates.ensemble(_one(candidates.known_posterior.means.mean(axis=0)), "risk")

    def reweigh(self, candidates: Candidates, rng: np.random.Generator) -> Choose:  # noqa: ARG002  the rules' signature
        """Give the weight to the largest posterior mean for other gains."""
        return lambda _, gains: np.array([_one(m) for m in candidates.known_posterior.means_given(gains).mean(axis=1)])


class PseudoBmaWeights:
    """Weights by log scores; see `autoprog.ensemble.pseudo_bma`."""

    name: EnsembleName = "pseudo_bma"
    asks_for_posterior = False

    def weigh(self, candidates: Candidates, rng: np.random.Generator) -> Ensemble:
        """Weigh by all patients."""
        return candidates.ensemble(thinned(_pseudo_bma(candidates, rng)(np.ones(len(candidates.observed.y)))), "risk")

    def reweigh(self, candidates: Candidates, rng: np.random.Generator) -> Choose:
        """Weigh by the patients drawn."""
        weigh = _pseudo_bma(candidates, rng)
        return lambda c, _: np.array([thinned(weigh(counts.astype(np.float64))) for counts in c.T])


class LinearPool:
    """The average with the highest likelihood; see `autoprog.ensemble.weights`."""

    name: EnsembleName = "linear_pool"
    asks_for_posterior = False

    def weigh(self, candidates: Candidates, rng: np.random.Generator) -> Ensemble:  # noqa: ARG002  the rules' signature
        """Weigh by all patients."""
        everybody = np.ones(len(candidates.observed.y))
        return candidates.ensemble(self._weights(candidates.probabilities, everybody), "risk")

    def reweigh(self, candidates: Candidates, rng: np.random.Generator) -> Choose:  # noqa: ARG002  the rules' signature
        """Weigh by the patients drawn."""
        return lambda c, _: np.array(
            [self._weights(candidates.probabilities, counts.astype(np.float64)) for counts in c.T]
        )

    def _weights(self, q: _Floats, c: _Floats) -> _Floats:
        best = likeliest(q, c, _POOLED_MOST)
        return _placed(best, pooled_weights(q[best], c), len(q))


class Blend:
    """Mixture of `LinearPool`, with share r / (r + 800) for r patients with the rarer outcome, and pseudo-BMA."""

    name: EnsembleName = "blend"
    asks_for_posterior = False

    def weigh(self, candidates: Candidates, rng: np.random.Generator) -> Ensemble:
        """Weigh by all patients."""
        (weights,) = self.reweigh(candidates, rng)(
            np.ones((len(candidates.observed.y), 1), dtype=np.float32), np.empty((1, 0))
        )
        return candidates.ensemble(weights, "risk")

    def reweigh(self, candidates: Candidates, rng: np.random.Generator) -> Choose:
        """Weigh both by the patients drawn."""
        # The pool is sharper, and needs many patients; weights by log scores are steadier.
        steady, sharp = PseudoBmaWeights().reweigh(candidates, rng), LinearPool().reweigh(candidates, rng)
        share = candidates.rarer / (candidates.rarer + _POOLED_HALF)
        return lambda c, gains: np.array(
            [
                thinned((1 - share) * w + share * pooled)
                for w, pooled in zip(steady(c, gains), sharp(c, gains), strict=True)
            ]
        )


class Greedy:
    """Greedy selection with bagging by Caruana et al.; see `autoprog.ensemble.weights`."""

    name: EnsembleName = "greedy"
    asks_for_posterior = False

    def weigh(self, candidates: Candidates, rng: np.random.Generator) -> Ensemble:
        """Weigh by all patients."""
        everybody = np.ones(len(candidates.observed.y), dtype=np.float32)
        return candidates.ensemble(self._weights(candidates, everybody, candidates.gains, rng), "risk")

    def reweigh(self, candidates: Candidates, rng: np.random.Generator) -> Choose:
        """Weigh by the patients drawn."""
        return lambda c, gains: np.array(
            [self._weights(candidates, counts, g, rng) for counts, g in zip(c.T, gains, strict=True)]
        )

    def _weights(
        self, candidates: Candidates, c: NDArray[np.float32], gains: _Floats, rng: np.random.Generator
    ) -> _Floats:
        best = np.argsort(-gains, kind="stable")[:_GREEDY_FROM]
        known = candidates.known
        weights = greedy_weights(known.p[best], known.y, c[known.patient] * known.weight, rng)
        return _placed(best, weights, len(gains))


class Stacking:
    """Logistic combination of log odds; see `autoprog.ensemble.weights`."""

    name: EnsembleName = "stacking"
    asks_for_posterior = False

    def weigh(self, candidates: Candidates, rng: np.random.Generator) -> Ensemble:  # noqa: ARG002  the rules' signature
        """Weigh by all patients."""
        everybody = np.ones(len(candidates.observed.y), dtype=np.float32)
        x = compute_logit(candidates.known.p)
        return candidates.ensemble(self._weights(x, candidates.known, everybody, candidates.gains), "log_odds")

    def reweigh(self, candidates: Candidates, rng: np.random.Generator) -> Choose:  # noqa: ARG002  the rules' signature
        """Weigh by the patients drawn."""
        x = compute_logit(candidates.known.p)
        return lambda c, gains: np.array(
            [self._weights(x, candidates.known, counts, g) for counts, g in zip(c.T, gains, strict=True)]
        )

    def _weights(self, x: _Floats, known: KnownRisks, c: NDArray[np.float32], gains: _Floats) -> _Floats:
        best = np.argsort(-gains, kind="stable")[:_STACKED_FROM]
        counts = c[known.patient] * known.weight
        counted = counts > 0
        weights = stacked_weights(x[np.ix_(best, counted)], known.y[counted], counts[counted])
        return _placed(best, weights, len(gains))


WEIGHING_RULES: dict[EnsembleName, WeighingRule] = {
    rule.name: rule
    for rule in (ModelAveraging(), PseudoBmaWeights(), LinearPool(), Blend(), Greedy(), Stacking(), Best())
}


def _pseudo_bma(candidates: Candidates, rng: np.random.Generator) -> PseudoBma:
    return PseudoBma(np.log(candidates.probabilities), rng, temperature(candidates.rarer), candidates.before)


def _one(gains: _Floats) -> _Floats:
    weights = np.zeros(len(gains))
    weights[np.argmax(gains)] = 1.0
    return weights


def _placed(places: NDArray[np.intp], weights: _Floats, t: int) -> _Floats:
    """Weights of some pipelines among all t, thinned."""
    placed = np.zeros(t)
    placed[places] = weights
    return thinned(placed)
