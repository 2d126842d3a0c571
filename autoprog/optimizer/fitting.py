"""Kernel and noise parameters by maximum a posteriori, with gpytorch's exact marginal likelihood.

Priors are normal on the logarithm of each parameter, and the maximum is found on that scale too.
"""

from __future__ import annotations

import math

import gpytorch
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize

from autoprog.optimizer.encoding import Points
from autoprog.optimizer.kernel import GatedAdditiveKernel, KernelParameters, to_tensor

# Standard deviations of the logarithms under the log-normal priors.
_VARIANCE_PRIOR_SD, _LENGTH_PRIOR_SD, _NOISE_PRIOR_SD = 1.0, 0.7, 1.2
# Prior of the stages' effects, imputation first: prediction matters most, calibration and imputation little.
_EFFECT_CENTRES, _EFFECT_SD = (0.05, 0.2, 0.3, 0.05), 1.0

NOISE_FLOOR = 1e-4
# The noise is optimised as its excess over the floor. The excess starts at this share of the floor or more.
_MIN_EXCESS = 0.1
_ITERATIONS = 15
# Bounds of log s2, log ell, log (noise - floor) and log e: beyond them a Cholesky factor may need jitter.
_LOG_BOUNDS = ((-5.0, 5.0), (-4.0, 4.0), (-12.0, 3.0))
_EFFECT_BOUNDS = (-12.0, 3.0)


class MarginalLikelihood(gpytorch.models.ExactGP):  # type: ignore[misc]
    """A zero-mean exact GP under the gated additive kernel, with priors centred at `centres`."""

    def __init__(
        self, points: Points, y: NDArray[np.float64], kernel: GatedAdditiveKernel, centres: KernelParameters
    ) -> None:
        floor = gpytorch.constraints.GreaterThan(NOISE_FLOOR, transform=torch.exp, inv_transform=torch.log)
        likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=floor).double()
        super().__init__(to_tensor(points), torch.from_numpy(y), likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = kernel
        for module, name, (centre, sd) in (
            (kernel, "variance", (centres.variance, _VARIANCE_PRIOR_SD)),
            (kernel, "length", (centres.length, _LENGTH_PRIOR_SD)),
            (likelihood, "noise", (centres.noise, _NOISE_PRIOR_SD)),
        ):
            log_centre, log_sd = (torch.tensor(x, dtype=torch.float64) for x in (math.log(centre), sd))
            prior = gpytorch.priors.NormalPrior(log_centre, log_sd)
            module.register_prior(f"log_{name}_prior", prior, lambda m, name=name: getattr(m, name).log())
        if kernel.has_effects:
            log_effects = torch.tensor(_EFFECT_CENTRES, dtype=torch.float64).log()
            prior = gpytorch.priors.NormalPrior(log_effects, torch.full_like(log_effects, _EFFECT_SD))
            kernel.register_prior("log_effects_prior", prior, lambda m: m.effects.log())
        self.train()

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        """Prior at the rows of `to_tensor`."""
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    def log_likelihood(self) -> torch.Tensor:
        """log P(H | z), without the priors."""
        with _exact():
            return self.likelihood(self(*self.train_inputs)).log_prob(self.train_targets)  # type: ignore[no-any-return]

    def log_posterior(self) -> torch.Tensor:
        """log P(H | z) plus the log priors of the parameters."""
        # Made here, because it holds the model as a submodule.
        criterion = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self)
        with _exact():
            mean = criterion(self(*self.train_inputs), self.train_targets)
        return mean * len(self.train_targets)  # type: ignore[no-any-return]

    @property
    def raw_parameters(self) -> list[torch.nn.Parameter]:
        """The optimised parameters: log s2, log ell, log (noise - floor) and, with effects, log e by stage."""
        kernel = self.covar_module
        raw = [kernel.raw_variance, kernel.raw_length, self.likelihood.noise_covar.raw_noise]
        return [*raw, kernel.raw_effects] if kernel.has_effects else raw

    def set_raw(self, values: NDArray[np.float64]) -> None:
        """Set `raw_parameters`, shape = (3,), or (7,) with effects."""
        left = torch.from_numpy(values)
        with torch.no_grad():
            for parameter in self.raw_parameters:
                parameter.copy_(left[: parameter.numel()].reshape(parameter.shape))
                left = left[parameter.numel() :]


def _exact() -> gpytorch.settings.fast_computations:
    """Use Cholesky at every size, in place of conjugate gradients."""
    return gpytorch.settings.fast_computations(covar_root_decomposition=False, log_prob=False, solves=False)


def fit_parameters(model: MarginalLikelihood, start: KernelParameters) -> KernelParameters:
    """Climb the log posterior of the parameters by L-BFGS from `start`, for at most 15 iterations."""
    excess = max(start.noise - NOISE_FLOOR, NOISE_FLOOR * _MIN_EXCESS)

    def objective(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        model.set_raw(x)
        loss = -model.log_posterior()
        gradients = torch.autograd.grad(loss, model.raw_parameters)
        return loss.item(), torch.cat([g.reshape(-1) for g in gradients]).numpy()

    # The last fit's values make the climb short; effects that it lacks begin at the centres of their priors.
    kernel = model.covar_module
    effects = kernel.by_stage(start.effects) if start.effects else _EFFECT_CENTRES
    best = minimize(
        objective,
        np.log([start.variance, start.length, excess, *(effects if kernel.has_effects else ())]),
        jac=True,
        method="L-BFGS-B",
        bounds=[*_LOG_BOUNDS, *([_EFFECT_BOUNDS] * (len(effects) if kernel.has_effects else 0))],
        options={"maxiter": _ITERATIONS},
    )
    variance, length, excess, *effects = np.exp(best.x).tolist()
    return KernelParameters(
        variance,
        length,
        excess + NOISE_FLOOR,
        start.similarity,
        start.correlation,
        kernel.by_algorithm(effects),
        start.gated,
    )
