"""Online algorithms: choose features, score a patient from what was seen, and learn from the label.

    d, M      number of features, and of features seen per round                         scalars
    v         the standardised patient, 0 where not seen                                 (d,)
    c         label, -1 or 1                                                             scalar
    w         weights                                                                    (d,)
    eps       share of rounds with M random features                                     scalar
    eta       step                                                                       scalar
    cap       largest norm of w in OFS                                                   scalar

    OFS, otherwise features with w != 0; where c w.v <= 0:
        v'_k = v_k / ((M / d) eps + (1 - eps) 1{w_k != 0}),  w' = w + eta c v',  w' scaled to norm cap at most,
        and all but the M largest |w'_k| set to 0
    epsilon-greedy, otherwise the M largest |w_k|; where 2 H(w.v) - 1 != c:
        w += eta c v, and if it truncates, all but the M largest |w_k| are set to 0

References
----------
Wang, Zhao, Hoi & Jin 2014, IEEE Transactions on Knowledge and Data Engineering 26:698 (OFS for partial inputs);
Thompson Sampling for Combinatorial Bandits and Its Application to Online Feature Selection, algorithms 2 to 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from autoprog.feature_streams.classifiers import Perceptron, TwoUnitMLP, classifier_from_json
from autoprog.feature_streams.options import StreamOptions
from autoprog.feature_streams.selectors import (
    Constraint,
    GaussianThompsonSelector,
    GroupedSelector,
    RandomSelector,
    Selector,
    Subset,
    ThompsonSelector,
    largest,
    random_subset,
)

_Floats = NDArray[np.float64]


class OnlineAlgorithm(Protocol):
    """An online learner of a stream; the predicted label is the sign of its score, 1 at 0."""

    def select(self, rng: np.random.Generator) -> Subset:
        """Features to look at, ascending."""

    def best(self) -> Subset:
        """The features thought best, without exploring."""

    def score(self, v: _Floats) -> float:
        """The score of a patient."""

    def update(self, v: _Floats, seen: Subset, c: int, rng: np.random.Generator, reward: float | None = None) -> None:
        """Learn a label; `reward` replaces the subset's reward for whether the prediction was right."""

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""

    def load(self, document: Mapping[str, Any]) -> None:
        """Restore the state that `to_json` wrote."""


class SelectAndClassify:
    """A selector with a classifier; the selector's default reward is 1 for a right prediction and 0 for a wrong one."""

    def __init__(self, selector: Selector, classifier: Perceptron | TwoUnitMLP) -> None:
        self.selector, self.classifier = selector, classifier  # the classifier learns every label

    def select(self, rng: np.random.Generator) -> Subset:
        """Features to look at, ascending."""
        return self.selector.select(rng)

    def best(self) -> Subset:
        """The features thought best, without exploring."""
        return self.selector.best()

    def score(self, v: _Floats) -> float:
        """The score of a patient."""
        return self.classifier.score(v)

    def update(self, v: _Floats, seen: Subset, c: int, rng: np.random.Generator, reward: float | None = None) -> None:
        """Learn a label; `reward` replaces the subset's reward for whether the prediction was right."""
        right = predicted_label(self.score(v)) == c
        self.classifier.update(v, c)
        self.selector.reward(seen, float(right) if reward is None else reward, rng)

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""
        return {"selector": self.selector.to_json(), "classifier": self.classifier.to_json()}

    def load(self, document: Mapping[str, Any]) -> None:
        """Restore the state that `to_json` wrote."""
        self.selector.load(document["selector"])
        self.classifier = classifier_from_json(document["classifier"])


class _Linear:
    """Linear scores with weights that are saved as JSON."""

    def __init__(self, n_features: int, M: int, options: StreamOptions) -> None:
        self.w: _Floats = np.zeros(n_features)
        self._M, self._options = M, options

    def score(self, v: _Floats) -> float:
        """The score of a patient."""
        return float(self.w @ v)

    def _kept(self, w: _Floats) -> _Floats:
        kept = np.zeros_like(w)
        most = largest(np.abs(w), self._M)
        kept[most] = w[most]
        return kept

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""
        return {"w": self.w.tolist()}

    def load(self, document: Mapping[str, Any]) -> None:
        """Restore the state that `to_json` wrote."""
        self.w = np.array(document["w"], dtype=np.float64)


