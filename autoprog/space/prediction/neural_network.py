"""The neural network of Table 1: trained by torch, predicting from plain arrays.

References
----------
Holzmueller, Grinsztajn & Steinwart (2024), Better by default: strong pre-tuned MLPs and boosted trees on tabular data,
NeurIPS: scaling and clipping of the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.fitted_rows import check_rows
from autoprog.space.groups import Groups
from autoprog.space.hyperparameters import Float, Integer, Parameter
from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes

# Training makes at most 1,500 steps of 256 patients: this many are read about five times each.
_MAX_PATIENTS = 75_000
# Scaled values are bent smoothly into (-3, 3), so that an outlier cannot drive a risk to 0 or 1.
_CLIP = 3.0
# Rows of activations in memory during a prediction.
_BLOCK = 10_000


class MultilayerPerceptron(BinaryClassifier):
    """Fully connected network of rectified units for two classes, in the notation of `backpropagation`."""

    def __init__(
        self,
        layers: int = 2,
        width: int = 64,
        *,
        dropout: float = 0.2,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-2,
        random_state: int = 0,
    ) -> None:
        self.layers = layers
        self.width = width
        self.dropout = dropout
        self.learning_rate = learning_rate  # at the first step; it falls to 0 along a half cosine
        self.weight_decay = weight_decay  # decoupled, 0 or more
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, groups: Groups | None = None) -> Self:
        """Train the network, stopping early on a held-out fifth of the patients; ValueError without two classes."""
        # Imported here, so that the service lists the space without the seconds and 200 MB that torch takes.
        from autoprog.space.prediction.backpropagation import Recipe, train  # noqa: PLC0415

        columns, outcome = validate_data(self, X, y, dtype=np.float64)
        self.classes_, events = two_classes(outcome)
        self.centre_, self.scale_ = _robust_scale(columns)
        recipe = Recipe((self.width,) * self.layers, self.dropout, self.learning_rate, self.weight_decay)
        z = self._scaled(columns).astype(np.float32)
        network = train(z, events.astype(np.float32), recipe, self.random_state, groups)
        self.weights_ = [W.numpy() for W in network.weights]
        self.biases_ = [b.numpy() for b in network.biases]
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each class, shape = (n_patients, 2), columns as in `classes_`."""
        columns = check_rows(self, X, missing=False)
        blocks = (columns[start : start + _BLOCK] for start in range(0, len(columns), _BLOCK))
        logits = np.concatenate([self._logits(block) for block in blocks])
        return np.column_stack([expit(-logits), expit(logits)])

    def _scaled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        z = (X - self.centre_) / self.scale_
        return np.asarray(z / np.sqrt(1.0 + (z / _CLIP) ** 2))

    def _logits(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        h = self._scaled(X)
        for W, b in zip(self.weights_[:-1], self.biases_[:-1], strict=True):
            h = np.maximum(h @ W.astype(np.float64) + b, 0.0)
        return np.asarray((h @ self.weights_[-1].astype(np.float64) + self.biases_[-1])[:, 0])


def _robust_scale(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Median and interquartile range of each column; half the range if the latter is 0, as for most dummies."""
    low, centre, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    scale = high - low
    scale = np.where(scale > 0, scale, np.ptp(X, axis=0) / 2.0)
    return centre, np.where(scale > 0, scale, 1.0)


def _neural_network(parameters: Mapping[str, Parameter], _shape: TableShape, seed: int) -> BaseEstimator:
    return MultilayerPerceptron(
        int(parameters["layers"]),
        int(parameters["width"]),
        dropout=float(parameters["dropout"]),
        learning_rate=float(parameters["learning_rate"]),
        weight_decay=float(parameters["weight_decay"]),
        random_state=seed,
    )


NEURAL_NETWORK = Algorithm(
    "prediction",
    "neural_network",
    (
        Integer("layers", 1, 4, 2),
        Integer("width", 16, 128, 64, log=True),
        Float("dropout", 0.0, 0.5, 0.2),
        Float("learning_rate", 1e-4, 1e-2, 1e-3, log=True),
        Float("weight_decay", 1e-5, 1.0, 1e-2, log=True),
    ),
    _neural_network,
    "neural",
    takes=frozenset({"negative", "collinear"}),
    cost=Cost(0.5, patients=0.5, columns=0.1),
    modules=("autoprog.space.prediction.backpropagation",),
    max_patients=_MAX_PATIENTS,
    stored_types=("autoprog.space.prediction.neural_network.MultilayerPerceptron",),
    reference="Gorishniy et al. (2021), Revisiting deep learning models for tabular data, NeurIPS: the ranges",
)
