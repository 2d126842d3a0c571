"""Collapsed Gibbs sampling of decompositions.

========  ================================================================================  ============  =======
symbol    meaning                                                                           shape         unit
========  ================================================================================  ============  =======
r2[m]     squared distance of observed pipelines i, j in subspace m                         (M, n, n)     1
u[i, m]   number of algorithms of subspace m that pipeline i uses                           (n, M)        1
T[i]      number of subspaces that pipeline i touches                                       (n,)          1
G         sum_m g(r2[m]) on_m on_m', the structured covariance before s2 and T              (n, n)        1
E         covariance from the algorithms' own effects, which no label changes               (n, n)        1
v         index of the observed pipelines that use the algorithm at hand ("users")          (k,)          1
o         index of the others                                                               (n - k,)      1
========  ================================================================================  ============  =======

One step gives algorithm a a new label, with sizes n_m that exclude a:

    z_a = argmax_m  log P(H | z, z_a = m) + log(n_m + gamma) + h [m = home_a] + omega_m,   omega_m iid Gumbel(0, 1)

Here n_m counts the algorithms of all stages, or of a's stage where stages have their own proportions.

Only rows and columns of a's users depend on its label. The others' block is factorised once an algorithm, and each
label costs one Schur complement of size k: exact, and several times cheaper than M Cholesky factors of size n.

References
----------
Alaa & van der Schaar 2018, ICML, eq. 8; Maddison, Tarlow & Minka 2014, NeurIPS (Gumbel-max).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from autoprog.optimizer.decomposition import DecompositionPrior
from autoprog.optimizer.encoding import Points
from autoprog.optimizer.kernel import KernelParameters, coordinates, effect_covariance, squared_distances
from autoprog.optimizer.surrogate import Surrogate, cholesky


class LabelLikelihood:
    """log P(H | z) as a function of one algorithm's label, with the other labels held."""

    # Between an `attach` and the next `detach`, r2, u, G and `value` are those of all labels. Between `detach(a)` and
    # its `attach`, r2 and u leave a out, and `_rows[m]` are the rows of G for a's users if z_a were m. G still holds
    # these rows under the old label, but only its block of the others, which does not depend on a, is read until then.

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
        self.value = Surrogate(points, y, labels, subspaces, owner=owner, parameters=parameters).log_likelihood
        self._y = y
        self._parameters = parameters
        self._labels = labels.copy()
        self._used = points.used
        n_alg = len(labels)
        self._distances = np.empty((n_alg, len(points), len(points)))
        for a in range(n_alg):
            x = coordinates(points, np.arange(n_alg) == a, owner, parameters)
            self._distances[a] = squared_distances(x, x)
        members = labels[None, :] == np.arange(subspaces)[:, None]
        self._r2 = np.einsum("ma,aij->mij", members.astype(np.float64), self._distances)
        self._u = points.used.astype(np.int64) @ members.T
        on = self._touched()
        self._G = np.einsum("mij,im,jm->ij", parameters.correlate(self._r2), on, on, optimize=True)
        self._E = effect_covariance(points, points, parameters.effects)
        # Rows of G for the users of the detached algorithm, by label; `attach` writes those of the chosen one back.
        self._rows = np.empty((subspaces, 0, len(points)))

    def detach(self, a: int) -> NDArray[np.float64]:
        """Take an algorithm out of its subspace; return log P(H | z, z_a = m), shape = (M,). `attach` must follow."""
        subspaces = self._u.shape[1]
        v = np.flatnonzero(self._used[:, a])
        if not len(v):
            return np.full(subspaces, self.value)
        label = self._labels[a]
        np.maximum(self._r2[label] - self._distances[a], 0.0, out=self._r2[label])
        self._u[v, label] -= 1

        on = self._touched()
        without = self._parameters.correlate(self._r2[:, v]) * on[v].T[:, :, None] * on.T[:, None, :]
        on_with = on.copy()
        on_with[v] = True
        within = self._parameters.correlate(self._r2[:, v] + self._distances[a][v]) * on_with.T[:, None, :]
        self._rows = without.sum(axis=0) - without + within
        touches = np.repeat(on.sum(axis=1)[None, :], subspaces, axis=0)
        touches[:, v] += ~on[v].T
        return self._log_likelihoods(v, touches)

    def _touched(self) -> NDArray[np.bool_]:
        """`on_m`, shape = (n, M); all True for a kernel without the gate."""
        return self._u > 0 if self._parameters.gated else np.ones(self._u.shape, dtype=bool)

    def attach(self, a: int, m: int, value: float) -> None:
        """Put a detached algorithm into subspace m; `value` is what `detach` returned for m."""
        self._labels[a] = m
        self.value = value
        v = np.flatnonzero(self._used[:, a])
        if not len(v):
            return
        self._r2[m] += self._distances[a]
        self._u[v, m] += 1
        self._G[v] = self._rows[m]
        self._G[:, v] = self._rows[m].T

    def _log_likelihoods(self, v: NDArray[np.intp], touches: NDArray[np.int64]) -> NDArray[np.float64]:
        """log P(H | z) by label, shape = (M,), with the number of touched subspaces, shape = (M, n)."""
        s2, noise = self._parameters.variance, self._parameters.noise
        subspaces, n = touches.shape
        o = np.delete(np.arange(n), v)
        root = np.sqrt(touches)
        rows = s2 * self._rows / (root[:, v, None] * root[:, None, :]) + self._E[v]
        others = s2 * self._G[np.ix_(o, o)] / np.outer(root[0, o], root[0, o]) + self._E[np.ix_(o, o)]
        factor = cholesky(others + noise * np.eye(len(o)))

        cross = rows[:, :, o].reshape(subspaces * len(v), len(o)).T
        half = solve_triangular(factor, np.column_stack([cross, self._y[o]]), lower=True, check_finite=False)
        half_y = half[:, -1]
        half_m = half[:, :-1].T.reshape(subspaces, len(v), len(o))
        schur = cholesky(rows[:, :, v] + noise * np.eye(len(v)) - half_m @ half_m.transpose(0, 2, 1))
        residual = np.linalg.solve(schur, (self._y[v] - half_m @ half_y)[:, :, None])[:, :, 0]

        log_det = np.log(np.diag(factor)).sum() + np.log(np.diagonal(schur, axis1=1, axis2=2)).sum(axis=1)
        quadratic = half_y @ half_y + (residual**2).sum(axis=1)
        log_likelihoods: NDArray[np.float64] = -0.5 * quadratic - log_det - 0.5 * n * np.log(2.0 * np.pi)
        return log_likelihoods


