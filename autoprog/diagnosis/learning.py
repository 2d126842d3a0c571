"""Learning which disease shows which finding, from labelled cases, while asking for as few findings as possible.

=========  ============================================================================================  =========
symbol     meaning                                                                                       shape
=========  ============================================================================================  =========
J          labels: the diseases                                                                          1
w          beliefs over the labels                                                                       (J,)
tau_ik     candidate thresholds of finding i; 1/2 of one that is 0 or 1                                  (K_i,)
theta_ik   P(X_i > tau_ik | label), Beta posterior: drawn anew at every step, its mean for the beliefs   (J,)
I          h(sum_j w_j theta_j) - sum_j w_j h(theta_j), what asking is expected to tell, bits            1
=========  ============================================================================================  =========

A case begins with w proportional to 1 + the cases of each label so far. At every step each finding that was not asked
for draws a threshold from its own Exp3, and theta from its posterior; the one of the largest I is asked for, and w
follows by Bayes. I is an expectation, known before the answer, so that every bandit that drew learns the I of its own
draw: were it the winner's alone, a threshold that tells little would never be seen to tell little. When the label is
known, the findings that were asked for are counted.

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

from autoprog.diagnosis.building import ModelOptions, build_model
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.discretization import BanditOptions, Question, ThresholdLearner
from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Finding:
    """Something that can be asked for.

    Attributes
    ----------
    name : str
        Distinct from the others.
    thresholds : tuple of float
        Candidates, ascending; (0.5,) for a finding that is 0 or 1. None: it is never asked for.
    """

    name: str
    thresholds: tuple[float, ...] = (0.5,)


@dataclass(frozen=True, eq=False)
class Case:
    """A patient who is being asked.

    Attributes
    ----------
    beliefs : ndarray, shape = (J,)
        w, summing to 1.
    values : mapping of int to float
        What was asked for so far, by index of the finding; NaN where it could not be had.
    """

    beliefs: _Floats
    values: Mapping[int, float] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked for, and what was drawn to decide it.

    Attributes
    ----------
    question : Question
        The finding, the threshold and the gain.
    drawn : tuple of Question
        One for each finding that was left, at the threshold that its bandit drew.
    """

    question: Question
    drawn: tuple[Question, ...]


@dataclass(frozen=True)
class Studied:
    """A labelled case that was gone through.

    Attributes
    ----------
    asked : tuple of int
        Findings in the order in which they were asked for.
    predicted : int
        The likeliest label before the true one was told.
    certainty : float
        Its probability.
    """

    asked: tuple[int, ...]
    predicted: int
    certainty: float


