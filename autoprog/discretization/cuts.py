"""Where to cut measurements, learnt from a stream of values with known outcomes, and how sure that is.

========  ====================================================================================  ==============
symbol    meaning                                                                               shape
========  ====================================================================================  ==============
J         labels, the outcomes                                                                  scalar
tau_k     candidate thresholds of a feature, ascending                                          (K,)
w         (1 + cases of each label) / (J + cases)                                               (J,)
n_jb      cases of label j whose value lies in bin b: up to tau_0, ..., above tau_(K-1)         (J, K + 1)
theta     P(X > tau_k | label)                                                                  (J, K)
I_k       information that cutting at tau_k is expected to give, h(w theta_k) - w h(theta_k)    (K,)
========  ====================================================================================  ==============

A case is one step of algorithm 1: every measured feature draws a threshold from its own bandit, the one of the largest
gain is queried, its answer predicts the label, and then the label is learnt. In the form of the note only what was
queried is updated: one bandit, and the posterior of one feature; a threshold that tells little is then seldom seen to,
for it is seldom queried. The shared form updates the bandit of every feature that drew, each by the gain of its own
draw, which is an expectation and needs no answer, and the posterior of every feature that was measured.

How sure a cut is: the values of one feature fall into bins, and theta of all its thresholds is drawn together, from
Dirichlet laws of the bins, prior mass (a0 + b0) / (K + 1) a bin. The cut is the threshold that most often has the
largest I; its interval holds the middle 95 % of the thresholds that had it. Independent Beta draws, which the bandit
uses, would know neither that theta falls along the thresholds nor that it moves together.

References
----------
Learning Feature Discretizations (algorithm 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from autoprog.discretization.gains import expected_information
from autoprog.discretization.learner import Choice, Question, ThresholdLearner
from autoprog.discretization.options import BanditOptions
from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]
Updates = Literal["shared", "queried"]

LEVEL = 0.95
DRAWS = 1000
_CASE, _CUT = 0, 1  # beside the number of cases, so that no two kinds of draws share a seed


@dataclass(frozen=True, slots=True)
class CutFeature:
    """A measurement that is to be cut.

    Attributes
    ----------
    name : str
        Distinct from the others.
    thresholds : tuple of float
        Candidates, ascending, at least one.
    """

    name: str
    thresholds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CutOptions:
    """How cuts are learnt.

    Attributes
    ----------
    updates : {"shared", "queried"}
        Whether a case updates all features that were measured, or, as published, the queried one alone.
    choice : {"bandit", "exhaustive"}
        Whether the threshold of a feature is drawn by its bandit, or the best of all by the draw of theta.
    bandit : BanditOptions
        Of every bandit.
    prior : (float, float)
        Beta prior a0, b0 of every theta, above 0.
    seed : int
        Seeds, with the number of cases, all draws; at least 0.
    """

    updates: Updates = "shared"
    choice: Choice = "bandit"
    bandit: BanditOptions = field(default_factory=BanditOptions)
    prior: tuple[float, float] = (1.0, 1.0)
    seed: int = 0

    def faults(self) -> Iterator[Fault]:
        """What cannot be, beside what the bandit's options refuse themselves."""
        for name, value, allowed in (
            ("updates", self.updates, get_args(Updates)),
            ("choice", self.choice, get_args(Choice)),
        ):
            if value not in allowed:
                yield Fault(f"/{name}", f"must be one of {', '.join(allowed)}, not {value!r}")
        if not all(np.isfinite(b) and b > 0 for b in self.prior):
            yield Fault("/prior", f"must be two finite numbers above 0, not {self.prior}")


@dataclass(frozen=True, slots=True)
class CutCase:
    """What became of a case.

    Attributes
    ----------
    feature : int or None
        Which was queried; None where nothing was measured.
    threshold : float or None
        The one that was drawn.
    answer : bool or None
        Whether the value was above it.
    predicted : int
        The likeliest label by that answer, before the true one was learnt; of equals the first.
    certainty : float
        Its probability.
    """

    feature: int | None
    threshold: float | None
    answer: bool | None
    predicted: int
    certainty: float


