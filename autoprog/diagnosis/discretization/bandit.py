"""One bandit over the candidate thresholds of a feature; symbols as in `autoprog.diagnosis.discretization.bandit`.

Exponential weights over arms: the mathematics of Exp3 and Hedge, for one bandit or many at once.

========  =====================================================================  ==========  ========
symbol    meaning                                                                shape       unit
========  =====================================================================  ==========  ========
K         number of arms, the candidate thresholds of a feature                  scalar      1
S         score of each arm, an estimate of its summed gain                      (..., K)    gain
eta       learning rate                                                          scalar      1 / gain
gamma     mixing, the share of draws that are uniform                            scalar      1
P         probability that an arm is drawn                                       (..., K)    1
B         the arm drawn                                                          (...)       1
D         gain of the arm drawn, or for Hedge of every arm, in [0, 1]            (...)       gain
========  =====================================================================  ==========  ========

    P = (1 - gamma) softmax(eta S) + gamma / K

    gain, mixed   S_B += D / P(B)                                E[change of S_k] = D_k
    loss          S_k += 1 for all k,  S_B -= (1 - D) / P(B)     E[change of S_k] = D_k
    hedge         S_k += D_k for all k

References
----------
Auer, Cesa-Bianchi, Freund & Schapire 2002, SIAM Journal on Computing 32:48 (Exp3, with mixing); Bubeck & Cesa-Bianchi
2012, Foundations and Trends in Machine Learning 5(1), section 3.1 (losses, the anytime rate); Freund & Schapire 1997,
Journal of Computer and System Sciences 55:119 (Hedge).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.discretization.options import BanditOptions, Form
from autoprog.errors import Fault, InvalidInputError


def probabilities(S: _Floats, eta: float, gamma: float) -> _Floats:
    """P, shape (..., K), from finite scores S of that shape, eta >= 0 and gamma in [0, 1]; at least gamma / K."""
    weights = np.exp(eta * (S - S.max(axis=-1, keepdims=True)))
    softmax = weights / weights.sum(axis=-1, keepdims=True)
    mixed: _Floats = (1.0 - gamma) * softmax + gamma / S.shape[-1]
    return mixed


def drawn(P: _Floats, uniforms: _Floats) -> NDArray[np.intp]:
    """Arms drawn by inversion of P, shape (..., K), at uniforms on [0, 1), shape (...); none has probability 0."""
    cumulative = P.cumsum(axis=-1)
    # Scaled by the rounded sum, so that the last arm with positive probability ends exactly at the largest value.
    targets = uniforms * cumulative[..., -1]
    arms: NDArray[np.intp] = (cumulative <= targets[..., None]).sum(axis=-1)
    return arms


def bandit_scores(form: Form, S: _Floats, B: NDArray[np.intp], D: _Floats, p: _Floats) -> _Floats:
    """Scores, shape (..., K), after gains D of arms B drawn with probability p > 0, for `loss`, `gain` or `mixed`."""
    change = np.zeros_like(S)
    at_B = (D - 1.0) / p if form == "loss" else D / p
    np.put_along_axis(change, B[..., None], at_B[..., None], axis=-1)
    return S + change + (1.0 if form == "loss" else 0.0)


_Floats = NDArray[np.float64]


class Bandit(Protocol):
    """Chooses among arms and learns from the gain of the arm drawn."""

    def draw(self, rng: np.random.Generator) -> int:
        """Draw an arm, from 0."""

    def update(self, arm: int, gain: float) -> None:
        """Learn the gain of a drawn arm."""


class ExponentialWeights:
    """Shared base of Exp3 and Hedge for K >= 1 arms: scores, their draw probabilities, and a JSON state."""

    def __init__(self, n_arms: int, options: BanditOptions) -> None:
        if n_arms < 1:
            raise InvalidInputError([Fault("/arms", f"a bandit needs at least one arm, not {n_arms}")])
        self.options = options
        self.S: _Floats = np.zeros(n_arms)
        self.queries = 0  # number of updates
        self.clipped = 0  # updates with a gain outside [0, 1], for which no regret bound is known

    @property
    def n_arms(self) -> int:
        """Number of arms, K."""
        return len(self.S)

    @property
    def probabilities(self) -> _Floats:
        """P, the probabilities of the next draw."""
        eta = self.options.rate_at(self.n_arms, self.queries)
        return probabilities(self.S, eta, self.options.mixing_at(self.n_arms, eta))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warning texts about clipped gains."""
        if not self.clipped:
            return ()
        return (f"{self.clipped} of {self.queries} gains lay outside [0, 1] and were clipped",)

    def draw(self, rng: np.random.Generator) -> int:
        """Draw B, from 0."""
        return int(drawn(self.probabilities, np.asarray(rng.random())))

    def _clip(self, gains: _Floats) -> _Floats:
        if not np.isfinite(gains).all():
            raise InvalidInputError([Fault("/gain", "a gain must be a finite number")])
        clipped = np.clip(gains, 0.0, 1.0)
        self.clipped += int((clipped != gains).any())
        return clipped

    def to_json(self) -> dict[str, Any]:
        """Return the whole state as a JSON object."""
        state = {"scores": self.S.tolist(), "queries": self.queries, "clipped": self.clipped}
        return {"options": self.options.to_json(), **state}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Restore a bandit from `to_json`."""
        bandit = cls(len(document["scores"]), BanditOptions.from_json(document["options"]))
        bandit.S = np.array(document["scores"], dtype=np.float64)
        bandit.queries, bandit.clipped = document["queries"], document["clipped"]
        return bandit


class Exp3(ExponentialWeights):
    """Exponential weights that see the gain of the drawn arm alone; forms `loss`, `gain` and `mixed`."""

    def __init__(self, n_arms: int, options: BanditOptions = BanditOptions()) -> None:  # noqa: B008  frozen
        if options.form == "hedge":
            raise InvalidInputError([Fault("/form", "hedge needs the gains of all arms; use Hedge")])
        super().__init__(n_arms, options)

    def update(self, arm: int, gain: float, probability: float | None = None) -> None:
        """Learn the gain of an arm drawn with `probability` (default: P now); gains are clipped to [0, 1]."""
        if not 0 <= arm < self.n_arms:
            raise InvalidInputError([Fault("/arm", f"must be one of 0 to {self.n_arms - 1}, not {arm}")])
        # P now is the P of the draw unless other updates came in between
        p = float(self.probabilities[arm]) if probability is None else probability
        if not 0 < p <= 1:
            raise InvalidInputError([Fault("/arm", f"arm {arm} has probability {p:g}: it cannot have been drawn")])
        D = self._clip(np.asarray(gain, dtype=np.float64))
        self.S = bandit_scores(self.options.form, self.S, np.asarray(arm), D, np.asarray(p))
        self.queries += 1


class Hedge(ExponentialWeights):
    """Exponential weights that see the gains of all arms, at K evaluations of the gain per update; form `hedge`."""

    def __init__(self, n_arms: int, options: BanditOptions = BanditOptions("hedge")) -> None:  # noqa: B008  frozen
        if options.form != "hedge":
            raise InvalidInputError([Fault("/form", f"Hedge has the form hedge, not {options.form}")])
        super().__init__(n_arms, options)

    def update_all(self, gains: Sequence[float] | _Floats) -> None:
        """Learn the finite gains of all K arms, in [0, 1]; values outside are clipped and counted."""
        D = np.asarray(gains, dtype=np.float64)
        if D.shape != self.S.shape:
            raise InvalidInputError([Fault("/gains", f"{self.n_arms} arms need as many gains, not {D.size}")])
        # a known measurement gives all its binarisations, and so the gains of all arms
        self.S = self.S + self._clip(D)
        self.queries += 1


def make_bandit(n_arms: int, options: BanditOptions = BanditOptions()) -> Exp3 | Hedge:  # noqa: B008  frozen
    """Make the bandit for `options.form`."""
    return Hedge(n_arms, options) if options.form == "hedge" else Exp3(n_arms, options)


def bandit_from_json(document: Mapping[str, Any]) -> Exp3 | Hedge:
    """Restore a bandit from `to_json`."""
    return Hedge.from_json(document) if document["options"]["form"] == "hedge" else Exp3.from_json(document)
