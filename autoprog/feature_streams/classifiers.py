"""Online classifiers of a standardised patient with some features seen and the others 0.

    v         the patient                                                           (d,)
    c         label, -1 or 1                                                        scalar
    w         weights of the perceptron                                             (d,)
    W, b      weights and biases of the two hidden units                            (2, d), (2,)
    u, a      weights and bias of the output unit                                   (2,), scalar
    eta       step                                                                  scalar

    perceptron   score w . v;  where 2 H(score) - 1 != c:  w += eta c v
    mlp          score o = tanh(u . tanh(W v + b) + a);  every round one step of gradient descent on (o - c)^2 / 2
                 initially b = 0, a = 0, W ~ N(0, 1/d), u ~ N(0, 1/2)

References
----------
Thompson Sampling for Combinatorial Bandits and Its Application to Online Feature Selection, algorithm 2, which leaves
activations, loss and initial weights open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
HIDDEN = 2


class Classifier(Protocol):
    """Predicts the sign of its score, 1 at 0."""

    def score(self, v: _Floats) -> float:
        """The score of a patient."""

    def update(self, v: _Floats, c: int) -> None:
        """Learn a label."""

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""


class Perceptron:
    """A linear classifier that learns from its mistakes; `step` scales the weights and changes no prediction."""

    def __init__(self, n_features: int, step: float) -> None:
        self.w: _Floats = np.zeros(n_features)
        self.step = step

    def score(self, v: _Floats) -> float:
        """The score of a patient."""
        return float(self.w @ v)

    def update(self, v: _Floats, c: int) -> None:
        """Learn a label; nothing changes if the prediction was right."""
        if (1 if self.score(v) >= 0 else -1) != c:
            self.w += self.step * c * v

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""
        return {"kind": "perceptron", "w": self.w.tolist(), "step": self.step}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        perceptron = cls(len(document["w"]), document["step"])
        perceptron.w = np.array(document["w"])
        return perceptron


class TwoUnitMLP:
    """A network with two hidden units; initial weights are random, biases 0."""

    def __init__(self, n_features: int, step: float, rng: np.random.Generator) -> None:
        self.W: _Floats = rng.normal(0.0, 1.0 / np.sqrt(n_features), (HIDDEN, n_features))
        self.u: _Floats = rng.normal(0.0, 1.0 / np.sqrt(HIDDEN), HIDDEN)
        self.b: _Floats = np.zeros(HIDDEN)
        self.a = 0.0
        self.step = step

    def score(self, v: _Floats) -> float:
        """The score of a patient, in (-1, 1)."""
        return float(np.tanh(self.u @ np.tanh(self.W @ v + self.b) + self.a))

    def update(self, v: _Floats, c: int) -> None:
        """Learn a label."""
        h = np.tanh(self.W @ v + self.b)
        o = float(np.tanh(self.u @ h + self.a))
        output = (o - c) * (1.0 - o * o)
        hidden = output * self.u * (1.0 - h * h)
        self.u -= self.step * output * h
        self.a -= self.step * output
        self.W -= self.step * np.outer(hidden, v)
        self.b -= self.step * hidden

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""
        weights = {"W": self.W.tolist(), "u": self.u.tolist(), "b": self.b.tolist(), "a": self.a}
        return {"kind": "mlp", "step": self.step, **weights}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        mlp = cls.__new__(cls)
        mlp.W, mlp.u, mlp.b = (np.array(document[name]) for name in ("W", "u", "b"))
        mlp.a, mlp.step = document["a"], document["step"]
        return mlp


def classifier_from_json(document: Mapping[str, Any]) -> Perceptron | TwoUnitMLP:
    """Read the classifier that `to_json` wrote."""
    return (TwoUnitMLP if document["kind"] == "mlp" else Perceptron).from_json(document)