@dataclass(frozen=True, eq=False)
class Cut:
    """Where to cut one feature.

    Attributes
    ----------
    threshold : float
        The likeliest best one.
    probability : float
        That it is the best of the candidates.
    lower, upper : float
        Between which thresholds the best one lies with probability `LEVEL`.
    probabilities : ndarray, shape = (K,)
        That each candidate is the best.
    information : float
        Posterior mean of what cutting at `threshold` tells of the label, in bits.
    information_lower, information_upper : float
        Its central interval of level `LEVEL`.
    above : ndarray, shape = (J,)
        P(X > threshold | label), posterior means.
    drawn : ndarray, shape = (K,)
        P of the bandit: how often it would draw each candidate next.
    n_cases : int
        That the feature has learnt from.
    """

    threshold: float
    probability: float
    lower: float
    upper: float
    probabilities: _Floats
    information: float
    information_lower: float
    information_upper: float
    above: _Floats
    drawn: _Floats
    n_cases: int


class CutLearner:
    """Learns where to cut some measurements.

    Parameters
    ----------
    features : sequence of CutFeature
        At least one.
    labels : sequence of str
        Names of the outcomes, distinct, at least two.
    options : CutOptions
        How they are learnt.

    Attributes
    ----------
    counts : ndarray of int, shape = (J,)
        Cases of each label so far.

    Raises
    ------
    InvalidInputError
        With every fault.
    """

    def __init__(
        self,
        features: Sequence[CutFeature],
        labels: Sequence[str],
        options: CutOptions = CutOptions(),
    ) -> None:
        faults = [*_doubled([f.name for f in features], "/features/{}/name"), *_doubled(labels, "/labels/{}")]
        if not features:
            faults.append(Fault("/features", "at least one feature is needed"))
        if len(labels) < 2:
            faults.append(Fault("/labels", "at least two labels are needed"))
        for i, feature in enumerate(features):
            tau = np.asarray(feature.thresholds, dtype=np.float64)
            if not tau.size or not np.isfinite(tau).all() or (np.diff(tau) <= 0).any():
                faults.append(Fault(f"/features/{i}/thresholds", "must be finite and ascending, at least one"))
        faults += options.faults()
        if faults:
            raise InvalidInputError(faults)
        self.features, self.labels, self.options = tuple(features), tuple(labels), options
        self.counts = np.zeros(len(labels), dtype=np.int64)
        self.learner = ThresholdLearner(
            [np.array(f.thresholds, dtype=np.float64) for f in features],
            len(labels),
            options=options.bandit,
            choice=options.choice,
            prior=options.prior,
        )

    @property
    def n_cases(self) -> int:
        """Cases so far."""
        return int(self.counts.sum())

    @property
    def prior(self) -> _Floats:
        """w, shape = (J,)."""
        prior: _Floats = (1.0 + self.counts) / (len(self.labels) + self.n_cases)
        return prior

    def question(self) -> Question:
        """What the next case will be asked, if all features can be measured; the same until a case is learnt."""
        return max(self._drawn(), key=lambda question: question.gain)

    def _drawn(self) -> tuple[Question, ...]:
        """One for every feature. All draw, whether measured or not, so that what one draws depends on no other."""
        rng = np.random.default_rng([self.options.seed, _CASE, self.n_cases])
        return self.learner.ask(self.prior, rng, select=False)

    def study(self, values: _Floats, label: int) -> CutCase:
        """Go through a case: query a feature, predict, then learn the label.

        Parameters
        ----------
        values : ndarray, shape = (number of features,)
            NaN where there is none. Under `queried` the value of the queried feature is the only one that is read.
        label : int
            From 0.

        Returns
        -------
        CutCase
            The prediction was made without the label.

        Raises
        ------
        InvalidInputError
            If the values are not one a feature or infinite, or there is no such label; nothing is learnt then.
        """
        values = np.asarray(values, dtype=np.float64)
        faults = []
        if values.shape != (len(self.features),) or np.isinf(values).any():
            faults.append(Fault("/values", f"must be {len(self.features)} finite numbers, or NaN"))
        if not 0 <= label < len(self.labels):
            faults.append(Fault("/label", f"must be one of 0 to {len(self.labels) - 1}, not {label}"))
        if faults:
            raise InvalidInputError(faults)
        drawn = [question for question in self._drawn() if not np.isnan(values[question.feature])]
        case, learnt = self._predict(drawn, values)
        for question in learnt:
            self.learner.reward(question)
        read = np.full(len(self.features), np.nan)
        of = [question.feature for question in learnt]
        read[of] = values[of]
        self.learner.learn(read, label)
        self.counts[label] += 1
        return case

    def _predict(self, drawn: Sequence[Question], values: _Floats) -> tuple[CutCase, Sequence[Question]]:
        """What is said of a case, and the questions that learn from it."""
        w = self.prior
        if not drawn:
            return CutCase(None, None, None, int(w.argmax()), float(w.max())), ()
        queried = max(drawn, key=lambda question: question.gain)
        answer = bool(values[queried.feature] > queried.threshold)
        after = self.learner.beliefs_after(w, queried, answer=answer)
        case = CutCase(queried.feature, queried.threshold, answer, int(after.argmax()), float(after.max()))
        return case, drawn if self.options.updates == "shared" else (queried,)

    def cuts(self, draws: int = DRAWS) -> tuple[Cut, ...]:
        """Where to cut each feature, by what was learnt so far.

        Parameters
        ----------
        draws : int
            Of theta, at least 1; all probabilities are shares of them.

        Returns
        -------
        tuple of Cut
            One a feature; the same for the same state.
        """
        return tuple(self._cut(i, draws) for i in range(len(self.features)))

    def _cut(self, i: int, draws: int) -> Cut:
        posterior, tau, w = self.learner.posteriors[i], self.learner.posteriors[i].thresholds, self.prior
        rng = np.random.default_rng([self.options.seed, _CUT, self.n_cases, i])
        theta = posterior.draw_together(rng, draws)
        information = expected_information(w, np.swapaxes(theta, 0, 1))
        best = information.argmax(axis=1)
        probabilities = np.bincount(best, minlength=len(tau)) / draws
        k = int(probabilities.argmax())
        tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
        lower, upper = np.quantile(tau[best], tails, method="inverted_cdf").tolist()
        least, most = np.quantile(information[:, k], tails).tolist()
        return Cut(
            threshold=float(tau[k]),
            probability=float(probabilities[k]),
            lower=lower,
            upper=upper,
            probabilities=probabilities,
            information=float(information[:, k].mean()),
            information_lower=least,
            information_upper=most,
            above=theta[:, :, k].mean(axis=0),
            drawn=self.learner.bandits[i].probabilities,
            n_cases=int((posterior.ones + posterior.zeros)[:, 0].sum()),
        )

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""
        options = asdict(self.options)
        return {
            "features": [asdict(feature) for feature in self.features],
            "labels": list(self.labels),
            "options": options,
            "counts": self.counts.tolist(),
            "learner": self.learner.to_json(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        features = [CutFeature(f["name"], tuple(f["thresholds"])) for f in document["features"]]
        given = document["options"]
        a0, b0 = given["prior"]
        options = CutOptions(**{**given, "bandit": BanditOptions.from_json(given["bandit"]), "prior": (a0, b0)})
        learner = cls(features, document["labels"], options)
        learner.counts = np.array(document["counts"], dtype=np.int64)
        learner.learner = ThresholdLearner.from_json(document["learner"])
        return learner


def _doubled(names: Sequence[str], place: str) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if first.setdefault(name, i) != i:
            yield Fault(place.format(i), f"{name} is there already, as number {first[name]}")
