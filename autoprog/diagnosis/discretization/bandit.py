"""One bandit over the candidate thresholds of a feature: its weights, gains and options.

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

The gain of a question with two answers, on a scale from 0 to 1.

========  ==========================================================================  ==========  =====
symbol    meaning                                                                     shape       unit
========  ==========================================================================  ==========  =====
J         number of groups                                                            scalar      1
w         beliefs over the groups, sum 1                                              (J,)        1
theta     P(yes | group), one column per question                                     (J, ...)    1
h(p)      binary entropy, -p log2 p - (1 - p) log2(1 - p)                             scalar      bit
lambda    base of exponential costs, above 1                                          scalar      1
alpha     1 / (1 + log2 lambda)                                                       scalar      1
========  ==========================================================================  ==========  =====

    information    I = h(sum_j w_j theta_j) - sum_j w_j h(theta_j)
    exponential    1 - (|w (1 - theta)|_alpha + |w theta|_alpha) / |w|_alpha,
                   |v|_alpha = (sum_j v_j^alpha)^(1 / alpha)
    realised       H(w) - H(w | answer), in [-log2 J, log2 J], mapped to [0, 1]
    cost-aware     (error before - error after) - lambda c, in [-1 - largest lambda c, 1], mapped to [0, 1]

With theta_j the share of a group that answers yes, 1 - I is the criterion of group identification, and the exponential
gain is 1 minus the ratio that the exponential costs minimise: thresholds are learnt by the criterion that chooses the
question.

References
----------
Auer, Cesa-Bianchi, Freund & Schapire 2002, SIAM Journal on Computing 32:48 (Exp3, with mixing); Bubeck & Cesa-Bianchi
2012, Foundations and Trends in Machine Learning 5(1), section 3.1 (losses, the anytime rate); Freund & Schapire 1997,
Journal of Computer and System Sciences 55:119 (Hedge).
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459 (group identification, exponential
costs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from autoprog.errors import Fault, InvalidInputError


def coin_entropy(p: _Floats) -> _Floats:
    """h(p) in bits; 0 for p = 0 and 1."""
    entropy: _Floats = (entr(p) + entr(1.0 - p)) / np.log(2.0)
    return entropy


def expected_information(w: _Floats, theta: _Floats) -> _Floats:
    """Compute the expected information of questions on the group.

    Parameters
    ----------
    w : ndarray, shape = (J,)
        Beliefs over the groups, summing to 1.
    theta : ndarray, shape = (J, ...)
        P(yes | group), one column per question.

    Returns
    -------
    ndarray, shape = (...)
        I, bits, in [0, 1].
    """
    information = coin_entropy(np.tensordot(w, theta, 1)) - np.tensordot(w, coin_entropy(theta), 1)
    return np.clip(information, 0.0, 1.0)  # rounding can leave -1e-17


def exponential_gain(w: _Floats, theta: _Floats, base: float) -> _Floats:
    """Compute the exponential gain of questions on the group.

    Parameters
    ----------
    w : ndarray, shape = (J,)
        Beliefs over the groups, summing to 1.
    theta : ndarray, shape = (J, ...)
        P(yes | group), one column per question.
    base : float
        lambda, finite and above 1.

    Returns
    -------
    ndarray, shape = (...)
        In [0, 1).

    Raises
    ------
    InvalidInputError
        If the base is out of range.
    """
    if not (np.isfinite(base) and base > 1):
        raise InvalidInputError([Fault("/base", f"must be finite and above 1, not {base}")])
    alpha = 1.0 / (1.0 + np.log2(base))
    columns = w.reshape(-1, *[1] * (theta.ndim - 1))
    whole = _log_norm(w, alpha)
    children = np.logaddexp(_log_norm(columns * (1.0 - theta), alpha), _log_norm(columns * theta, alpha))
    return np.clip(-np.expm1(children - whole), 0.0, 1.0)


def _log_norm(v: _Floats, alpha: float) -> _Floats:
    """Logarithm of |v|_alpha along the first axis; -inf where v is 0."""
    with np.errstate(divide="ignore"):
        norm: _Floats = np.logaddexp.reduce(alpha * np.log(v), axis=0) / alpha
    return norm


def realised_gain(before: _Floats, after: _Floats) -> float:
    """Compute the realised gain of an answer.

    Parameters
    ----------
    before, after : ndarray, shape = (J,)
        Beliefs before and after it, each summing to 1.

    Returns
    -------
    float
        Fall of the entropy, mapped to [0, 1]; 1/2 for no fall or a single group.
    """
    most = np.log2(len(before))
    if most == 0:
        return 0.5
    return float((_entropy(before) - _entropy(after) + most) / (2 * most))


def _entropy(w: _Floats) -> float:
    return float(entr(w).sum() / np.log(2.0))


def cost_aware_gain(error_before: float, error_after: float, scaled_cost: float, largest_cost: float) -> float:
    """Fall of the error by a test minus its cost, mapped to [0, 1]; needs labels.

    Parameters
    ----------
    error_before, error_after : float
        Error, or its rate, without and with the test, in [0, 1].
    scaled_cost, largest_cost : float
        lambda c of this test and of the dearest one; finite, at least 0.

    Returns
    -------
    float
        (Delta + 1 + largest) / (2 + largest), Delta = error before - error after - lambda c.

    Raises
    ------
    InvalidInputError
        If a value is outside its range.
    """
    faults: list[Fault] = []
    for name, error in (("error_before", error_before), ("error_after", error_after)):
        if not 0 <= error <= 1:
            faults.append(Fault(f"/{name}", f"must lie in [0, 1], not {error}"))
    if not (np.isfinite(largest_cost) and largest_cost >= 0):
        faults.append(Fault("/largest_cost", f"must be finite and at least 0, not {largest_cost}"))
    elif not 0 <= scaled_cost <= largest_cost:
        faults.append(Fault("/scaled_cost", f"must lie between 0 and the largest, {largest_cost}, not {scaled_cost}"))
    if faults:
        raise InvalidInputError(faults)
    # the same map for all tests: one that depended on the test's own cost would cancel it
    delta = error_before - error_after - scaled_cost
    return float((delta + 1.0 + largest_cost) / (2.0 + largest_cost))


Form = Literal["loss", "gain", "mixed", "hedge"]
FORMS: tuple[Form, ...] = get_args(Form)
_FLOOR = 1e-6  # without any mixing, a probability that has become 0 stays 0


@dataclass(frozen=True, slots=True)
class BanditOptions:
    """Form, learning rate and exploration of one bandit.

    Attributes
    ----------
    form : {"loss", "gain", "mixed", "hedge"}
        `loss` is safe without exploration. `gain` is as published; it can favour an arm that was lucky early for ever.
        `mixed` is `gain` with exploration. `hedge` learns from the gains of all arms.
    rate : float or None
        Fixed learning rate, above 0. None: sqrt(2 ln K / (n K)), for `hedge` sqrt(2 ln K / n), if `queries` is given;
        otherwise it falls with the queries so far.
    queries : int or None
        Number n of queries to come, if known.
    mixing : float or None
        Share of uniform draws, in [0, 1]; None is eta K for `mixed`, else 0.
    floor : float or None
        Minimum mixing, in [0, 1]; None is 1e-6, or 0 for `gain`, as published.

    Raises
    ------
    InvalidInputError
        If an option is outside its range; names every fault.
    """

    form: Form = "loss"
    rate: float | None = None
    queries: int | None = None
    mixing: float | None = None
    floor: float | None = None

    def __post_init__(self) -> None:
        faults: list[Fault] = []
        if self.form not in FORMS:
            faults.append(Fault("/form", f"must be one of {', '.join(FORMS)}, not {self.form!r}"))
        if self.rate is not None and not (np.isfinite(self.rate) and self.rate > 0):
            faults.append(Fault("/rate", f"must be finite and above 0, not {self.rate}"))
        if self.queries is not None and self.queries < 1:
            faults.append(Fault("/queries", f"must be at least 1, not {self.queries}"))
        if self.mixing is not None and not 0 <= self.mixing <= 1:
            faults.append(Fault("/mixing", f"must lie in [0, 1], not {self.mixing}"))
        if self.floor is not None and not 0 <= self.floor <= 1:
            faults.append(Fault("/floor", f"must lie in [0, 1], not {self.floor}"))
        if faults:
            raise InvalidInputError(faults)

    def rate_at(self, K: int, n: int) -> float:
        """eta of a bandit of K arms after n queries; 0 for a single arm unless a rate was given."""
        if self.rate is not None:
            return self.rate
        # If all gains are known, no estimate has a variance that grows with the number of arms.
        arms = 1 if self.form == "hedge" else K
        if self.queries is not None:
            return float(np.sqrt(2 * np.log(K) / (self.queries * arms)))
        return float(np.sqrt(np.log(K) / (max(1, n) * arms)))

    def mixing_at(self, K: int, eta: float) -> float:
        """Share of uniform draws of a bandit of K arms at this rate, in [0, 1]."""
        floor = self.floor if self.floor is not None else 0.0 if self.form == "gain" else _FLOOR
        if self.mixing is not None:
            return max(self.mixing, floor)
        return max(min(1.0, eta * K), floor) if self.form == "mixed" else floor

    def to_json(self) -> dict[str, Any]:
        """Return the options as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Restore options from `to_json`."""
        return cls(**document)


def probabilities(S: _Floats, eta: float, gamma: float) -> _Floats:
    """Compute the probabilities of the next draw.

    Parameters
    ----------
    S : ndarray, shape = (..., K)
        Scores, finite.
    eta : float
        Learning rate, at least 0.
    gamma : float
        Mixing, in [0, 1].

    Returns
    -------
    ndarray, shape = (..., K)
        P, at least gamma / K, summing to 1 along the last axis.
    """
    weights = np.exp(eta * (S - S.max(axis=-1, keepdims=True)))
    softmax = weights / weights.sum(axis=-1, keepdims=True)
    mixed: _Floats = (1.0 - gamma) * softmax + gamma / S.shape[-1]
    return mixed


def draw_arms(P: _Floats, uniforms: _Floats) -> NDArray[np.intp]:
    """Draw arms by inverting their distribution.

    Parameters
    ----------
    P : ndarray, shape = (..., K)
        Probabilities along the last axis.
    uniforms : ndarray, shape = (...)
        Uniform draws on [0, 1).

    Returns
    -------
    ndarray of int, shape = (...)
        B, from 0; none has probability 0.
    """
    cumulative = P.cumsum(axis=-1)
    # Scaled by the rounded sum, so that the last arm with positive probability ends exactly at the largest value.
    targets = uniforms * cumulative[..., -1]
    arms: NDArray[np.intp] = (cumulative <= targets[..., None]).sum(axis=-1)
    return arms


def update_scores(form: Form, S: _Floats, B: NDArray[np.intp], D: _Floats, p: _Floats) -> _Floats:
    """Add the gains of drawn arms to the scores, weighted by the inverse of their probability.

    Parameters
    ----------
    form : {"loss", "gain", "mixed"}
    S : ndarray, shape = (..., K)
        Scores before.
    B : ndarray of int, shape = (...)
        Arms drawn.
    D, p : ndarray, shape = (...)
        Their gains in [0, 1], and the probabilities at which they were drawn, above 0.

    Returns
    -------
    ndarray, shape = (..., K)
        Scores after.
    """
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
        return int(draw_arms(self.probabilities, np.asarray(rng.random())))

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

    def __init__(self, n_arms: int, options: BanditOptions = BanditOptions()) -> None:
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
        self.S = update_scores(self.options.form, self.S, np.asarray(arm), D, np.asarray(p))
        self.queries += 1


class Hedge(ExponentialWeights):
    """Exponential weights that see the gains of all arms, at K evaluations of the gain per update; form `hedge`."""

    def __init__(self, n_arms: int, options: BanditOptions = BanditOptions("hedge")) -> None:
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


def make_bandit(n_arms: int, options: BanditOptions = BanditOptions()) -> Exp3 | Hedge:
    """Make the bandit for `options.form`."""
    return Hedge(n_arms, options) if options.form == "hedge" else Exp3(n_arms, options)


def bandit_from_json(document: Mapping[str, Any]) -> Exp3 | Hedge:
    """Restore a bandit from `to_json`."""
    return Hedge.from_json(document) if document["options"]["form"] == "hedge" else Exp3.from_json(document)
