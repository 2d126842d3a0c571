"""The Gaussian process on the scores of pipelines: its predictions, whole and by component.

=======  =====================================================================================  ==============  =======
symbol   meaning                                                                                shape           unit
=======  =====================================================================================  ==============  =======
X, y     observed pipelines and their standardised gains                                        n               1
K, S     covariance of the observed, noise times identity                                       (n, n)          1
L        Cholesky factor of K + S                                                               (n, n)          1
mu_m     posterior mean of component m: k_m(x, X) (K + S)^-1 y                                  (M, p)          1
sd_m     posterior sd of component m: sqrt(k_m(x, x) - k_m(x, X) (K + S)^-1 k_m(X, x))          (M, p)          1
=======  =====================================================================================  ==============  =======

The means of the components and of the algorithms' own effects sum to the mean of the whole. Their sds bound its sd from
above, because components are correlated a posteriori. Predicted gains are standardised and without noise.

References
----------
Duvenaud, Nickisch & Rasmussen 2011, NeurIPS; Alaa & van der Schaar 2018, ICML, section 3.3.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from autoprog.optimizer.encoding import Points
from autoprog.optimizer.kernel import (
    KernelParameters,
    coordinates,
    effect_covariance,
    squared_distances,
    touched,
)

_Block = tuple[NDArray[np.intp], ...]

_JITTERS = (1e-10, 1e-8, 1e-6, 1e-4)
# Keeps the slope of a standard deviation finite where the variance is 0.
_MIN_VARIANCE = 1e-12


def cholesky(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lower Cholesky factor, with the least jitter up to 1e-4 on the diagonal; LinAlgError if none suffices."""
    jittered = covariance
    for jitter in _JITTERS:
        try:
            return np.linalg.cholesky(jittered).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            jittered = covariance + jitter * np.eye(covariance.shape[-1])
    return np.linalg.cholesky(jittered).astype(np.float64, copy=False)


