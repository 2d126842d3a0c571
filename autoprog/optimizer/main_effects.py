"""Main effects: what each algorithm, and each hyperparameter along its axis, adds to a pipeline's gain.

=======  =====================================================================================  =============  =======
symbol   meaning                                                                                shape          range
=======  =====================================================================================  =============  =======
u        a hyperparameter on its axis                                                           scalar         [-1, 1]
P_1      first Legendre polynomial, u: a slope                                                  scalar         [-1, 1]
P_2      second one, (3 u^2 - 1) / 2: a bend; both are 0 on average over the axis               scalar         [-1, 1]
Phi      whether pipelines use each algorithm; P_1 and P_2 of each hyperparameter, 0 where its  (n, n_terms)   [-1, 1]
         algorithm is not used
y        standardised gains                                                                     (n,)           1
s2       variance of the residual of y                                                          scalar         1
b        the effects, a priori N(0, s2 / 2)                                                     (n_terms,)     1
=======  =====================================================================================  =============  =======

    E[b | y] = (Phi' Phi + 2 I)^-1 Phi' y

Every pipeline uses one algorithm of each stage, so a stage's effects are determined up to a constant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

from autoprog.optimizer.encoding import Encoding, Points
from autoprog.space import Algorithm

_PRECISION = 2.0


def term_names(encoding: Encoding) -> tuple[str, ...]:
    """Name the columns of `basis`: keys of algorithms, then each hyperparameter's slope, then its bend."""
    # For example prediction/xgboost, prediction/xgboost/trees and prediction/xgboost/trees^2.
    axes = [f"{a.key}/{h.name}" for a in encoding.algorithms for h in a.hyperparameters]
    return (*encoding.keys, *axes, *(f"{axis}^2" for axis in axes))


def basis(encoding: Encoding, points: Points) -> NDArray[np.float64]:
    """Phi, shape = (n, n_terms), with columns `term_names`."""
    u, on = 2.0 * points.units - 1.0, points.used[:, encoding.owner]
    return np.hstack([points.used, np.where(on, u, 0.0), np.where(on, 1.5 * u**2 - 0.5, 0.0)])


def main_effects(encoding: Encoding, points: Points, y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimate E[b | y] of all terms, shape = (n_terms,); 0 for terms that no pipeline uses."""
    phi = basis(encoding, points)
    gram = phi.T @ phi + _PRECISION * np.eye(phi.shape[1])
    effects: NDArray[np.float64] = solve(gram, phi.T @ (y - y.mean()), assume_a="pos")
    return effects


# Families of prediction algorithms that are expected to do well and badly on the same cohorts.
_TOGETHER = {"tree": "forest", "survival": "forest", "kernel": "local"}


def family_labels(algorithms: Sequence[Algorithm], subspaces: int) -> NDArray[np.int64]:
    """Label each algorithm's home subspace, shape = (n_alg,), below `subspaces`."""
    # Each stage but prediction is one family; prediction algorithms have the families of their registry entries. Beyond
    # M families, the last ones share subspaces with the first.
    names = [_TOGETHER.get(a.family, a.family) if a.stage == "prediction" else a.stage for a in algorithms]
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([order[name] % subspaces for name in names], dtype=np.int64)
