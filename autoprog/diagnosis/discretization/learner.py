"""Learning where to cut each feature while learning which feature to ask for.

    tau[i, k]     candidate thresholds of feature i, ascending                            (K_i,)
    theta         P(X_i > tau_ik | group), drawn from its posterior at every step         (J, K_i)
    w             beliefs over the groups                                                 (J,)
    D[i, k]       gain of asking whether X_i > tau_ik, in [0, 1]                          scalar

At every step each available feature draws a threshold from its own bandit, and theta from its posterior. With feature
selection the feature with the largest D is asked for, and its bandit alone learns D; without, all are asked for and all
learn. The exhaustive learner has no bandits: it takes the best of all thresholds of all features.

Many simulated runs of a bandit at once, to compare forms and rates.

    m         mean gain of every arm                                   (K,)
    R, T      runs, rounds
    regret    sum_t max_k m_k - m_{B_t}                                (R,)

Symbols of the bandit as in `autoprog.diagnosis.discretization.bandit`.

References
----------
Learning Feature Discretizations (algorithm 1, by default with losses in place of the printed gains).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.discretization.bandit import (
    BanditOptions,
    Exp3,
    Hedge,
    bandit_from_json,
    draw_arms,
    expected_information,
    make_bandit,
    probabilities,
    update_scores,
)
from autoprog.diagnosis.discretization.posterior import ThetaPosterior
from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]
Gain = Callable[[_Floats, _Floats], _Floats]
Choice = Literal["bandit", "exhaustive"]


@dataclass(frozen=True, eq=False)
class Question:
    """A feature at one of its thresholds."""

    feature: int
    arm: int  # index of the threshold
    threshold: float  # the answer is yes if the measurement is above it
    gain: float  # D, in [0, 1]
    probability: float  # P(arm) when it was drawn; 1 for the exhaustive learner
    all_gains: _Floats | None = None  # D of every threshold, if evaluated, shape (K_i,)


class ThresholdLearner:
    """Bandits and posteriors of all features.

    Parameters
    ----------
    thresholds : sequence of ndarray
        Candidates of every feature; a feature without any is never asked for.
    n_groups : int
        J, at least 1.
    options : BanditOptions
    gain : callable (ndarray, shape = (J,); ndarray, shape = (J, K)) -> ndarray, shape = (K,)
        D from beliefs and theta; the expected information by default.
    choice : {"bandit", "exhaustive"}
        How the threshold is chosen.
    prior : (float, float)
        Beta prior of every theta, each from 1e-100 to 1e100.

    Raises
    ------
    InvalidInputError
        If no feature has a threshold.
    """

    def __init__(
        self,
        thresholds: Sequence[_Floats],
        n_groups: int,
        *,
        options: BanditOptions = BanditOptions(),  # noqa: B008  frozen
        gain: Gain = expected_information,
        choice: Choice = "bandit",
        prior: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        usable = [i for i, tau in enumerate(thresholds) if len(tau)]
        if not usable:
            raise InvalidInputError([Fault("/thresholds", "every feature is constant: there is nothing to ask for")])
        self.gain = gain
        self.choice = choice
        self.n_features = len(thresholds)
        self.posteriors = {i: ThetaPosterior(thresholds[i], n_groups, prior) for i in usable}
        self.bandits: dict[int, Exp3 | Hedge] = {i: make_bandit(len(thresholds[i]), options) for i in usable}

    def ask(
        self, w: _Floats, rng: np.random.Generator, *, available: Sequence[int] | None = None, select: bool = True
    ) -> tuple[Question, ...]:
        """Choose the question with the largest gain, or without `select` one per available feature (default all)."""
        # a feature whose measurement is missing must not be available
        candidates = self.posteriors if available is None else [i for i in available if i in self.posteriors]
        questions = [self._question(i, w, rng) for i in candidates]
        if select and questions:
            questions = [max(questions, key=lambda question: question.gain)]
        return tuple(questions)

    def _question(self, i: int, w: _Floats, rng: np.random.Generator) -> Question:
        posterior, bandit = self.posteriors[i], self.bandits[i]
        if self.choice == "exhaustive":
            gains = self.gain(w, posterior.draw(rng))
            arm = int(np.argmax(gains))
            return Question(i, arm, float(posterior.thresholds[arm]), float(gains[arm]), 1.0, gains)
        arm = bandit.draw(rng)
        probability = float(bandit.probabilities[arm])
        threshold = float(posterior.thresholds[arm])
        if isinstance(bandit, Hedge):
            gains = self.gain(w, posterior.draw(rng))
            return Question(i, arm, threshold, float(gains[arm]), probability, gains)
        gain = float(self.gain(w, posterior.draw(rng, arm)[:, None])[0])
        return Question(i, arm, threshold, gain, probability)

    def reward(self, question: Question, gain: float | None = None) -> None:
        """Let the bandit of an answered question learn its gain, or `gain` in [0, 1] if known only from the answer."""
        if self.choice == "exhaustive":
            return
        bandit = self.bandits[question.feature]
        if isinstance(bandit, Hedge):
            if question.all_gains is None or gain is not None:
                raise InvalidInputError([Fault("/gain", "hedge learns from the gains of all thresholds, not of one")])
            bandit.update_all(question.all_gains)
        else:
            bandit.update(question.arm, question.gain if gain is None else gain, question.probability)

    def learn(self, values: _Floats, group: int) -> None:
        """Learn the measurements (NaN where missing), shape (n_features,), of a case with a known group, from 0."""
        for i, posterior in self.posteriors.items():
            posterior.update(float(values[i]), group)

    def beliefs_after(self, w: _Floats, question: Question, *, answer: bool) -> _Floats:
        """Beliefs after an answer, shape (J,), summing to 1, by the posterior means of theta."""
        joint = w * self.posteriors[question.feature].chance(question.arm, answer=answer)
        after: _Floats = joint / joint.sum()
        return after

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object, without the gain, which is code."""
        features = {
            str(i): {"posterior": self.posteriors[i].to_json(), "bandit": self.bandits[i].to_json()}
            for i in self.posteriors
        }
        return {"n_features": self.n_features, "choice": self.choice, "features": features}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], gain: Gain = expected_information) -> Self:
        """Restore a learner from `to_json`; `gain` must be the one it was made with."""
        posteriors = {int(i): ThetaPosterior.from_json(f["posterior"]) for i, f in document["features"].items()}
        thresholds = [
            posteriors[i].thresholds if i in posteriors else np.empty(0) for i in range(document["n_features"])
        ]
        n_groups = len(next(iter(posteriors.values())).ones)
        learner = cls(thresholds, n_groups, gain=gain, choice=document["choice"])
        learner.posteriors = posteriors
        learner.bandits = {int(i): bandit_from_json(f["bandit"]) for i, f in document["features"].items()}
        return learner


