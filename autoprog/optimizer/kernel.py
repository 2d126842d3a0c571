"""The gated additive kernel of `covariance.py` in gpytorch."""

from __future__ import annotations

from collections.abc import Sequence

import gpytorch
import numpy as np
import torch
from numpy.typing import NDArray

from autoprog.optimizer.covariance import CORRELATIONS, indicator_weight
from autoprog.optimizer.encoding import Points

# Keeps the square root inside a Matern correlation differentiable where two points coincide.
_LEAST_R2 = 1e-30


def to_tensor(points: Points) -> torch.Tensor:
    """Convert points to the kernel's input, shape = (n, n_alg + n_hyper), float64: `used`, then `units`."""
    return torch.from_numpy(np.hstack([points.used.astype(np.float64), points.units]))


class GatedAdditiveKernel(gpytorch.kernels.Kernel):  # type: ignore[misc]
    """The kernel of `covariance.py` for one decomposition, with parameters learned on a logarithmic scale."""

    def __init__(
        self,
        labels: NDArray[np.int64],
        owner: NDArray[np.int64],
        similarity: float,
        correlation: str = "matern52",
        stages: NDArray[np.int64] | None = None,  # None for a kernel without effects
        ungated: int | None = None,  # M of a kernel without the gate; None for the gated one
    ) -> None:
        super().__init__()
        self._ungated = ungated
        self._n_algorithms = len(labels)
        # A pair (indicator columns, hyperparameter columns) for each subspace that holds an algorithm.
        self._subspaces = [
            (torch.from_numpy(np.flatnonzero(labels == m)), torch.from_numpy(np.flatnonzero(labels[owner] == m)))
            for m in np.unique(labels)
        ]
        self._correlation = CORRELATIONS[correlation]
        self._indicator = indicator_weight(correlation, similarity)
        positive = gpytorch.constraints.Positive(transform=torch.exp, inv_transform=torch.log)
        self._stages = None if stages is None else torch.from_numpy(stages)
        n_stages = 0 if stages is None else int(stages.max()) + 1
        for name, shape in (("raw_variance", ()), ("raw_length", ()), ("raw_effects", (n_stages,))):
            self.register_parameter(name, torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)))
            self.register_constraint(name, positive)

    @property
    def variance(self) -> torch.Tensor:
        """s2."""
        return self.raw_variance_constraint.transform(self.raw_variance)  # type: ignore[no-any-return]

    @property
    def length(self) -> torch.Tensor:
        """ell."""
        return self.raw_length_constraint.transform(self.raw_length)  # type: ignore[no-any-return]

    @property
    def effects(self) -> torch.Tensor:
        """e of each stage, shared by its algorithms."""
        return self.raw_effects_constraint.transform(self.raw_effects)  # type: ignore[no-any-return]

    def forward(self, x1: torch.Tensor, x2: torch.Tensor, diag: bool = False, **_: object) -> torch.Tensor:  # noqa: FBT001, FBT002  gpytorch's signature
        """Covariance of the rows of two inputs; only the diagonal if `diag`."""
        total = torch.zeros((), dtype=x1.dtype)
        touched1 = torch.zeros(x1.shape[:-1], dtype=x1.dtype)
        touched2 = torch.zeros(x2.shape[:-1], dtype=x2.dtype)
        for indicators, units in self._subspaces:
            on1, on2 = (x[..., indicators].amax(dim=-1) for x in (x1, x2))
            swaps, moves = (
                self.covar_dist(x1[..., columns], x2[..., columns], diag=diag, square_dist=True)
                for columns in (indicators, self._n_algorithms + units)
            )
            r2 = (self._indicator * swaps + moves / self.length**2).clamp_min(_LEAST_R2)
            gate = on1 * on2 if diag else on1.unsqueeze(-1) * on2.unsqueeze(-2)
            correlation = self._correlation(r2, torch)
            total = total + (correlation * gate if self._ungated is None else correlation)
            touched1, touched2 = touched1 + on1, touched2 + on2
        if self._ungated is not None:
            # In a subspace without an algorithm the correlation is 1.
            empty = self._ungated - len(self._subspaces)
            return self.variance * (total + empty) / self._ungated + self._effect(x1, x2, diag=diag)
        divisor = touched1 * touched2 if diag else touched1.unsqueeze(-1) * touched2.unsqueeze(-2)
        return self.variance * total / divisor.sqrt() + self._effect(x1, x2, diag=diag)

    @property
    def has_effects(self) -> bool:
        """Whether algorithms have effects of their own."""
        return self._stages is not None

    def by_algorithm(self, effects: Sequence[float]) -> tuple[float, ...]:
        """Map e of the stages to e of every algorithm."""
        return () if self._stages is None else tuple(effects[stage] for stage in self._stages.tolist())

    def by_stage(self, effects: Sequence[float]) -> tuple[float, ...]:
        """Map e of every algorithm to e of the stages."""
        return () if self._stages is None else tuple(dict(zip(self._stages.tolist(), effects, strict=True)).values())

    def _effect(self, x1: torch.Tensor, x2: torch.Tensor, *, diag: bool) -> torch.Tensor:
        if self._stages is None:
            return torch.zeros((), dtype=x1.dtype)
        used1, used2 = (x[..., : self._n_algorithms] for x in (x1, x2))
        weighted = used1 * self.effects[self._stages]
        return (weighted * used2).sum(dim=-1) if diag else weighted @ used2.transpose(-1, -2)
