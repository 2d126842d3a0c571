"""Training of a few perceptrons side by side, epoch by epoch, by torch.

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

Each network reads the patients in an order of its own. Where a training stops changes nothing of the way to there.

References
----------
Elfwing, Uchibe & Doya (2018), Neural Netw. 107:3 (SiLU); Loshchilov & Hutter (2019), ICLR (decoupled decay); Szegedy et
al. (2016), CVPR (smoothed outcomes); He et al. (2015), ICCV (the first weights).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits as log_loss
from torch.nn.functional import silu

from autoprog.space.prediction.torch_threads import one_torch_thread

_MIN_BATCH, _LARGEST_BATCH, _BATCHES = 32, 256, 16
# Epochs without a better loss on the patients held out.
_PATIENCE = 12


@dataclass(frozen=True, slots=True)
class Recipe:
    """How networks are trained.

    Attributes
    ----------
    hidden : tuple of int
        Units of each hidden layer.
    networks : int
        k.
    dropout : float
        Share of hidden units left out at each step, in [0, 1).
    learning_rate : float
        eta, above 0.
    weight_decay : float
        Of the weights, not of the biases; 0 or more.
    smoothing : float
        How far outcomes are drawn to one half, in [0, 1).
    epochs : int
        T.
    """

    hidden: tuple[int, ...]
    networks: int
    dropout: float
    learning_rate: float
    weight_decay: float
    smoothing: float
    epochs: int


class Training:
    """Networks and how far their training has come.

    Parameters
    ----------
    X : ndarray, shape = (n, d)
        float32; columns of about unit scale.
    y : ndarray, shape = (n,)
        0 and 1.
    weight : ndarray, shape = (n,)
        Of each patient in the loss.
    recipe : Recipe
        Architecture and optimisation.
    seed : int
        Seeds every draw.
    """

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
        self._optimizer = torch.optim.AdamW(
            [
                {"params": self._weights, "weight_decay": recipe.weight_decay},
                {"params": self._biases, "weight_decay": 0.0},
            ],
            lr=recipe.learning_rate,
            fused=True,
        )
        steps = recipe.epochs * math.ceil(len(X) / self._batch)
        self._schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self._optimizer, steps)

    @one_torch_thread()
    def run(self, epochs: int) -> None:
        """Train for some epochs more, at most T in all."""
        for _ in range(epochs):
            self._epoch()

    @one_torch_thread()
    def watched(
        self,
        epochs: Sequence[int],
        X: NDArray[np.float32],
        y: NDArray[np.integer],
        weight: NDArray[np.float64] | None,
    ) -> list[NDArray[np.float32]]:
        """Train, and look at other patients after some epochs; end early when their loss no longer falls.

        Parameters
        ----------
        epochs : sequence of int
            When to look, ascending.
        X : ndarray, shape = (n_others, d)
            float32.
        y : ndarray, shape = (n_others,)
            0 and 1.
        weight : ndarray, shape = (n_others,), or None
            Of each in the loss.

        Returns
        -------
        list of ndarray, shape = (n_others,)
            Mean log odds of the networks after each of the first epochs that were asked for.
        """
        inputs, outcomes = torch.from_numpy(np.ascontiguousarray(X)), torch.from_numpy(y.astype(np.float32))
        counts = None if weight is None else torch.from_numpy(weight.astype(np.float32))
        seen: list[NDArray[np.float32]] = []
        best, least, done = 0, math.inf, 0
        for end in epochs:
            while done < end:
                self._epoch()
                done += 1
            with torch.no_grad():
                logits = self._logits(inputs[None].expand(self._recipe.networks, -1, -1)).mean(dim=0)
                losses = log_loss(logits, outcomes, reduction="none")
                loss = float(losses.mean() if counts is None else (losses * counts).sum() / counts.sum())
            seen.append(logits.numpy())
            if loss < least:
                best, least = done, loss
            elif done - best >= _PATIENCE:
                break
        return seen

    def parameters(self) -> tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]]:
        """W and b of each layer as they stand."""
        return [W.detach().numpy().copy() for W in self._weights], [b.detach().numpy().copy() for b in self._biases]

    def _epoch(self) -> None:
        k, n = self._recipe.networks, len(self._X)
        orders = torch.stack([torch.randperm(n, generator=self._generator) for _ in range(k)])
        for rows in torch.split(orders, self._batch, dim=1):
            self._optimizer.zero_grad()
            logits = self._logits(self._X[rows], self._recipe.dropout)
            losses = log_loss(logits, self._y[rows], weight=self._weight[rows], reduction="none")
            # The networks do not know of each other: the sum of their mean losses.
            torch.autograd.backward(losses.mean(dim=1).sum())
            self._optimizer.step()
            self._schedule.step()

    def _logits(self, h: torch.Tensor, dropout: float = 0.0) -> torch.Tensor:
        """Log odds, shape = (k, n), of columns of shape (k, n, d)."""
        for W, b in zip(self._weights[:-1], self._biases[:-1], strict=True):
            h = silu(torch.baddbmm(b, h, W))
            if dropout > 0:
                kept = torch.rand(h.shape, generator=self._generator) >= dropout
                h = h * kept / (1.0 - dropout)
        return torch.baddbmm(self._biases[-1], h, self._weights[-1])[:, :, 0]