def candidate_thresholds(x: NDArray[np.floating], K: int) -> NDArray[np.float64]:
    """Interior quantiles of a feature, at k / (K + 1).

    Parameters
    ----------
    x : ndarray, shape = (n,)
        Observed values; NaN is left out.
    K : int
        Maximum number of thresholds, at least 1.

    Returns
    -------
    ndarray, shape = (at most K,)
        Ascending; fewer than K where quantiles divide the values alike or equal the largest value. If all equal it, the
        next smaller value. Empty for a feature that is constant or never observed: skip it.

    Raises
    ------
    InvalidInputError
        If K is below 1 or a value is infinite.
    """
    faults: list[Fault] = []
    if K < 1:
        faults.append(Fault("/thresholds", f"at least one threshold is needed, not {K}"))
    if np.isinf(x).any():
        faults.append(Fault("/values", f"{int(np.isinf(x).sum())} values are infinite"))
    if faults:
        raise InvalidInputError(faults)
    seen = np.asarray(x[~np.isnan(x)], dtype=np.float64)
    if not seen.size:
        return np.empty(0)
    quantiles = np.quantile(seen, np.arange(1, K + 1) / (K + 1))
    # No value exceeds the largest, and two quantiles between the same two values are one question.
    quantiles = quantiles[quantiles < seen.max()]
    _, first = np.unique(np.searchsorted(np.sort(seen), quantiles, side="right"), return_index=True)
    distinct: NDArray[np.float64] = quantiles[first]
    return distinct if distinct.size else np.unique(seen[seen < seen.max()])[-1:]


@dataclass(frozen=True, eq=False)
class Runs:
    """Result of simulated runs."""

    regret: NDArray[np.float64]  # pseudo-regret at the end, shape (R,)
    probabilities: NDArray[np.float64]  # of the next draw at the end, without the mixing, shape (R, K)

    def stuck(self, m: NDArray[np.float64]) -> int:
        """Number of runs that end by drawing a suboptimal arm at least nine times in ten."""
        wrong = np.delete(self.probabilities, int(np.argmax(m)), axis=1)
        return int((wrong.max(axis=1) >= 0.9).sum())


def simulate(m: NDArray[np.float64], options: BanditOptions, rounds: int, runs: int, rng: np.random.Generator) -> Runs:
    """Simulate runs of a bandit against independent Bernoulli gains.

    Parameters
    ----------
    m : ndarray, shape = (K,)
        Mean gain of each arm, in [0, 1].
    options : BanditOptions
    rounds, runs : int
        T and R, at least 1.
    rng : numpy.random.Generator

    Returns
    -------
    Runs
        Regrets and final probabilities.
    """
    K = len(m)
    S = np.zeros((runs, K))
    played = np.zeros((runs, K), dtype=np.int64)
    each = np.arange(runs)
    for n in range(rounds):
        eta = options.rate_at(K, n)
        P = probabilities(S, eta, options.mixing_at(K, eta))
        B = draw_arms(P, rng.random(runs))
        if options.form == "hedge":
            S += rng.random((runs, K)) < m
        else:
            D = (rng.random(runs) < m[B]).astype(np.float64)
            S = update_scores(options.form, S, B, D, P[each, B])
        played[each, B] += 1
    return Runs(played @ (m.max() - m), probabilities(S, options.rate_at(K, rounds), 0.0))
