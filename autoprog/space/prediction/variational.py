"""Sparse variational inference for a binary Gaussian process classifier, by gpytorch.

=======  ===================================================================  ============  =========
symbol   meaning                                                              shape         unit
=======  ===================================================================  ============  =========
n, d, m  patients, columns, inducing points                                   scalars       1
X, y     columns of the patients, and their outcomes, 0 or 1                  (n, d), (n,)  sd, 1
Z        inducing points, some of the patients                                (m, d)        sd
f        latent function: a Gaussian process; P(y = 1 | f) = Phi(f)           (n,)          probit
c        mean of f                                                            scalar        probit
k        kernel of f: s2 g(r), r the distance after division by ell           function      probit^2
s2       prior variance of f                                                  scalar        probit^2
ell      length-scale of each column                                          (d,)          sd
L        Cholesky factor of K_ZZ + jitter                                     (m, m)        probit
v        whitened inducing values: f(Z) = c + L v; prior N(0, I)              (m,)          1
mu, S    mean and covariance of the posterior q(v)                            (m,), (m, m)  1
a        L^-T mu: the posterior mean at x is c + k(x, Z) a                    (m,)          probit^-1
B        L^-T (I - S) L^-1: the posterior variance is s2 - k(x, Z) B k(Z, x)  (m, m)        probit^-2
=======  ===================================================================  ============  =========

The evidence lower bound is maximised by natural gradients in (mu, S) and by Adam in (c, s2, ell), on random batches of
a cohort larger than one batch.

References
----------
Hensman, Matthews & Ghahramani (2015), Scalable variational Gaussian process classification, AISTATS.
Salimbeni, Eleftheriadis & Hensman (2018), Natural gradients in practice, AISTATS.
Hvarfner, Hellsten & Nardi (2024), Vanilla Bayesian optimization performs great in high dimensions, ICML: the prior of
the length-scales, whose median grows with sqrt(d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import gpytorch
import numpy as np
import torch
from numpy.typing import NDArray

from autoprog.space.prediction.torch_threads import one_torch_thread

KernelName = Literal["rbf", "matern52", "matern32"]

# Measured on Cleveland and on 1,000 and 10,000 simulated patients with 20 columns, four of them relevant: 80 steps
# leave the length-scales of the others too short (AUC .76 instead of .83), more than 150 gain nothing.
_STEPS = 150
_BATCH = 500
_NATURAL_RATE = 0.2
_ADAM_RATE = 0.1
# Standard deviation of log ell.
_LENGTH_SPREAD = 0.75
_JITTER = 1e-6

_SMOOTHNESS = {"matern52": 2.5, "matern32": 1.5}


@dataclass(frozen=True, eq=False)
class Posterior:
    """What a prediction needs."""

    mean: float  # c
    variance: float  # s2
    lengths: NDArray[np.float64]  # ell
    points: NDArray[np.float64]  # Z
    weights: NDArray[np.float64]  # a
    reduction: NDArray[np.float64]  # B


class SparseProcess(gpytorch.models.ApproximateGP):  # type: ignore[misc]
    """The model of the notation table, with fixed inducing points."""

    def __init__(self, Z: torch.Tensor, kernel: KernelName, *, ard: bool) -> None:
        # The library's default start is noise from torch's global generator.
        q = gpytorch.variational.NaturalVariationalDistribution(len(Z), mean_init_std=0.0)
        super().__init__(
            gpytorch.variational.VariationalStrategy(self, Z, q, learn_inducing_locations=False, jitter_val=_JITTER)
        )
        d = Z.shape[1]
        median = math.sqrt(d)
        axes = {
            "ard_num_dims": d if ard else None,
            "lengthscale_prior": gpytorch.priors.LogNormalPrior(math.log(median), _LENGTH_SPREAD),
        }
        base = (
            gpytorch.kernels.RBFKernel(**axes)
            if kernel == "rbf"
            else gpytorch.kernels.MaternKernel(_SMOOTHNESS[kernel], **axes)
        )
        base.lengthscale = median
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(base)

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        """The prior of f at `x`."""
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


@one_torch_thread()
def fit_process(
    X: NDArray[np.float64], y: NDArray[np.float64], kernel: KernelName, *, ard: bool, inducing: int, seed: int
) -> SparseProcess:
    """Maximise the evidence lower bound; at most `inducing` points, fewer with fewer distinct patients."""
    generator = torch.Generator().manual_seed(seed)
    inputs, outcomes = torch.from_numpy(X), torch.from_numpy(y)
    # Duplicate inducing points would make K_ZZ singular.
    distinct = torch.from_numpy(np.unique(X, axis=0))
    Z = distinct[torch.randperm(len(distinct), generator=generator)[:inducing]]
    process = SparseProcess(Z, kernel, ard=ard)
    process.double().train()
    with torch.random.fork_rng(devices=[]):  # the library draws what it then multiplies by zero
        _climb(process, inputs, outcomes, generator)
    process.eval()
    return process


def _climb(process: SparseProcess, X: torch.Tensor, y: torch.Tensor, generator: torch.Generator) -> None:
    likelihood = gpytorch.likelihoods.BernoulliLikelihood().double().train()
    bound = gpytorch.mlls.VariationalELBO(likelihood, process, num_data=len(X))
    climbers = (
        gpytorch.optim.NGD(process.variational_parameters(), num_data=len(X), lr=_NATURAL_RATE),
        torch.optim.Adam(process.hyperparameters(), lr=_ADAM_RATE),
    )
    for _ in range(_STEPS):
        batch = torch.randperm(len(X), generator=generator)[:_BATCH]
        for climber in climbers:
            climber.zero_grad()
        (-bound(process(X[batch]), y[batch])).backward()
        for climber in climbers:
            climber.step()


@one_torch_thread()
def posterior(process: SparseProcess) -> Posterior:
    """The fitted process as arrays, for predictions without gpytorch."""
    strategy = process.variational_strategy
    Z = strategy.inducing_points
    identity = torch.eye(len(Z), dtype=Z.dtype)
    with torch.no_grad():
        L = torch.linalg.cholesky(process.covar_module(Z).to_dense() + _JITTER * identity)
        q = strategy.variational_distribution
        half = torch.linalg.solve_triangular(L.T, identity - q.covariance_matrix, upper=True)
        B = torch.linalg.solve_triangular(L.T, half.T, upper=True)
        a = torch.linalg.solve_triangular(L.T, q.mean[:, None], upper=True)[:, 0]
        lengths = process.covar_module.base_kernel.lengthscale[0].expand(Z.shape[1])
    return Posterior(
        mean=process.mean_module.constant.item(),
        variance=process.covar_module.outputscale.item(),
        lengths=lengths.numpy().copy(),
        points=Z.numpy().copy(),
        weights=a.numpy(),
        reduction=((B + B.T) / 2).numpy(),
    )
