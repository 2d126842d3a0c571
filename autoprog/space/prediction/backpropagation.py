"""Training of a multilayer perceptron for a binary outcome, by torch.

======  ===============================================================================  =======================  ====
symbol  meaning                                                                          shape                    unit
======  ===============================================================================  =======================  ====
n, d    patients, columns                                                                scalars                  1
X, y    columns, and outcomes, 0 or 1                                                    (n, d), (n,)             1
W, b    weights and biases of a layer                                                    (n_in, n_out), (n_out,)  1
h       activations: X, then relu(h W + b) of each hidden layer; last the logit h W + b  (n, n_in)                1
p       share of hidden units that dropout leaves out at each step                       scalar                   1
eta     learning rate; at step t of T it is eta (1 + cos(pi t / T)) / 2                  scalar                   1
======  ===============================================================================  =======================  ====

One generator makes every random draw: held-out patients, initial weights, batches, dropout.

References
----------
Loshchilov & Hutter (2019), Decoupled weight decay regularization, ICLR.
He, Zhang, Ren & Sun (2015), Delving deep into rectifiers, ICCV: the initial weights.
Prechelt (1998), Early stopping - but when?, in Neural networks: tricks of the trade.
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

from autoprog.space.groups import Groups, splits_by_group
from autoprog.space.prediction.adamw import CosineAdamW
from autoprog.space.prediction.torch_threads import one_torch_thread

# At most 100 epochs, or 1,500 steps for a large cohort, whichever ends first: then a default fit to 56,000 patients
# takes seconds.
_EPOCHS = 100
_STEPS = 1500
_PATIENCE = 20
_MIN_BATCH, _LARGEST_BATCH = 32, 256
_BATCHES_PER_EPOCH = 8
_HELD_OUT = 0.2
_MAX_HELD_OUT = 10_000


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is trained."""

    hidden: tuple[int, ...]  # units of each hidden layer
    dropout: float  # p, in [0, 1)
    learning_rate: float  # eta, above 0
    weight_decay: float  # for weights, not biases; 0 or more


@dataclass(frozen=True, slots=True)
class Network:
    """The parameters W and b of each layer."""

    weights: list[torch.Tensor]
    biases: list[torch.Tensor]

    @classmethod
    def drawn(cls, sizes: Sequence[int], generator: torch.Generator) -> Network:
        """An untrained network: normal weights of variance 2 / n_in, zero biases; `sizes` are columns, units, 1."""
        weights = [
            (torch.randn(n_in, n_out, generator=generator) * math.sqrt(2.0 / n_in)).requires_grad_()
            for n_in, n_out in pairwise(sizes)
        ]
        return cls(weights, [torch.zeros(n_out, requires_grad=True) for n_out in sizes[1:]])

    def logits(self, X: torch.Tensor, dropout: float = 0.0, generator: torch.Generator | None = None) -> torch.Tensor:
        """Log odds of each patient, shape = (n,); dropout is 0 except in training."""
        h = X
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = torch.relu(torch.addmm(b, h, W))
            if dropout > 0:
                kept = torch.rand(h.shape, generator=generator) >= dropout
                h = h * kept / (1.0 - dropout)
        return torch.addmm(self.biases[-1], h, self.weights[-1])[:, 0]

    def copied(self) -> Network:
        """A copy of the parameters, unaffected by further training."""
        return Network([W.detach().clone() for W in self.weights], [b.detach().clone() for b in self.biases])


@one_torch_thread()
def train(
    X: NDArray[np.float32], y: NDArray[np.float32], recipe: Recipe, seed: int, groups: Groups | None = None
) -> Network:
    """Minimise the log loss by AdamW; keep the parameters that did best on a held-out fifth of each class."""
    generator = torch.Generator().manual_seed(seed)
    inputs, outcomes = torch.from_numpy(X), torch.from_numpy(y)
    learning, held_out = _split(outcomes, generator, groups)
    network = Network.drawn((X.shape[1], *recipe.hidden, 1), generator)
    batch = min(max(len(learning) // _BATCHES_PER_EPOCH, _MIN_BATCH), _LARGEST_BATCH)
    steps = min(_EPOCHS * math.ceil(len(learning) / batch), _STEPS)
    optimizer = CosineAdamW(
        network.weights, network.biases, rate=recipe.learning_rate, weight_decay=recipe.weight_decay, steps=steps
    )
    best, least, taken, since = network.copied(), math.inf, 0, 0
    while taken < steps and since < _PATIENCE:
        order = learning[torch.randperm(len(learning), generator=generator)]
        for patients in torch.split(order, batch)[: steps - taken]:
            logits = network.logits(inputs[patients], recipe.dropout, generator)
            optimizer.step(log_loss(logits, outcomes[patients]))
            taken += 1
        with torch.no_grad():
            loss = log_loss(network.logits(inputs[held_out]), outcomes[held_out]).item()
        since += 1
        if loss < least:
            best, least, since = network.copied(), loss, 0
    return best


def _split(
    y: torch.Tensor, generator: torch.Generator, groups: Groups | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Patients to learn from and about a fifth held out, each class alike as far as whole groups allow."""
    share = min(_HELD_OUT, _MAX_HELD_OUT / len(y))
    if groups is not None:
        seed = int(torch.randint(2**31, (), generator=generator))
        splits = splits_by_group(y.numpy(), groups, math.ceil(1.0 / share), seed)
        if splits is not None:
            train, test = min(splits, key=lambda split: abs(len(split[1]) - share * len(y)))
            return torch.from_numpy(train), torch.from_numpy(test)
    learning, held_out = [], []
    for value in (0.0, 1.0):
        members = torch.nonzero(y == value)[:, 0]
        members = members[torch.randperm(len(members), generator=generator)]
        cut = int(share * len(members))
        held_out.append(members[:cut])
        learning.append(members[cut:])
    chosen = torch.cat(held_out)
    kept = torch.cat(learning)
    # With fewer than five patients in each class, none can be held out.
    return kept, chosen if len(chosen) else kept