class GibbsChain:
    """A chain over decompositions with the stationary distribution P(z | H); `best` is its most probable z."""

    def __init__(
        self,
        likelihood: LabelLikelihood,
        labels: NDArray[np.int64],
        prior: DecompositionPrior,
        rng: np.random.Generator,
    ) -> None:
        self._likelihood = likelihood
        self._sizes = prior.sizes(labels)
        self._group_of = prior.group_of(len(labels)).tolist()
        self._prior = prior
        self._rng = rng
        self.labels = labels.copy()
        self.best = labels.copy()
        self.best_log_posterior = likelihood.value + prior.log_density(labels)

    def visit(self, labels: NDArray[np.int64], log_likelihood: float) -> None:
        """Let a z compete for `best`; `log_likelihood` is its log P(H | z)."""
        log_posterior = log_likelihood + self._prior.log_density(labels)
        if log_posterior > self.best_log_posterior:
            self.best, self.best_log_posterior = labels.copy(), log_posterior

    def sweep(self) -> None:
        """Give every algorithm a new label, in order."""
        for a in range(len(self.labels)):
            sizes = self._sizes[self._group_of[a]]
            sizes[self.labels[a]] -= 1
            log_likelihoods = self._likelihood.detach(a)
            omega = self._rng.gumbel(size=len(sizes))
            m = int(np.argmax(log_likelihoods + self._prior.log_weights(a, sizes) + omega))
            self._likelihood.attach(a, m, float(log_likelihoods[m]))
            sizes[m] += 1
            self.labels[a] = m
            self.visit(self.labels, self._likelihood.value)