class ResponseLearner:
    """What is known of P(finding | label), and which thresholds tell most.

    Parameters
    ----------
    findings : sequence of Finding
        What can be asked for; at least one with a threshold.
    labels : sequence of str
        Names of the diseases, distinct.
    options : BanditOptions
        Of every bandit; the form `hedge` evaluates all thresholds of all findings at every step.

    Raises
    ------
    InvalidInputError
        If names are doubled, there is no label, or nothing can be asked for.
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
        """A patient of whom nothing is known."""
        return Case(self.prior)

    def ask(self, case: Case, rng: np.random.Generator) -> Request | None:
        """What to ask for next.

        Parameters
        ----------
        case : Case
            What is known of the patient.
        rng : numpy.random.Generator
            Draws thresholds and theta.

        Returns
        -------
        Request or None
            A finding at one of its thresholds, the first of equal gains; None where all were asked for.
        """
        left = [i for i in range(len(self.findings)) if i not in case.values]
        drawn = self.learner.ask(case.beliefs, rng, available=left, select=False)
        return Request(max(drawn, key=lambda question: question.gain), drawn) if drawn else None

    def tell(self, case: Case, request: Request, value: float) -> Case:
        """Take an answer.

        Parameters
        ----------
        case : Case
            Before.
        request : Request
            As `ask` gave it for this case.
        value : float
            The measurement itself, not only whether it is above the threshold; NaN where it could not be had.

        Returns
        -------
        Case
            After. The bandits that drew have learnt, unless the value is NaN.
        """
        question = request.question
        values = {**case.values, question.feature: float(value)}
        if np.isnan(value):
            return Case(case.beliefs, values)
        for drawn in request.drawn:
            self.learner.reward(drawn)
        answer = bool(value > question.threshold)
        return Case(self.learner.beliefs_after(case.beliefs, question, answer=answer), values)

    def learn(self, case: Case, label: int) -> None:
        """Count a case whose label has become known.

        Parameters
        ----------
        case : Case
            With what was asked for.
        label : int
            From 0.

        Raises
        ------
        InvalidInputError
            If there is no such label.
        """
        if not 0 <= label < len(self.labels):
            raise InvalidInputError([Fault("/label", f"must be one of 0 to {len(self.labels) - 1}, not {label}")])
        values = np.full(len(self.findings), np.nan)
        values[list(case.values)] = list(case.values.values())
        self.learner.learn(values, label)
        self.counts[label] += 1

    def study(
        self, values: _Floats, label: int, rng: np.random.Generator, *, certainty: float = 1.0, most: int | None = None
    ) -> Studied:
        """Go through a labelled case: ask, learn, and tell what would have been said.

        Parameters
        ----------
        values : ndarray, shape = (number of findings,)
            NaN where there is none.
        label : int
            From 0; used only after the last question.
        rng : numpy.random.Generator
            Source of randomness.
        certainty : float
            Ask until a label is so probable, in (0, 1].
        most : int, optional
            Questions at most, at least 1.

        Returns
        -------
        Studied
            What was asked, and the prediction.
        """
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
        """The threshold that the bandit of each finding has come to prefer, by index; its likeliest arm."""
        bandits = self.learner.bandits
        return {i: self.findings[i].thresholds[int(np.argmax(b.probabilities))] for i, b in bandits.items()}

    def to_model(self, options: ModelOptions = ModelOptions()) -> DiagnosisModel:  # noqa: B008  frozen
        """The diagnosis model of what was learnt.

        Parameters
        ----------
        options : ModelOptions
            Of the model.

        Returns
        -------
        DiagnosisModel
            An object a label and a query a finding at its preferred threshold. The response is whether the posterior
            mean of theta is above 1/2; how often patients answer otherwise, averaged over the labels, is the query's
            error rate. A session on it weighs answers.
        """
        chosen = self.thresholds()
        means = []
        for i, threshold in chosen.items():
            arm = self.findings[i].thresholds.index(threshold)
            means.append(self.learner.posteriors[i].mean[:, arm])
        theta, w = np.stack(means, axis=1), self.prior[:, None]
        ones = theta > 0.5
        with np.errstate(invalid="ignore"):
            fp = (w * theta * ~ones).sum(axis=0) / (w * ~ones).sum(axis=0)
            fn = (w * (1.0 - theta) * ones).sum(axis=0) / (w * ones).sum(axis=0)
        return build_model(
            ones,
            objects=self.labels,
            queries=[query_name(self.findings[i], threshold) for i, threshold in chosen.items()],
            prior=self.prior,
            false_positive_rates=np.nan_to_num(fp).tolist(),
            false_negative_rates=np.nan_to_num(fn).tolist(),
            options=options,
        )

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""
        return {
            "findings": [dataclasses.asdict(f) for f in self.findings],
            "labels": list(self.labels),
            "counts": self.counts.tolist(),
            "learner": self.learner.to_json(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        findings = [Finding(f["name"], tuple(f["thresholds"])) for f in document["findings"]]
        learner = cls(findings, document["labels"])
        learner.counts = np.array(document["counts"], dtype=np.int64)
        learner.learner = ThresholdLearner.from_json(document["learner"])
        return learner


def query_name(finding: Finding, threshold: float) -> str:
    """How a finding at a threshold is called: its own name where it is 0 or 1."""
    return finding.name if finding.thresholds == (0.5,) else f"{finding.name} > {threshold:g}"


def _doubled(names: Sequence[str], place: str) -> list[Fault]:
    first: dict[str, int] = {}
    return [
        Fault(f"/{place}/{i}", f"{name!r} is there already, as number {first[name]}")
        for i, name in enumerate(names)
        if first.setdefault(name, i) != i
    ]
