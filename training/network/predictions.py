"""What the network says of patients, given a table to learn from.

n, q          patients to learn from, patients to be predicted
p             columns
r             random orders of the columns, over which the log odds are averaged
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.network.encoding import (
    EventTable,
    Regressions,
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
    cells, missing = encode_cells(np.concatenate([X, others]), len(X))
    scores, base = binary_scores(Regressions.of(cells, missing, len(X)), y)
    network, arrays = load_network(), [_tensor(a) for a in (scores, y, np.asarray(base))]
    with torch.inference_mode():
        told = [network.binary(each, *arrays)[0].numpy() for each in _ordered(cells, missing, orders, rng)]
    return np.asarray(np.mean(told, axis=0, dtype=np.float64))


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
    n = len(X)
    cells, missing = encode_cells(np.concatenate([X, others]), n)
    scores = event_scores(Regressions.of(cells, missing, n), events.time, events.cause)
    interval = np.searchsorted(events.grid, events.time, "left")
    earlier = np.searchsorted(np.sort(events.time), events.time, "left") / n
    known = (scores, events.cause, interval, earlier, base_log_odds(interval, events.cause))
    network, arrays = load_network(), [_tensor(a) for a in known]
    with torch.inference_mode():
        told = [network.events(each, *arrays)[0].numpy() for each in _ordered(cells, missing, orders, rng)]
    return np.asarray(np.mean(told, axis=0, dtype=np.float64))


def _ordered(cells: _Floats, missing: NDArray[np.bool_], orders: int, rng: np.random.Generator) -> Iterator[Tensor]:
    for _ in range(orders):
        yield _tensor(group_cells(cells, missing, n_groups(missing.shape[1]), rng))


def _tensor(array: NDArray[np.generic]) -> Tensor:
    tensor = torch.from_numpy(np.array(array))[None]
    return tensor.float() if tensor.is_floating_point() else tensor.long()
