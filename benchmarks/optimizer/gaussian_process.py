"""Two Gaussian processes on pipelines, fitted by maximum a posteriori: flat, and a product over the stages.

========  ==========================================================================  =============  =========
symbol    meaning                                                                     shape          range
========  ==========================================================================  =============  =========
X, y      encoded configurations, standardised scores                                 (n, D), (n,)
M52(r)    Matern 5/2 correlation at the scaled distance r                             (n, n)         (0, 1]
ell       length-scales; a prior log ell ~ N(mu, sd^2) for each                       (D,)           > 0
rho_t     correlation of two pipelines that differ in the algorithm of stage t        (4,)           (0, 1)
same_t    whether two pipelines use the same algorithm in stage t                     (n, n)         0 or 1
s2, c     variance of the process, and of a constant                                  scalars        > 0
noise     variance of y about the process                                             scalar         > 1e-4
========  ==========================================================================  =============  =========

    flat     k = s2 M52(|(x - x') / ell|)                            over algorithms and hyperparameters alike
    product  k = c + s2 prod_t (rho_t + (1 - rho_t) same_t M52(|(h_t - h'_t) / ell_t|))

References
----------
Hvarfner, Hellsten & Nardi 2024, ICML, equation 5: the prior of the flat process's length-scales.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]

_DTYPE = torch.float64
_STEPS, _MIN_NOISE = 60, 1e-4
_JITTERS = (1e-6, 1e-5, 1e-4, 1e-3)


class Kernel(Protocol):
    """A covariance with free numbers."""

    def start(self) -> dict[str, Tensor]:
        """Where the fit starts."""

    def log_prior(self, free: dict[str, Tensor]) -> Tensor:
        """Of the free numbers, up to a constant."""

    def __call__(self, free: dict[str, Tensor], A: Tensor, B: Tensor) -> Tensor:
        """Covariance of the rows of A and B."""


def _matern52(squared: Tensor) -> Tensor:
    r = torch.sqrt(5.0 * squared.clamp_min(0.0) + 1e-12)
    return (1.0 + r + r**2 / 3.0) * torch.exp(-r)


def _exp(x: Tensor) -> Tensor:
    """A line search may step far: what it finds there must be poor, and finite."""
    return torch.exp(x.clamp(-12.0, 5.0))


def _squared_distance(A: Tensor, B: Tensor) -> Tensor:
    return A.square().sum(1)[:, None] + B.square().sum(1)[None, :] - 2.0 * A @ B.T


def _normal(x: Tensor, mean: Tensor | float, sd: float) -> Tensor:
    return (-0.5 * ((x - mean) / sd) ** 2).sum()


class Flat:
    """Matern 5/2 with a length-scale for every column, and the prior that grows with their number."""

    def __init__(self, n_columns: int) -> None:
        self._mean = 2.0**0.5 + np.log(n_columns) / 2.0
        self._n_columns = n_columns

    def start(self) -> dict[str, Tensor]:
        return {
            "ell": torch.full((self._n_columns,), np.log(self._n_columns) / 2.0, dtype=_DTYPE),
            "s2": torch.zeros((), dtype=_DTYPE),
        }

    def log_prior(self, free: dict[str, Tensor]) -> Tensor:
        return _normal(free["ell"], self._mean, 3.0**0.5) + _normal(free["s2"], 0.0, 1.0)

    def __call__(self, free: dict[str, Tensor], A: Tensor, B: Tensor) -> Tensor:
        scale = _exp(-free["ell"])
        return _exp(free["s2"]) * _matern52(_squared_distance(A * scale, B * scale))


class Product:
    """A factor a stage: the same algorithm, and then how near its hyperparameters are."""

    def __init__(self, stage_of_algorithm: NDArray[np.int64], stage_of_axis: NDArray[np.int64], beside: Array) -> None:
        self._n_algorithms = len(stage_of_algorithm)
        self._stages = [
            (
                torch.from_numpy(np.flatnonzero(stage_of_algorithm == t)),
                torch.from_numpy(np.flatnonzero(stage_of_axis == t)),
            )
            for t in range(stage_of_algorithm.max() + 1)
        ]
        # Where several hyperparameters share a distance, each may be off by more.
        self._mean = torch.from_numpy(np.log(0.5) + 0.5 * np.log(beside.astype(float)))

    def start(self) -> dict[str, Tensor]:
        return {
            "ell": self._mean.clone(),
            "rho": torch.zeros(len(self._stages), dtype=_DTYPE),
            "s2": torch.zeros((), dtype=_DTYPE),
            "c": torch.tensor(-1.0, dtype=_DTYPE),
        }

    def log_prior(self, free: dict[str, Tensor]) -> Tensor:
        prior = _normal(free["ell"], self._mean, 0.7) + _normal(free["rho"], 0.0, 1.5)
        return prior + _normal(free["s2"], 0.0, 1.0) + _normal(free["c"], -1.0, 1.0)

    def __call__(self, free: dict[str, Tensor], A: Tensor, B: Tensor) -> Tensor:
        scale, rho = _exp(-free["ell"]), torch.sigmoid(free["rho"])
        k = _exp(free["s2"]) * torch.ones(len(A), len(B), dtype=_DTYPE)
        hyper_a, hyper_b = A[:, self._n_algorithms :] * scale, B[:, self._n_algorithms :] * scale
        for t, (algorithms, axes) in enumerate(self._stages):
            same = A[:, algorithms] @ B[:, algorithms].T
            near = _matern52(_squared_distance(hyper_a[:, axes], hyper_b[:, axes]))
            k = k * (rho[t] + (1.0 - rho[t]) * same * near)
        return _exp(free["c"]) + k


class Process:
    """A Gaussian process whose numbers were fitted to observations.

    Parameters
    ----------
    kernel : Kernel
        The covariance.
    X : ndarray, shape = (n, D)
        Encoded configurations.
    y : ndarray, shape = (n,)
        Scores in their own unit.
    """

    def __init__(self, kernel: Kernel, X: Array, y: Array) -> None:
        self._kernel, self._X = kernel, torch.from_numpy(X)
        self._mean, self._scale = float(y.mean()), float(y.std()) or 1.0
        target = torch.from_numpy((y - self._mean) / self._scale)
        self._free = self._fit(target)
        with torch.no_grad():
            self._weights = torch.cholesky_solve(target[:, None], self._factor(self._free))[:, 0]

    def _factor(self, free: dict[str, Tensor]) -> Tensor:
        noise = _exp(free["noise"]) + _MIN_NOISE
        K = self._kernel(free, self._X, self._X)
        variance, eye = torch.diagonal(K).mean(), torch.eye(len(K), dtype=_DTYPE)
        for jitter in _JITTERS:
            L, failed = torch.linalg.cholesky_ex(K + (noise + jitter * variance) * eye)
            if not failed:
                return L
        msg = f"the covariance of {len(K)} pipelines has no Cholesky factor even with a jitter of {_JITTERS[-1]:g}"
        raise ArithmeticError(msg)

    def _fit(self, target: Tensor) -> dict[str, Tensor]:
        free = {**self._kernel.start(), "noise": torch.tensor(np.log(0.1), dtype=_DTYPE)}
        for tensor in free.values():
            tensor.requires_grad_(True)  # noqa: FBT003  torch's own signature
        optimizer = torch.optim.LBFGS(list(free.values()), max_iter=_STEPS, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            optimizer.zero_grad()
            L = self._factor(free)
            half = torch.linalg.solve_triangular(L, target[:, None], upper=False)
            likelihood = -0.5 * half.square().sum() - torch.log(torch.diagonal(L)).sum()
            prior = self._kernel.log_prior(free) + _normal(free["noise"], float(np.log(0.1)), 1.2)
            value = -(likelihood + prior)
            value.backward()
            return value

        optimizer.step(loss)
        return {name: tensor.detach() for name, tensor in free.items()}

    def predict(self, X: Array) -> Array:
        """Posterior mean, shape = (m,)."""
        with torch.no_grad():
            mean = self._kernel(self._free, torch.from_numpy(X), self._X) @ self._weights
        answers: Array = self._mean + self._scale * mean.numpy()
        return answers