class OnlineFeatureSelection(_Linear):
    """OFS for partial inputs, with unbiased guesses of unseen features."""

    def select(self, rng: np.random.Generator) -> Subset:
        """M random features with probability eps, otherwise those with a nonzero weight, possibly none."""
        explore = rng.random() < self._options.epsilon
        return random_subset(len(self.w), self._M, rng) if explore else self.best()

    def best(self) -> Subset:
        """The features with a nonzero weight."""
        return np.flatnonzero(self.w)

    def update(
        self,
        v: _Floats,
        seen: Subset,
        c: int,
        rng: np.random.Generator,  # noqa: ARG002  nothing is drawn
        reward: float | None = None,  # noqa: ARG002  it learns from labels
    ) -> None:
        """Learn a label; nothing changes if the score is on the right side of 0."""
        if self.score(v) * c > 0:
            return
        eps, d = self._options.epsilon, len(self.w)
        guess = np.zeros_like(v)
        guess[seen] = v[seen] / (self._M / d * eps + (1.0 - eps) * (self.w[seen] != 0))
        w = self.w + self._options.step * c * guess
        norm = float(np.linalg.norm(w))
        if norm > self._options.cap:
            w *= self._options.cap / norm
        self.w = self._kept(w)


class EpsilonGreedyPerceptron(_Linear):
    """A perceptron that looks at its M largest weights."""

    def select(self, rng: np.random.Generator) -> Subset:
        """M random features with probability eps, otherwise those with the largest weights in size."""
        explore = rng.random() < self._options.epsilon
        return random_subset(len(self.w), self._M, rng) if explore else self.best()

    def best(self) -> Subset:
        """The features with the largest weights in size; of equals the first."""
        return largest(np.abs(self.w), self._M)

    def update(
        self,
        v: _Floats,
        seen: Subset,  # noqa: ARG002  what was not seen is 0
        c: int,
        rng: np.random.Generator,  # noqa: ARG002  nothing is drawn
        reward: float | None = None,  # noqa: ARG002  it learns from labels
    ) -> None:
        """Learn a label; nothing changes if the prediction was right."""
        if predicted_label(self.score(v)) != c:
            w = self.w + self._options.step * c * v
            self.w = self._kept(w) if self._options.truncate else w


def predicted_label(score: float) -> int:
    """2 H(score) - 1: 1 for a score of at least 0, -1 below."""
    return 1 if score >= 0 else -1


def make_algorithm(
    features: Sequence[str], options: StreamOptions, rng: np.random.Generator, constraint: Constraint | None = None
) -> OnlineAlgorithm:
    """Make an untrained algorithm from options without faults; `rng` draws the initial weights of a network."""
    n_features = len(features)
    M = options.resolve_size(n_features)
    if options.algorithm == "ofs":
        return OnlineFeatureSelection(n_features, M, options)
    if options.algorithm == "epsilon_greedy":
        return EpsilonGreedyPerceptron(n_features, M, options)
    classifier = (
        TwoUnitMLP(n_features, options.step, rng)
        if options.classifier == "mlp"
        else Perceptron(n_features, options.step)
    )
    if options.algorithm == "thompson":
        if options.family is None:
            return SelectAndClassify(_thompson(n_features, M, options, constraint), classifier)
        groups = options.family.units(features)
        best = options.family.constraint(features, options.subset_size)
        return SelectAndClassify(GroupedSelector(_thompson(len(groups), M, options, best), groups), classifier)
    return SelectAndClassify(RandomSelector(n_features, M), classifier)


def _thompson(n_arms: int, M: int, options: StreamOptions, constraint: Constraint | None) -> ThompsonSelector:
    if options.likelihood == "gaussian":
        return GaussianThompsonSelector(n_arms, M, options.prior, options.noise, constraint)
    return ThompsonSelector(n_arms, M, options.prior, constraint)
