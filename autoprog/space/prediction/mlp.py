"""Multilayer perceptrons that are trained side by side for a given number of epochs.

The network of Table 1 holds out a fifth of its training patients to stop early. Here the folds do that: the number of
epochs is a path hyperparameter. The notation is that of `epochs`, which does the training.

References
----------
Gorishniy et al. (2021), Revisiting deep learning models for tabular data, NeurIPS: the ranges.
Hansen & Salamon (1990), IEEE Trans. Pattern Anal. Mach. Intell. 12:993: several networks from different starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.fitted_rows import check_rows
from autoprog.space.hyperparameters import Float, Integer, Parameter
from autoprog.space.path import FittedPath, HeldOut, grid_up_to
from autoprog.space.prediction.linear_encoding import LinearEncoding
from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes

# The learning rate always follows the schedule of the most epochs, even if training ends earlier.
_MIN_EPOCHS, _MAX_EPOCHS = 4, 64
_MAX_PATIENTS = 50_000
# Rows of activations in memory during a prediction.
_BLOCK = 10_000

_Weights = list[NDArray[np.float32]]


class EpochwisePerceptron(BinaryClassifier):
    """Binary classification by the mean log odds of several fully connected networks."""

    def __init__(  # noqa: PLR0913  hyperparameters of a network
        self,
        epochs: int = _MAX_EPOCHS,
        layers: int = 2,
        width: int = 96,
        networks: int = 4,
        *,
        dropout: float = 0.2,
        learning_rate: float = 3e-3,
        weight_decay: float = 0.1,
        smoothing: float = 0.05,
        random_state: int = 0,
    ) -> None:
        self.epochs = epochs
        self.layers = layers
        self.width = width
        self.networks = networks
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.smoothing = smoothing
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the networks for all epochs; NaN is missing, ValueError without two classes."""
        training, _ = self._training(X, y, sample_weight)
        training.run(self.epochs)
        self.weights_, self.biases_ = training.parameters()
        return self

    def fit_path(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        held_out: HeldOut,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> FittedPath:
        """Train until the held-out loss no longer falls; see `autoprog.space.path.PathLearner`."""
        from autoprog.space.prediction.epochs import mean_logits  # noqa: PLC0415  heavy

        training, encoding = self._training(X, y, sample_weight)

        def columns_of(rows: NDArray[np.float64]) -> NDArray[np.float32]:
            return np.asarray(encoding.transform(rows)).astype(np.float32)

        values = [int(v) for v in grid_up_to(_MIN_EPOCHS, int(self.epochs))]
        seen = training.watched(values, columns_of(held_out.X), held_out.y, held_out.weight)
        self.weights_, self.biases_ = seen[-1]

        def risks_of(rows: NDArray[np.float64]) -> NDArray[np.float64]:
            z = columns_of(rows)
            risks: NDArray[np.float64] = expit(np.array([mean_logits(z, *each) for each in seen], dtype=np.float64))
            return risks

        return FittedPath(tuple(values[: len(seen)]), risks_of)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each class, shape = (n_patients, 2), columns as in `classes_`."""
        columns = check_rows(self, X)
        z = np.asarray(self.encoding_.transform(columns))
        blocks = [self._logits(z[start : start + _BLOCK]) for start in range(0, len(z), _BLOCK)]
        logits = np.concatenate(blocks)
        return np.column_stack([expit(-logits), expit(logits)])

    def _training(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Any, LinearEncoding]:
        # Imported here, so that the service lists the space without the seconds and 200 MB that torch takes.
        from autoprog.space.prediction.epochs import Recipe, Training  # noqa: PLC0415

        columns, outcome = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        self.classes_, events = two_classes(outcome)
        self.encoding_ = LinearEncoding()
        z = self.encoding_.fit_transform(columns).astype(np.float32)
        weight = np.ones(len(z)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        recipe = Recipe(
            hidden=(self.width,) * self.layers,
            networks=self.networks,
            dropout=self.dropout,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            smoothing=self.smoothing,
            epochs=_MAX_EPOCHS,
        )
        return Training(z, events, weight, recipe, self.random_state), self.encoding_

    def _logits(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        h = np.broadcast_to(z, (self.weights_[0].shape[0], *z.shape))
        for W, b in zip(self.weights_[:-1], self.biases_[:-1], strict=True):
            u = h @ W.astype(np.float64) + b
            h = u * expit(u)
        return np.asarray((h @ self.weights_[-1].astype(np.float64) + self.biases_[-1])[:, :, 0].mean(axis=0))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _mlp(parameters: Mapping[str, Parameter], _shape: TableShape, seed: int) -> BaseEstimator:
    return EpochwisePerceptron(
        int(parameters["epochs"]),
        int(parameters["layers"]),
        int(parameters["width"]),
        int(parameters["networks"]),
        dropout=float(parameters["dropout"]),
        learning_rate=float(parameters["learning_rate"]),
        weight_decay=float(parameters["weight_decay"]),
        smoothing=float(parameters["smoothing"]),
        random_state=seed,
    )


MLP = Algorithm(
    "prediction",
    "mlp",
    (
        Integer("epochs", _MIN_EPOCHS, _MAX_EPOCHS, 32, log=True),
        Integer("layers", 1, 3, 2),
        Integer("width", 32, 256, 96, log=True),
        Integer("networks", 1, 8, 2, log=True),
        Float("dropout", 0.0, 0.5, 0.2),
        Float("learning_rate", 3e-4, 1e-2, 3e-3, log=True),
        Float("weight_decay", 1e-3, 1.0, 0.1, log=True),
        Float("smoothing", 0.0, 0.2, 0.05),
    ),
    _mlp,
    family="neural",
    takes=frozenset({"missing", "negative", "collinear", "weights"}),
    cost=Cost(1.0, patients=0.8, columns=0.1),
    modules=("autoprog.space.prediction.epochs",),
    max_patients=_MAX_PATIENTS,
    stored_types=(
        "autoprog.space.prediction.linear_encoding.LinearEncoding",
        "autoprog.space.prediction.mlp.EpochwisePerceptron",
    ),
    reference="Gorishniy et al. (2021), Revisiting deep learning models for tabular data, NeurIPS: the ranges",
    table_1=False,
    path="epochs",
)
