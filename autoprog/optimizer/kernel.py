"""The gated additive covariance of two sets of pipelines, and its kernel in gpytorch.

=======  ======================================================================================  ============  =======
symbol   meaning                                                                                 shape         unit
=======  ======================================================================================  ============  =======
s2       variance of a pipeline's score                                                          scalar        score^2
ell      length-scale of the hyperparameters                                                     scalar        axis
w        weight of the indicator "algorithm is used"                                             scalar        axis
c        (w / ell)^2, such that swapping one algorithm leaves a correlation of rho               scalar        1
rho      prior correlation of two pipelines that differ by one algorithm of a subspace           scalar        (0, 1)
r2_m     squared distance in subspace m, in length-scales                                        (n, n')       1
on_m     whether a pipeline uses some algorithm of subspace m                                    (n, M)        bool
T        number of subspaces that a pipeline touches                                             (n,)          1
e        variance of an algorithm's own effect; 0 in the source's kernel                         (n_alg,)      score^2
=======  ======================================================================================  ============  =======

    k(P, P') = s2 (T T')^(-1/2) sum_m g(r2_m) on_m(P) on_m(P') + sum_a e_a used_a used'_a
    r2_m     = sum over algorithms a of m:  c [used_a != used'_a] + |units_a - units'_a|^2 / ell^2

Scores are standardised. The gate `on_m` keeps two pipelines that share no subspace uncorrelated. The division by T
gives all pipelines the same prior variance, however many subspaces they touch. Without the gate, as eq. 4 is printed,
on_m is 1 and T is M, so pipelines that have nothing in common correlate. The last term, which the source does not have,
lets an algorithm be good or bad in every pipeline. Without it, two pipelines with the same predictor have no more in
common than the other algorithms of their subspaces leave them.

The formulas are written once for numpy and torch, which both have `sqrt` and `exp`.

References
----------
Alaa & van der Schaar 2018, ICML, eq. 4.
Rasmussen & Williams 2006, eq. 4.9 (squared exponential) and 4.17 (Matern).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeVar

import gpytorch
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import brentq

from autoprog.optimizer.encoding import Points

if TYPE_CHECKING:
    from torch import Tensor


Array = TypeVar("Array", NDArray[np.float64], "Tensor")


class Correlation(Protocol):
    """A function g of squared distances that falls from 1 at 0 to 0."""

    def __call__(self, r2: Array, xp: ModuleType) -> Array:
        """Correlation at squared distances; `xp` is the array's module, numpy or torch."""


def matern52(r2: Array, xp: ModuleType) -> Array:
    """Matern 5/2 correlation at squared distances."""
    r: Array = xp.sqrt(5.0 * r2)
    correlation: Array = (1.0 + r + r * r / 3.0) * xp.exp(-r)
    return correlation


def rbf(r2: Array, xp: ModuleType) -> Array:
    """Squared exponential correlation at squared distances."""
    correlation: Array = xp.exp(-0.5 * r2)
    return correlation


CORRELATIONS: dict[str, Correlation] = {"matern52": matern52, "rbf": rbf}


@lru_cache(maxsize=64)
def indicator_weight(correlation: str, similarity: float) -> float:
    """The weight c of the table above; `similarity` is rho."""
    # A swap turns one indicator off and another on: r2 = 2 c and g(2 c) = rho. For rbf this is w = ell sqrt(-ln rho).
    g = CORRELATIONS[correlation]
    upper = 1.0
    while g(np.array(upper), np) > similarity:
        upper *= 2.0
    return float(brentq(lambda r2: float(g(np.array(r2), np)) - similarity, 0.0, upper, xtol=1e-14)) / 2.0


@dataclass(frozen=True, slots=True)
class KernelParameters:
    """Parameters of the kernel and the noise."""

    variance: float  # s2, in squared standardised scores
    length: float  # ell, in lengths of a hyperparameter's axis
    noise: float  # variance of an observed score about the true one, in squared standardised scores
    similarity: float  # rho
    correlation: str = "matern52"  # name of g in CORRELATIONS
    effects: tuple[float, ...] = ()  # e of each algorithm; empty for none
    gated: bool = True  # False: on_m is 1 everywhere

    @property
    def indicator(self) -> float:
        """The weight c for this rho."""
        return indicator_weight(self.correlation, self.similarity)

    def correlate(self, r2: NDArray[np.float64]) -> NDArray[np.float64]:
        """Correlation at squared distances, same shape."""
        return CORRELATIONS[self.correlation](r2, np)

    def slope(self, r2: NDArray[np.float64]) -> NDArray[np.float64]:
        """Derivative of the correlation by the squared distance, same shape."""
        if self.correlation == "rbf":
            return -0.5 * self.correlate(r2)
        r = np.sqrt(5.0 * r2)
        slope: NDArray[np.float64] = -5.0 / 6.0 * (1.0 + r) * np.exp(-r)
        return slope


def coordinates(
    points: Points, members: NDArray[np.bool_], owner: NDArray[np.int64], parameters: KernelParameters
) -> NDArray[np.float64]:
    """Map points so that squared Euclidean distance is r2; shape = (n, `members` and their hyperparameters)."""
    indicators = np.sqrt(parameters.indicator) * points.used[:, members]
    return np.hstack([indicators, points.units[:, members[owner]] / parameters.length])


def effect_covariance(rows: Points, columns: Points, effects: tuple[float, ...]) -> NDArray[np.float64]:
    """Covariance from the effects of algorithms that both pipelines use, shape = (n_rows, n_columns)."""
    if not effects:
        return np.zeros((len(rows), len(columns)))
    covariance: NDArray[np.float64] = (rows.used * np.array(effects)) @ columns.used.T.astype(np.float64)
    return covariance


def squared_distances(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared Euclidean distances, shape = (len(x), len(y)); rounding below zero is clipped."""
    squares = (x * x).sum(axis=1)[:, None] + (y * y).sum(axis=1)[None, :] - 2.0 * (x @ y.T)
    clipped: NDArray[np.float64] = np.maximum(squares, 0.0)
    return clipped


def touched(points: Points, labels: NDArray[np.int64], subspaces: int, *, gated: bool = True) -> NDArray[np.bool_]:
    """`on_m`, shape = (n, subspaces); all True without the gate."""
    if not gated:
        return np.ones((len(points), subspaces), dtype=bool)
    members = labels[:, None] == np.arange(subspaces)
    on: NDArray[np.bool_] = (points.used.astype(np.int64) @ members) > 0
    return on


# Keeps the square root inside a Matern correlation differentiable where two points coincide.
_LEAST_R2 = 1e-30


def to_tensor(points: Points) -> torch.Tensor:
    """Convert points to the kernel's input, shape = (n, n_alg + n_hyper), float64: `used`, then `units`."""
    return torch.from_numpy(np.hstack([points.used.astype(np.float64), points.units]))


class GatedAdditiveKernel(gpytorch.kernels.Kernel):  # type: ignore[misc]
    """The kernel for one decomposition, with parameters learned on a logarithmic scale."""

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
