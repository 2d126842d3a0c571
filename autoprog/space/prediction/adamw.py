"""AdamW with a cosine schedule, by torch's function for one step.

The classes of `torch.optim` do the same, but the first that a process makes loads the compiler of torch: a second and
70 MiB.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.optim.adamw import adamw

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8


class CosineAdamW:
    """AdamW whose rate at step t of T, from 0, is eta (1 + cos(pi t / T)) / 2; biases do not decay.

    Parameters
    ----------
    weights, biases : sequence of Tensor
        Leaves that require gradients.
    rate : float
        eta, above 0.
    weight_decay : float
        Share of the rate by which weights shrink at each step, 0 or more.
    steps : int
        T.
    """

    def __init__(
        self,
        weights: Sequence[torch.Tensor],
        biases: Sequence[torch.Tensor],
        *,
        rate: float,
        weight_decay: float,
        steps: int,
    ) -> None:
        self._groups = [_Group(weights, weight_decay), _Group(biases, 0.0)]
        self._rate, self._steps, self._taken = rate, steps, 0

    @torch.no_grad()
    def step(self, loss: torch.Tensor) -> None:
        """Move the parameters against the gradient of the loss."""
        torch.autograd.backward(loss)
        rate = self._rate * (1.0 + math.cos(math.pi * self._taken / self._steps)) / 2.0
        for group in self._groups:
            group.step(rate)
        self._taken += 1


class _Group:
    """Parameters with one decay, and the moments of their gradients."""

    def __init__(self, parameters: Sequence[torch.Tensor], weight_decay: float) -> None:
        self._parameters, self._weight_decay = list(parameters), weight_decay
        self._means = [torch.zeros_like(p) for p in parameters]
        self._squares = [torch.zeros_like(p) for p in parameters]
        self._steps = [torch.zeros(()) for _ in parameters]

    def step(self, rate: float) -> None:
        adamw(
            self._parameters,
            [p.grad for p in self._parameters if p.grad is not None],
            self._means,
            self._squares,
            [],
            self._steps,
            fused=True,
            amsgrad=False,
            beta1=_BETA_1,
            beta2=_BETA_2,
            lr=rate,
            weight_decay=self._weight_decay,
            eps=_EPSILON,
            maximize=False,
        )
        for p in self._parameters:
            p.grad = None
