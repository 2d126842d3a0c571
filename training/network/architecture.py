"""The network: tokens of a patient attend to one another, then each to the same token of the patients to learn from.

B             tables
m, n          patients of a table, of whom the first n are those to learn from
t             tokens of a patient: groups of columns, then one that holds the outcome and the scores
d             numbers of a token

A patient to be predicted is seen by nobody else, so that predictions do not depend on who else is asked for.

References
----------
Hollmann et al. (2025), Accurate predictions on small data with a tabular foundation model, Nature 637:319: attention
along rows and columns.
Nakanishi (2025), Scalable-softmax is superior for attention, arXiv 2501.19399: the logarithm of the number of keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.network.encoding import CAUSES, CELL, INTERVALS, SCORES, SLOTS

_NAMES = 32
_TYPICAL_ROWS = 400.0


@dataclass(frozen=True)
class Size:
    """Numbers of a token, blocks, heads of attention, and how much wider the hidden layer of a block is."""

    d: int = 128
    blocks: int = 8
    heads: int = 4
    wider: int = 4


class _Attention(nn.Module):
    def __init__(self, size: Size, *, scaled: bool) -> None:
        super().__init__()
        self.heads = size.heads
        self.q = nn.Linear(size.d, size.d, bias=False)
        self.k = nn.Linear(size.d, size.d, bias=False)
        self.v = nn.Linear(size.d, size.d, bias=False)
        self.out = nn.Linear(size.d, size.d, bias=False)
        self.scale = nn.Parameter(torch.ones(size.heads)) if scaled else None
        self.explicit = not scaled

    def forward(self, x: Tensor, keys: Tensor) -> Tensor:
        """Attend from x, shape = (b, a, d), to keys, shape = (b, k, d)."""
        b, a, d = x.shape
        k = keys.shape[1]
        q = self.q(x).view(b, a, self.heads, -1).transpose(1, 2)
        key = self.k(keys).view(b, k, self.heads, -1).transpose(1, 2)
        value = self.v(keys).view(b, k, self.heads, -1).transpose(1, 2)
        if self.scale is not None:
            q = q * (self.scale * float(np.log(k + 1.0) / np.log(_TYPICAL_ROWS))).to(q.dtype)[:, None, None]
        if self.explicit:
            # Thousands of tiny sequences: the fused kernels would mostly pad.
            weights = (q @ key.mT * q.shape[-1] ** -0.5).softmax(dim=-1)
            told = weights.to(value.dtype) @ value
        else:
            told = functional.scaled_dot_product_attention(q, key, value)
        out: Tensor = self.out(told.transpose(1, 2).reshape(b, a, d))
        return out


class _Norm(nn.Module):
    """Root-mean-square norm in the precision of its input, which the fused kernel asks for."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), 1e-5)


