"""Imputation by a multivariate normal distribution whose parameters the EM algorithm estimates.

=================  ===================================================================================================
symbol             meaning
=================  ===================================================================================================
`n`, `d`           patients, columns
`Z`                standardised table, one patient per row, shape = (n, d)
`mu`, `Sigma`      mean and covariance of the columns, shapes (d,) and (d, d)
`K`                `Sigma^-1`
`D`                `Z - mu` with missing cells replaced by their expectation, shape = (n, d)
`C`                sum over the patients of the covariances of missing given observed cells, shape = (d, d)
`ridge`            weight of the prior, as pseudo-patients with uncorrelated columns of unit variance, per patient
=================  ===================================================================================================

The estimate is the posterior mode of `Sigma` under Schafer's ridge prior: variances stay, correlations shrink. `Sigma`
is invertible even with fewer patients than columns, or dependent columns such as the dummies of a feature, for which
no maximum likelihood estimate exists. A `ridge` of 0 is maximum likelihood.

References
----------
Dempster, Laird & Rubin 1977; Little & Rubin, Statistical Analysis with Missing Data, 2nd ed., 11.2; ridge prior:
Schafer, Analysis of Incomplete Multivariate Data, 1997, 5.2.3.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.hyperparameters import Float, Parameter
from autoprog.space.imputation._conditional_mean import MissingCells, inverse
from autoprog.space.imputation._linear import LinearImputer


class EMImputer(LinearImputer):
    """Conditional means under a normal distribution fitted to the observed cells."""

    def __init__(self, ridge: float = 0.01, *, tol: float = 1e-3, max_iter: int = 200) -> None:
        self.ridge = ridge
        self.tol = tol  # largest change of a mean or covariance, in standard deviations of the columns
        self.max_iter = max_iter

    def _estimate(
        self, Z: NDArray[np.float64], missing: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        cells = MissingCells(missing)
        mu: NDArray[np.float64] = np.zeros(Z.shape[1])
        Sigma: NDArray[np.float64] = np.eye(Z.shape[1])
        for n_iter in range(1, self.max_iter + 1):
            step, updated = self._step(Z, missing, cells, mu, Sigma)
            change = max(np.abs(step).max(), np.abs(updated - Sigma).max())
            mu, Sigma, self.n_iter_ = mu + step, updated, n_iter
            if change < self.tol:
                break
        else:
            message = f"EM changed a parameter by {change:.2g} in iteration {self.max_iter}, its last"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return mu, inverse(Sigma)

    def _step(
        self,
        Z: NDArray[np.float64],
        missing: NDArray[np.bool_],
        cells: MissingCells,
        mu: NDArray[np.float64],
        Sigma: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """One E and M step: the change of `mu`, and the new `Sigma`."""
        n, d = Z.shape
        D = np.where(missing, 0.0, Z - mu)
        C = cells.impute(D, inverse(Sigma))
        step = D.mean(axis=0)
        S = (D.T @ D + C) / n - np.outer(step, step)
        return step, (S + self.ridge * np.eye(d)) / (1 + self.ridge)


def _build(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return EMImputer(float(parameters["ridge"]))


EM = Algorithm(
    "imputation",
    "em",
    # From near maximum likelihood to half of the weight on uncorrelated columns.
    (Float("ridge", 1e-4, 1.0, 0.01, log=True),),
    _build,
    family="imputation",
    takes=frozenset({"missing", "negative", "collinear"}),
    cost=Cost(0.01, 0.9, 1.5),
    max_columns=500,
    max_patients=50_000,
    stored_types=("autoprog.space.imputation.em.EMImputer",),
    reference="Schafer, Analysis of Incomplete Multivariate Data, 1997, 5.2-5.3",
)
