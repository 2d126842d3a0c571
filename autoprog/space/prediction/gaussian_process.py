"""The Gaussian process classifier of Table 1: fitted by gpytorch, predicting from plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import ndtr
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import validate_data

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.fitted_rows import check_rows
from autoprog.space.hyperparameters import Choice, Integer, Parameter
from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes

if TYPE_CHECKING:
    from autoprog.space.prediction.variational import KernelName

# A fit makes 150 steps of 500 patients: with more patients than this, most would be read about once.
_GAUSSIAN_PROCESS = "autoprog.space.prediction.gaussian_process.GaussianProcess"
_MAX_PATIENTS = 50_000
# Rows of k(X, Z) in memory during a prediction.
_BLOCK = 10_000


class GaussianProcess(BinaryClassifier):
    """Sparse variational Gaussian process classifier with a probit link, in the notation of `variational`."""

    def __init__(
        self, kernel: KernelName = "rbf", *, ard: bool = True, inducing: int = 64, random_state: int = 0
    ) -> None:
        self.kernel = kernel
        self.ard = ard  # whether each column has its own length-scale
        self.inducing = inducing  # most inducing points; the cost of a fit grows with their square
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the process to standardised columns; ValueError without two classes."""
        # Imported here, so that the service lists the space without the seconds and 200 MB that torch takes.
        from autoprog.space.prediction.variational import fit_process, posterior  # noqa: PLC0415

        columns, outcome = validate_data(self, X, y, dtype=np.float64)
        self.classes_, events = two_classes(outcome)
        process = fit_process(
            columns, events, self.kernel, ard=self.ard, inducing=self.inducing, seed=self.random_state
        )
        q = posterior(process)
        self.mean_, self.variance_, self.lengths_ = q.mean, q.variance, q.lengths
        self.points_, self.weights_, self.reduction_ = q.points, q.weights, q.reduction
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each class: Phi(f) averaged over the posterior of f, shape = (n_patients, 2)."""
        columns = check_rows(self, X, missing=False)
        blocks = (columns[start : start + _BLOCK] for start in range(0, len(columns), _BLOCK))
        risk = np.concatenate([self._risk(block) for block in blocks])
        return np.column_stack([1.0 - risk, risk])

    def _risk(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        r = cdist(X / self.lengths_, self.points_ / self.lengths_)
        k = self.variance_ * _CORRELATION[self.kernel](r)
        mean = self.mean_ + k @ self.weights_
        variance = self.variance_ - np.einsum("ij,ij->i", k @ self.reduction_, k)
        # Rasmussen & Williams (2006), Gaussian processes for machine learning, equation 3.82: the averaged probit.
        return np.asarray(ndtr(mean / np.sqrt(1.0 + np.maximum(variance, 0.0))))


def _rbf(r: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.exp(-0.5 * r**2))


def _matern52(r: NDArray[np.float64]) -> NDArray[np.float64]:
    z = np.sqrt(5.0) * r
    return np.asarray((1.0 + z + z**2 / 3.0) * np.exp(-z))


def _matern32(r: NDArray[np.float64]) -> NDArray[np.float64]:
    z = np.sqrt(3.0) * r
    return np.asarray((1.0 + z) * np.exp(-z))


_CORRELATION = {"rbf": _rbf, "matern52": _matern52, "matern32": _matern32}


def _gaussian_process(parameters: Mapping[str, Parameter], _shape: TableShape, seed: int) -> BaseEstimator:
    return make_pipeline(
        StandardScaler(),
        GaussianProcess(
            cast("KernelName", parameters["kernel"]),
            ard=bool(parameters["ard"]),
            inducing=int(parameters["inducing"]),
            random_state=seed,
        ),
    )


GAUSSIAN_PROCESS = Algorithm(
    "prediction",
    "gaussian_process",
    (
        Choice("kernel", ("rbf", "matern52", "matern32"), default="rbf"),
        Choice("ard", (True, False), default=True),
        Integer("inducing", 16, 128, 64, log=True),
    ),
    _gaussian_process,
    "kernel",
    takes=frozenset({"negative", "collinear"}),
    cost=Cost(1.5, patients=0.1, columns=0.1),
    modules=("autoprog.space.prediction.variational", "torch._dynamo"),
    max_patients=_MAX_PATIENTS,
    stored_types=(_GAUSSIAN_PROCESS,),
    patients_in=_GAUSSIAN_PROCESS,  # inducing points start at patients
    reference="Hensman, Matthews & Ghahramani (2015), Scalable variational Gaussian process classification, AISTATS",
)
