"""Where to cut measurements, learnt from a stream of values with known outcomes, with its uncertainty.

========  ====================================================================================  ==============
symbol    meaning                                                                               shape
========  ====================================================================================  ==============
J         labels, the outcomes                                                                  scalar
tau_k     candidate thresholds of a feature, ascending                                          (K,)
w         (1 + cases of each label) / (J + cases)                                               (J,)
n_jb      cases of label j whose value lies in bin b: up to tau_0, ..., above tau_(K-1)         (J, K + 1)
theta     P(X > tau_k | label)                                                                  (J, K)
I_k       expected information of a cut at tau_k, h(w theta_k) - w h(theta_k)                   (K,)
========  ====================================================================================  ==============

A case is one step of algorithm 1. Every measured feature draws a threshold from its own bandit; the feature with the
largest gain is queried, its answer predicts the label, and then the label is learnt. As published, only the queried
feature's bandit and posterior are updated, so an uninformative threshold is rarely queried and rarely corrected. The
shared form updates every measured feature: its posterior, and its bandit by the gain of its own draw, which is an
expectation and needs no answer.

Uncertainty: the values of a feature fall into bins, and theta of all thresholds is drawn jointly from Dirichlet
posteriors of the bins, with prior mass (a0 + b0) / (K + 1) per bin. The cut is the threshold that most often has the
largest I; its interval is the middle 95 % of the thresholds that had it. Independent Beta draws, as in the bandit,
would ignore that theta falls along the thresholds and is correlated.

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

from autoprog.diagnosis.discretization.bandit import BanditOptions, expected_information
from autoprog.diagnosis.discretization.learner import Choice, Question, ThresholdLearner
from autoprog.diagnosis.discretization.posterior import prior_faults
from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]
Updates = Literal["shared", "queried"]

LEVEL = 0.95
DRAWS = 1000
_CASE, _CUT = 0, 1  # part of the seed, so that the two kinds of draws never share one


@dataclass(frozen=True, slots=True)
class CutFeature:
    """A measurement to cut."""

    name: str
    thresholds: tuple[float, ...]  # candidates, ascending, at least one


@dataclass(frozen=True, slots=True)
class CutOptions:
    """How cuts are learnt.

    Attributes
    ----------
    updates : {"shared", "queried"}
        Whether a case updates all measured features or, as published, the queried one alone.
    choice : {"bandit", "exhaustive"}
        Whether a feature's threshold is drawn by its bandit or is the best for the draw of theta.
    prior : (float, float)
        Beta prior a0, b0 of every theta, each from 1e-100 to 1e100.
    seed : int
        At least 0; seeds all draws together with the number of cases.
    """

    updates: Updates = "shared"
    choice: Choice = "bandit"
    bandit: BanditOptions = field(default_factory=BanditOptions)
    prior: tuple[float, float] = (1.0, 1.0)
    seed: int = 0

    def faults(self) -> Iterator[Fault]:
        """Faults of these options, other than those that the bandit's options raise."""
        for name, value, allowed in (
            ("updates", self.updates, get_args(Updates)),
            ("choice", self.choice, get_args(Choice)),
        ):
            if value not in allowed:
                yield Fault(f"/{name}", f"must be one of {', '.join(allowed)}, not {value!r}")
        yield from prior_faults(self.prior)


@dataclass(frozen=True, slots=True)
class CutCase:
    """Result of a case: the query, and the prediction made before the label was learnt."""

    feature: int | None  # the feature queried; None, like its answer, where nothing was measured
    threshold: float | None
    answer: bool | None  # whether the value was above the threshold
    predicted: int  # most probable label given the answer, the first of ties
    certainty: float  # probability of the predicted label


@dataclass(frozen=True, eq=False)
class Cut:
    """Where to cut one feature.

    Attributes
    ----------
    threshold, probability : float
        The threshold most likely to be the best candidate, and the probability that it is.
    lower, upper : float
        Interval that contains the best threshold with probability `LEVEL`.
    probabilities, drawn : ndarray, shape = (K,)
        Probability that each candidate is the best; P of the bandit, its next draw.
    information, information_lower, information_upper : float
        Information of the cut on the label, bits: posterior mean and central interval of level `LEVEL`.
    above : ndarray, shape = (J,)
        P(X > threshold | label), posterior means.
    n_cases : int
        Number of cases that the feature has learnt from.
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
    """Learner of the cuts of several measurements.

    Parameters
    ----------
    features : sequence of CutFeature
        At least one.
    labels : sequence of str
        Distinct names of the outcomes, at least two.
    options : CutOptions

    Raises
    ------
    InvalidInputError
        If the input is invalid; names every fault.
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
        self.counts = np.zeros(len(labels), dtype=np.int64)  # cases of each label
        self.learner = ThresholdLearner(
            [np.array(f.thresholds, dtype=np.float64) for f in features],
            len(labels),
            options=options.bandit,
            choice=options.choice,
            prior=options.prior,
        )

    @property
    def n_cases(self) -> int:
        """Number of cases learnt."""
        return int(self.counts.sum())

    @property
    def prior(self) -> _Floats:
        """w, shape (J,)."""
        prior: _Floats = (1.0 + self.counts) / (len(self.labels) + self.n_cases)
        return prior

    def question(self) -> Question:
        """Question of the next case if all features are measured; unchanged until a case is learnt."""
        return max(self._drawn(), key=lambda question: question.gain)

    def _drawn(self) -> tuple[Question, ...]:
        """Draw one question per feature, measured or not, so that no draw depends on what else is measured."""
        rng = np.random.default_rng([self.options.seed, _CASE, self.n_cases])
        return self.learner.ask(self.prior, rng, select=False)

    def study(self, values: _Floats, label: int) -> CutCase:
        """Go through a case (NaN is missing, labels count from 0): query a feature, predict, then learn the label."""
        values = np.asarray(values, dtype=np.float64)
        faults = []
        if values.shape != (len(self.features),) or np.isinf(values).any():
            faults.append(Fault("/values", f"must be {len(self.features)} finite numbers, or NaN"))
        if not 0 <= label < len(self.labels):
            faults.append(Fault("/label", f"must be one of 0 to {len(self.labels) - 1}, not {label}"))
        if faults:
            raise InvalidInputError(faults)  # nothing is learnt
        drawn = [question for question in self._drawn() if not np.isnan(values[question.feature])]
        case, learnt = self._predict(drawn, values)
        for question in learnt:
            self.learner.reward(question)
        read = np.full(len(self.features), np.nan)
        of = [question.feature for question in learnt]
        read[of] = values[of]  # `queried` reads only the value of the queried feature
        self.learner.learn(read, label)
        self.counts[label] += 1
        return case

    def _predict(self, drawn: Sequence[Question], values: _Floats) -> tuple[CutCase, Sequence[Question]]:
        """Predict the label of a case, and list the questions that learn from it."""
        w = self.prior
        if not drawn:
            return CutCase(None, None, None, int(w.argmax()), float(w.max())), ()
        queried = max(drawn, key=lambda question: question.gain)
        answer = bool(values[queried.feature] > queried.threshold)
        after = self.learner.beliefs_after(w, queried, answer=answer)
        case = CutCase(queried.feature, queried.threshold, answer, int(after.argmax()), float(after.max()))
        return case, drawn if self.options.updates == "shared" else (queried,)

    def cuts(self, draws: int = DRAWS) -> tuple[Cut, ...]:
        """One cut per feature, from `draws` draws of theta; deterministic for the same state."""
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
        """Return the whole state as a JSON object."""
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
        """Restore a learner from `to_json`."""
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
