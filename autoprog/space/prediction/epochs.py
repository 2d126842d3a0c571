"""Training of several perceptrons side by side, epoch by epoch, by torch.

======  ===============================================================================  ===========================
symbol  meaning                                                                          shape
======  ===============================================================================  ===========================
n, d    patients, columns                                                                scalars
k       networks                                                                         scalar
W, b    weights and biases of a layer                                                    (k, n_in, n_out), (k, 1, n_out)
h       activations: columns, then silu(h W + b) of each hidden layer; last the logits   (k, n, n_in)
T       epochs of the schedule                                                           scalar
eta     learning rate; at step t of S it is eta (1 + cos(pi t / S)) / 2, S of T epochs   scalar
======  ===============================================================================  ===========================

Each network reads the patients in its own order. The stopping point does not change the training before it.

References
----------
Elfwing, Uchibe & Doya (2018), Neural Netw. 107:3 (SiLU); Loshchilov & Hutter (2019), ICLR (decoupled decay); Szegedy et
al. (2016), CVPR (smoothed outcomes); He et al. (2015), ICCV (initial weights).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits as log_loss
from torch.nn.functional import silu

from autoprog.space.prediction.adamw import CosineAdamW
from autoprog.space.prediction.torch_threads import one_torch_thread

_MIN_BATCH, _LARGEST_BATCH, _BATCHES = 32, 256, 16
# Epochs without a better held-out loss.
_PATIENCE = 12
# Rows of activations in memory during a prediction.
_BLOCK = 10_000

Arrays = list[NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How networks are trained."""

    hidden: tuple[int, ...]  # units of each hidden layer
    networks: int  # k
    dropout: float  # share of hidden units left out at each step, in [0, 1)
    learning_rate: float  # eta, above 0
    weight_decay: float  # for weights, not biases; 0 or more
    smoothing: float  # shrinkage of outcomes to one half, in [0, 1)
    epochs: int  # T


class Training:
    """Networks in training; columns are float32 of about unit scale, outcomes 0 and 1."""

    def __init__(
        self,
        X: NDArray[np.float32],
        y: NDArray[np.float64],
        weight: NDArray[np.float64],
        recipe: Recipe,
        seed: int,
    ) -> None:
        self._recipe = recipe
        self._generator = torch.Generator().manual_seed(seed)
        self._X = torch.from_numpy(np.ascontiguousarray(X))
        smoothed = y * (1.0 - recipe.smoothing) + recipe.smoothing / 2.0
        self._y = torch.from_numpy(smoothed.astype(np.float32))
        self._weight = torch.from_numpy((weight / weight.mean()).astype(np.float32))
        k, sizes = recipe.networks, (X.shape[1], *recipe.hidden, 1)
        self._weights = [
            (torch.randn(k, n_in, n_out, generator=self._generator) * math.sqrt(2.0 / n_in)).requires_grad_()
            for n_in, n_out in pairwise(sizes)
        ]
        self._biases = [torch.zeros(k, 1, n_out, requires_grad=True) for n_out in sizes[1:]]
        self._batch = min(max(len(X) // _BATCHES, min(_MIN_BATCH, len(X))), _LARGEST_BATCH)
        self._optimizer = CosineAdamW(
            self._weights,
            self._biases,
            rate=recipe.learning_rate,
            weight_decay=recipe.weight_decay,
            steps=recipe.epochs * math.ceil(len(X) / self._batch),
        )

    @one_torch_thread()
    def run(self, epochs: int) -> None:
        """Train for more epochs, at most T in all."""
        for _ in range(epochs):
            self._epoch()

    @one_torch_thread()
    def watched(
        self,
        epochs: Sequence[int],
        X: NDArray[np.float32],
        y: NDArray[np.integer],
        weight: NDArray[np.float64] | None,
    ) -> list[tuple[Arrays, Arrays]]:
        """W and b after each of these epochs; ends once the loss of the held-out patients no longer falls."""
        inputs, outcomes = torch.from_numpy(np.ascontiguousarray(X)), torch.from_numpy(y.astype(np.float32))
        counts = None if weight is None else torch.from_numpy(weight.astype(np.float32))
        seen: list[tuple[Arrays, Arrays]] = []
        best, least, done = 0, math.inf, 0
        for end in epochs:
            while done < end:
                self._epoch()
                done += 1
            losses = log_loss(_mean_logits(inputs, self._weights, self._biases), outcomes, reduction="none")
            loss = float(losses.mean() if counts is None else (losses * counts).sum() / counts.sum())
            seen.append(self.parameters())
            if loss < least:
                best, least = done, loss
            elif done - best >= _PATIENCE:
                break
        return seen

    def parameters(self) -> tuple[Arrays, Arrays]:
        """Current W and b of each layer."""
        return [W.detach().numpy().copy() for W in self._weights], [b.detach().numpy().copy() for b in self._biases]

    def _epoch(self) -> None:
        k, n = self._recipe.networks, len(self._X)
        orders = torch.stack([torch.randperm(n, generator=self._generator) for _ in range(k)])
        for rows in torch.split(orders, self._batch, dim=1):
            logits = _logits(self._X[rows], self._weights, self._biases, self._drop)
            losses = log_loss(logits, self._y[rows], weight=self._weight[rows], reduction="none")
            # The sum of the mean losses keeps the networks independent.
            self._optimizer.step(losses.mean(dim=1).sum())

    def _drop(self, h: torch.Tensor) -> torch.Tensor:
        dropout = self._recipe.dropout
        if dropout == 0:
            return h
        kept = torch.rand(h.shape, generator=self._generator) >= dropout
        return h * kept / (1.0 - dropout)


@one_torch_thread()
def mean_logits(X: NDArray[np.float32], weights: Arrays, biases: Arrays) -> NDArray[np.float32]:
    """Mean log odds of the networks with these W and b, shape = (n,)."""
    inputs = torch.from_numpy(np.ascontiguousarray(X))
    W, b = ([torch.from_numpy(a) for a in part] for part in (weights, biases))
    logits: NDArray[np.float32] = _mean_logits(inputs, W, b).numpy()
    return logits


@torch.no_grad()
def _mean_logits(X: torch.Tensor, weights: list[torch.Tensor], biases: list[torch.Tensor]) -> torch.Tensor:
    k = len(weights[0])
    blocks = torch.split(X, _BLOCK)
    return torch.cat([_logits(rows[None].expand(k, -1, -1), weights, biases).mean(dim=0) for rows in blocks])


def _logits(
    h: torch.Tensor,
    weights: list[torch.Tensor],
    biases: list[torch.Tensor],
    drop: Callable[[torch.Tensor], torch.Tensor] = lambda h: h,
) -> torch.Tensor:
    """Log odds, shape = (k, n), from columns of shape (k, n, d)."""
    for W, b in zip(weights[:-1], biases[:-1], strict=True):
        h = drop(silu(torch.baddbmm(b, h, W)))
    return torch.baddbmm(biases[-1], h, weights[-1])[:, :, 0]
