"""What the network says of patients, given a table to learn from.

n, q          patients to learn from, patients to be predicted
p             columns
r             random orders of the columns; every one of the q patients is predicted in one of them
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.network.encoding import (
    CAUSES,
    INTERVALS,
    EventTable,
    Ridge,
    base_log_odds,
    binary_scores,
    encode_cells,
    event_scores,
    group_cells,
    n_groups,
)
from training.network.weights import load_network

_Floats = NDArray[np.float64]


def log_odds(X: _Floats, y: NDArray[np.int64], others: _Floats, orders: int, rng: np.random.Generator) -> _Floats:
    """Log odds of an event.

    Parameters
    ----------
    X : ndarray, shape = (n, p)
        Columns of the patients to learn from; NaN is missing.
    y : ndarray of int, shape = (n,)
        Their outcomes, 0 or 1.
    others : ndarray, shape = (q, p)
        Columns of the patients to be predicted.
    orders : int
        r, 1 or more.
    rng : numpy.random.Generator
        Draws the orders.

    Returns
    -------
    ndarray, shape = (q,)
        Of the patients to be predicted.
    """
    table = _Table.of(X, others)
    scores, base = binary_scores(table.ridge, y)
    network, known, odds = load_network(), _tensor(y), _tensor(np.asarray(base))
    told = np.empty(len(others))
    with torch.inference_mode():
        for part, rows, cells in table.parts(orders, rng):
            told[part] = network.binary(cells, _tensor(scores[rows]), known, odds)[0].numpy()
    return told


def hazard_log_odds(X: _Floats, events: EventTable, others: _Floats, orders: int, rng: np.random.Generator) -> _Floats:
    """Log odds of each cause in each interval against none of them, for patients at risk at its beginning.

    Parameters
    ----------
    X : ndarray, shape = (n, p)
        Columns of the patients to learn from; NaN is missing.
    events : EventTable
        Their outcomes.
    others : ndarray, shape = (q, p)
        Columns of the patients to be predicted.
    orders : int
        r, 1 or more.
    rng : numpy.random.Generator
        Draws the orders.

    Returns
    -------
    ndarray, shape = (q, INTERVALS, CAUSES)
        Of the patients to be predicted; about -30 for a cause that no patient to learn from had.
    """
    table, n = _Table.of(X, others), len(X)
    scores = event_scores(table.ridge, events.time, events.cause)
    interval = np.searchsorted(events.grid, events.time, "left")
    earlier = np.searchsorted(np.sort(events.time), events.time, "left") / n
    known = [_tensor(a) for a in (events.cause, interval, earlier, base_log_odds(interval, events.cause))]
    network = load_network()
    told = np.empty((len(others), INTERVALS, CAUSES))
    with torch.inference_mode():
        for part, rows, cells in table.parts(orders, rng):
            told[part] = network.events(cells, _tensor(scores[rows]), *known)[0].numpy()
    return told


@dataclass(frozen=True, eq=False)
class _Table:
    n: int
    cells: _Floats
    missing: NDArray[np.bool_]
    ridge: Ridge

    @classmethod
    def of(cls, X: _Floats, others: _Floats) -> _Table:
        cells, missing = encode_cells(np.concatenate([X, others]), len(X))
        return cls(len(X), cells, missing, Ridge.of(cells, missing, len(X)))

    def parts(
        self, orders: int, rng: np.random.Generator
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Tensor]]:
        """Patients to be predicted in one order, their rows after those to learn from, and the cells of all."""
        known, q = np.arange(self.n), len(self.cells) - self.n
        for part in np.array_split(np.arange(q), min(orders, q)):
            rows = np.concatenate([known, self.n + part])
            groups = n_groups(self.missing.shape[1])
            yield part, rows, _tensor(group_cells(self.cells[rows], self.missing[rows], groups, rng))


def _tensor(array: NDArray[np.generic]) -> Tensor:
    tensor = torch.from_numpy(np.array(array))[None]
    return tensor.float() if tensor.is_floating_point() else tensor.long()
