"""Learning P(finding | disease) from labelled cases while asking for as few findings as possible.

=========  ============================================================================================  =========
symbol     meaning                                                                                       shape
=========  ============================================================================================  =========
J          labels: the diseases                                                                          1
w          beliefs over the labels                                                                       (J,)
tau_ik     candidate thresholds of finding i; 1/2 if the finding is 0 or 1                               (K_i,)
theta_ik   P(X_i > tau_ik | label), Beta posterior: drawn at every step for the gain, its mean for w     (J,)
I          h(sum_j w_j theta_j) - sum_j w_j h(theta_j), expected information of asking, bits             1
=========  ============================================================================================  =========

A case begins with w proportional to 1 + the number of cases of each label. At every step each finding not yet asked for
draws a threshold from its own Exp3 bandit and theta from its posterior. The finding with the largest I is asked for,
and w is updated by Bayes' rule. I is an expectation, known before the answer, so every bandit that drew learns its own
I. If only the winner learnt, a bandit could not discover that its threshold is uninformative. Once the label is known,
the findings that were asked for update their posteriors.

References
----------
Learning Feature Discretizations (algorithm 1); Thompson 1933, Biometrika 25:285; Auer et al. 2002, SIAM Journal on
Computing 32:48 (Exp3).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.building import ModelOptions, build_model, distinct_names, short_name
from autoprog.diagnosis.discretization import BanditOptions, Question, ThresholdLearner, expected_information
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Finding:
    """A finding that can be asked for."""

    name: str
    thresholds: tuple[float, ...] = (0.5,)  # candidates, ascending; (0.5,) if binary; never asked for if empty


@dataclass(frozen=True, eq=False)
class Case:
    """A patient being questioned."""

    beliefs: _Floats  # w, summing to 1
    # Values obtained, by index of the finding; NaN where a value could not be obtained.
    values: Mapping[int, float] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Request:
    """The question to ask, and the draws that decided it."""

    question: Question
    drawn: tuple[Question, ...]  # one for each remaining finding, at the threshold drawn by its bandit


@dataclass(frozen=True)
class Studied:
    """Result of a labelled case: findings in the order asked, and the prediction made before the label was learnt."""

    asked: tuple[int, ...]
    predicted: int
    certainty: float  # probability of the predicted label


class ResponseLearner:
    """Learner of P(finding | label) and of the most informative thresholds.

    Parameters
    ----------
    findings : sequence of Finding
        At least one with a threshold.
    labels : sequence of str
        Distinct names of the diseases.
    options : BanditOptions
        Options of every bandit; `hedge` evaluates all thresholds of all findings at every step.

    Raises
    ------
    InvalidInputError
        If names repeat, thresholds are not finite and ascending, there is no label, or no finding has a threshold.
    """

    def __init__(
        self,
        findings: Sequence[Finding],
        labels: Sequence[str],
        options: BanditOptions = BanditOptions(),  # noqa: B008  frozen
    ) -> None:
        faults = _doubled([f.name for f in findings], "findings") + _doubled(labels, "labels")
        for i, finding in enumerate(findings):
            if not np.isfinite(finding.thresholds).all() or (np.diff(finding.thresholds) <= 0).any():
                faults.append(Fault(f"/findings/{i}/thresholds", "must be finite and ascending"))
        if not labels:
            faults.append(Fault("/labels", "at least one label is needed"))
        if faults:
            raise InvalidInputError(faults)
        self.findings = tuple(findings)
        self.labels = tuple(labels)
        self.counts = np.zeros(len(labels), dtype=np.int64)
        self.learner = ThresholdLearner(
            [np.array(f.thresholds, dtype=np.float64) for f in findings], len(labels), options=options
        )

    @property
    def prior(self) -> _Floats:
        """Beliefs before the first finding, shape (J,)."""
        prior: _Floats = (1.0 + self.counts) / (len(self.labels) + self.counts.sum())
        return prior

    def begin(self) -> Case:
        """Begin a case with no known finding."""
        return Case(self.prior)

    def ask(self, case: Case, rng: np.random.Generator) -> Request | None:
        """Choose the next finding and threshold, the first of equal gains; None where all were asked for."""
        left = [i for i in range(len(self.findings)) if i not in case.values]
        drawn = self.learner.ask(case.beliefs, rng, available=left, select=False)
        return Request(max(drawn, key=lambda question: question.gain), drawn) if drawn else None

    def tell(self, case: Case, request: Request, value: float) -> Case:
        """Add the measured value (NaN if it could not be obtained) of a request made for this case."""
        question = request.question
        values = {**case.values, question.feature: float(value)}
        if np.isnan(value):  # the bandits learn nothing
            return Case(case.beliefs, values)
        for drawn in request.drawn:
            self.learner.reward(drawn)
        answer = bool(value > question.threshold)
        return Case(self.learner.beliefs_after(case.beliefs, question, answer=answer), values)

    def learn(self, case: Case, label: int) -> None:
        """Learn a case whose label (from 0) is known; raises `InvalidInputError` for an unknown label."""
        if not 0 <= label < len(self.labels):
            raise InvalidInputError([Fault("/label", f"must be one of 0 to {len(self.labels) - 1}, not {label}")])
        values = np.full(len(self.findings), np.nan)
        values[list(case.values)] = list(case.values.values())
        self.learner.learn(values, label)
        self.counts[label] += 1

    def study(
        self, values: _Floats, label: int, rng: np.random.Generator, *, certainty: float = 1.0, most: int | None = None
    ) -> Studied:
        """Go through a labelled case: ask until `certainty` is reached or `most` were asked, then learn the label."""
        case = self.begin()
        asked: list[int] = []
        while case.beliefs.max() < certainty and (most is None or len(asked) < most):
            request = self.ask(case, rng)
            if request is None:
                break
            feature = request.question.feature
            asked.append(feature)
            case = self.tell(case, request, float(values[feature]))
        self.learn(case, label)
        return Studied(tuple(asked), int(case.beliefs.argmax()), float(case.beliefs.max()))

    def thresholds(self) -> dict[int, float]:
        """Threshold of each finding that is most informative on the labels, by index of the finding."""
        # Not the bandit's favourite: its gains were for the beliefs of single cases, and it is slow to have one.
        w, posteriors = self.prior, self.learner.posteriors
        best = {i: int(np.argmax(expected_information(w, posterior.mean))) for i, posterior in posteriors.items()}
        return {i: self.findings[i].thresholds[arm] for i, arm in best.items()}

    def to_model(self, options: ModelOptions = ModelOptions()) -> DiagnosisModel:  # noqa: B008  frozen
        """Build a diagnosis model: one object per label, one query per finding at its most informative threshold."""
        chosen = self.thresholds()
        means = []
        for i, threshold in chosen.items():
            arm = self.findings[i].thresholds.index(threshold)
            means.append(self.learner.posteriors[i].mean[:, arm])
        theta, w = np.stack(means, axis=1), self.prior[:, None]
        ones = theta > 0.5
        # a query's error rates: how often patients answer otherwise, averaged over the labels
        with np.errstate(invalid="ignore"):
            fp = (w * theta * ~ones).sum(axis=0) / (w * ~ones).sum(axis=0)
            fn = (w * (1.0 - theta) * ones).sum(axis=0) / (w * ones).sum(axis=0)
        return build_model(
            ones,
            objects=self.labels,
            queries=distinct_names([query_name(self.findings[i], threshold) for i, threshold in chosen.items()]),
            prior=self.prior,
            false_positive_rates=np.nan_to_num(fp).tolist(),
            false_negative_rates=np.nan_to_num(fn).tolist(),
            options=options,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the whole state as a JSON object."""
        return {
            "findings": [dataclasses.asdict(f) for f in self.findings],
            "labels": list(self.labels),
            "counts": self.counts.tolist(),
            "learner": self.learner.to_json(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Restore a learner from `to_json`."""
        findings = [Finding(f["name"], tuple(f["thresholds"])) for f in document["findings"]]
        learner = cls(findings, document["labels"])
        learner.counts = np.array(document["counts"], dtype=np.int64)
        learner.learner = ThresholdLearner.from_json(document["learner"])
        return learner


def query_name(finding: Finding, threshold: float) -> str:
    """Name of a query: the finding's name, followed by the threshold unless the finding is binary."""
    return short_name(finding.name if finding.thresholds == (0.5,) else f"{finding.name} > {threshold:.12g}")


def _doubled(names: Sequence[str], place: str) -> list[Fault]:
    first: dict[str, int] = {}
    return [
        Fault(f"/{place}/{i}", f"{name!r} is there already, as number {first[name]}")
        for i, name in enumerate(names)
        if first.setdefault(name, i) != i
    ]