class _Block(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.norms = nn.ModuleList(_Norm(size.d) for _ in range(3))
        self.columns = _Attention(size, scaled=False)
        self.rows = _Attention(size, scaled=True)
        self.up = nn.Linear(size.d, size.wider * size.d)
        self.down = nn.Linear(size.wider * size.d, size.d)
        for last in (self.columns.out, self.rows.out, self.down):
            nn.init.normal_(last.weight, std=0.02 / np.sqrt(2 * size.blocks))

    def forward(self, x: Tensor, n: int) -> Tensor:
        """x has shape = (B, m, t, d)."""
        B, m, t, d = x.shape
        h = self.norms[0](x).view(B * m, t, d)
        x = x + self.columns(h, h).view(B, m, t, d)
        h = self.norms[1](x).transpose(1, 2).reshape(B * t, m, d)
        x = x + self.rows(h, h[:, :n]).view(B, t, m, d).transpose(1, 2)
        out: Tensor = x + self.down(functional.gelu(self.up(self.norms[2](x))))
        return out


class PriorNetwork(nn.Module):
    """Risks of the patients of a table who are not among those to learn from.

    Parameters
    ----------
    size : Size
        Of the network.
    """

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.size = size
        d = size.d
        self.cells = nn.Linear(SLOTS * CELL, d)
        self.names = nn.Linear(_NAMES, d, bias=False)
        self.scores = nn.Linear(SCORES, d)
        # Labels 0 and 1 of a binary outcome, and none; causes from 0, censored, and none.
        self.labels = nn.Embedding(3 + CAUSES + 2, d)
        self.intervals = nn.Embedding(INTERVALS + 1, d)
        self.position = nn.Linear(1, d, bias=False)
        self.blocks = nn.ModuleList(_Block(size) for _ in range(size.blocks))
        self.norm = _Norm(d)
        last = nn.Linear(2 * d, 1 + INTERVALS * CAUSES)
        self.head = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), last)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)

    def binary(self, cells: Tensor, scores: Tensor, y: Tensor, log_odds: Tensor) -> Tensor:
        """Log odds of an event.

        Parameters
        ----------
        cells : Tensor, shape = (B, m, t - 1, SLOTS * CELL)
            As `encoding.group_cells` makes them.
        scores : Tensor, shape = (B, m, SCORES)
            As `encoding.binary_scores` makes them.
        y : Tensor of int, shape = (B, n)
            Outcomes of the patients to learn from.
        log_odds : Tensor, shape = (B,)
            Of an event among these.

        Returns
        -------
        Tensor, shape = (B, m - n)
            Of the other patients.
        """
        none = y.new_full((len(y), cells.shape[1] - y.shape[1]), 2)
        outcome = self.labels(torch.cat([y, none], dim=1))
        told = self._read(cells, scores, outcome, y.shape[1])
        return told[..., 0].float() + log_odds[:, None]

    def events(
        self, cells: Tensor, scores: Tensor, cause: Tensor, interval: Tensor, position: Tensor, log_odds: Tensor
    ) -> Tensor:
        """Log odds of each cause in each interval against none of them, for patients at risk at its beginning.

        Parameters
        ----------
        cells : Tensor, shape = (B, m, t - 1, SLOTS * CELL)
            As `encoding.group_cells` makes them.
        scores : Tensor, shape = (B, m, SCORES)
            As `encoding.event_scores` makes them.
        cause : Tensor of int, shape = (B, n)
            Of the patients to learn from; 0 is censored.
        interval : Tensor of int, shape = (B, n)
            In which their time lies, from 0; INTERVALS beyond the last.
        position : Tensor, shape = (B, n)
            Share of these patients whose time is earlier.
        log_odds : Tensor, shape = (B, INTERVALS, CAUSES)
            As `encoding.base_log_odds` makes them.

        Returns
        -------
        Tensor, shape = (B, m - n, INTERVALS, CAUSES)
            Of the other patients.
        """
        n = cause.shape[1]
        known = self.labels(cause + 3) + self.intervals(interval) + self.position(position[..., None].to(cells.dtype))
        none = self.labels(cause.new_full((len(cause), cells.shape[1] - n), 3 + CAUSES + 1))
        told = self._read(cells, scores, torch.cat([known, none.to(known.dtype)], dim=1), n)
        return told[..., 1:].float().view(*told.shape[:2], INTERVALS, CAUSES) + log_odds[:, None]

    def _read(self, cells: Tensor, scores: Tensor, outcome: Tensor, n: int) -> Tensor:
        g = cells.shape[2]
        # The same names for every table: groups are drawn at random already.
        names = torch.randn(g, _NAMES, generator=torch.Generator().manual_seed(g)).to(cells)
        columns = self.cells(cells) + self.names(names)
        target = outcome + self.scores(scores.to(cells.dtype))
        x = torch.cat([columns, target[:, :, None].to(columns.dtype)], dim=2)
        for block in self.blocks:
            x = block(x, n)
        told: Tensor = self.head(self.norm(x[:, n:, -1]))
        return told