class Surrogate:
    """The process under one decomposition, conditioned on observations."""

    def __init__(
        self,
        points: Points,
        y: NDArray[np.float64],
        labels: NDArray[np.int64],
        subspaces: int,
        *,
        owner: NDArray[np.int64],
        parameters: KernelParameters,
    ) -> None:
        self.labels = labels
        self.subspaces = subspaces
        self.owner = owner
        self.parameters = parameters
        self._points = points
        self._on = self._touched(points)
        self._root_touched = np.sqrt(self._on.sum(axis=1))
        covariance = self.covariance(points, points)
        self._factor = cholesky(covariance + parameters.noise * np.eye(len(points)))
        self._weights = cho_solve((self._factor, True), y)
        self._y = y

    @property
    def components_in_play(self) -> list[int]:
        """Subspaces that hold an algorithm; without the gate all, since an empty one adds a constant."""
        held: list[int] = np.unique(self.labels).tolist()
        return held if self.parameters.gated else list(range(self.subspaces))

    def _touched(self, points: Points) -> NDArray[np.bool_]:
        return touched(points, self.labels, self.subspaces, gated=self.parameters.gated)

    @property
    def log_likelihood(self) -> float:
        """log P(H | z), the log marginal density of `y`."""
        log_det = 2.0 * float(np.log(np.diag(self._factor)).sum())
        return float(-0.5 * (self._y @ self._weights + log_det + len(self._y) * np.log(2.0 * np.pi)))

    def covariance(self, rows: Points, columns: Points) -> NDArray[np.float64]:
        """Prior covariance of the gains, shape = (n_rows, n_columns)."""
        total = effect_covariance(rows, columns, self.parameters.effects)
        for _, block, covariance in self._components(rows, columns):
            total[block] += covariance
        return total

    def component_covariances(self, rows: Points, columns: Points) -> NDArray[np.float64]:
        """Prior covariance of each component, shape = (M, n_rows, n_columns)."""
        covariances = np.zeros((self.subspaces, len(rows), len(columns)))
        for m, block, covariance in self._components(rows, columns):
            covariances[m][block] = covariance
        return covariances

    def _components(self, rows: Points, columns: Points) -> Iterator[tuple[int, _Block, NDArray[np.float64]]]:
        """Yield each component's prior covariance among the pipelines that touch it, with their rows and columns."""
        on_rows, on_columns = self._touched(rows), self._touched(columns)
        scale_rows, scale_columns = (np.sqrt(on.sum(axis=1)) for on in (on_rows, on_columns))
        for m in self.components_in_play:
            members, on, on_ = self.labels == m, on_rows[:, m], on_columns[:, m]
            x, x_ = (coordinates(p, members, self.owner, self.parameters) for p in (rows[on], columns[on_]))
            correlation = self.parameters.correlate(squared_distances(x, x_))
            scale = self.parameters.variance / np.outer(scale_rows[on], scale_columns[on_])
            yield m, np.ix_(np.flatnonzero(on), np.flatnonzero(on_)), scale * correlation

    def joint(self, points: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean, shape = (p,), and covariance, shape = (p, p), of the true gains."""
        cross = self.covariance(points, self._points)
        prior = self.covariance(points, points)
        half = solve_triangular(self._factor, cross.T, lower=True)
        return cross @ self._weights, prior - half.T @ half

    def marginal(self, points: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and variance of each true gain, shape = (p,) each."""
        cross = self.covariance(points, self._points)
        half = solve_triangular(self._factor, cross.T, lower=True, check_finite=False)
        own = points.used @ np.array(self.parameters.effects) if self.parameters.effects else 0.0
        variance = self.parameters.variance + own - np.einsum("ij,ij->j", half, half)
        return cross @ self._weights, np.maximum(variance, 0.0)

    def smoother(self, points: Points) -> NDArray[np.float64]:
        """The matrix A, shape = (p, n), with which the mean of `joint` is A y for any observed y."""
        cross = self.covariance(points, self._points)
        matrix: NDArray[np.float64] = cho_solve((self._factor, True), cross.T).T
        return matrix

    def components(self, points: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and sd of every component, shape = (M, p) each; 0 where a pipeline does not touch it."""
        on = self._touched(points)
        root_touched = np.sqrt(on.sum(axis=1))
        mean, sd = np.zeros((2, self.subspaces, len(points)))
        for m in self.components_in_play:
            mean[m, on[:, m]], sd[m, on[:, m]] = self.component(points[on[:, m]], m)
        return mean / root_touched, sd / root_touched

    def effects(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and sd of every algorithm's own effect, shape = (n_alg,) each; 0 if there are none."""
        used = self._points.used
        if not self.parameters.effects:
            return np.zeros(used.shape[1]), np.zeros(used.shape[1])
        own = np.array(self.parameters.effects)
        cross = own[:, None] * used.T
        half = solve_triangular(self._factor, cross.T, lower=True, check_finite=False)
        return cross @ self._weights, np.sqrt(np.maximum(own - np.einsum("ij,ij->j", half, half), 0.0))

    def component(self, points: Points, m: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and sd of component m, times sqrt(T), shape = (p,) each."""
        # All points touch subspace m; only its algorithms need be set in them.
        cross = self.parameters.variance * self.parameters.correlate(self._distances(points, m)) * self._scale(m)
        half = solve_triangular(self._factor, cross.T, lower=True, check_finite=False)
        variance = self.parameters.variance - np.einsum("ij,ij->j", half, half)
        return cross @ self._weights, np.sqrt(np.maximum(variance, 0.0))

    def bound_and_slope(self, points: Points, m: int, beta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean + sqrt(beta) sd of `component`, shape = (p,), and its gradient by the axes, shape = (p, n_hyper)."""
        r2, variance = self._distances(points, m), self.parameters.variance
        cross = variance * self.parameters.correlate(r2) * self._scale(m)
        solved = cho_solve((self._factor, True), cross.T).T
        sd = np.sqrt(np.maximum(variance - np.einsum("ij,ij->i", cross, solved), _MIN_VARIANCE))
        by_cross = self._weights - np.sqrt(beta) * solved / sd[:, None]
        by_r2 = by_cross * variance * self.parameters.slope(r2) * self._scale(m)
        units, observed = points.units, self._points.units
        slope = 2.0 / self.parameters.length**2 * (units * by_r2.sum(axis=1)[:, None] - by_r2 @ observed)
        slope[:, self.labels[self.owner] != m] = 0.0
        return cross @ self._weights + np.sqrt(beta) * sd, slope

    def _distances(self, points: Points, m: int) -> NDArray[np.float64]:
        members = self.labels == m
        x, observed = (coordinates(p, members, self.owner, self.parameters) for p in (points, self._points))
        return squared_distances(x, observed)

    def _scale(self, m: int) -> NDArray[np.float64]:
        """on_m T^(-1/2) of the observed pipelines."""
        scale: NDArray[np.float64] = self._on[:, m] / self._root_touched
        return scale
