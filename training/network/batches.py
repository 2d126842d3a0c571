"""Batches of synthetic tables as arrays that the network reads; batch i of a seed is always the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset

from training.network.encoding import (
    SLOTS,
    Regressions,
    base_log_odds,
    binary_scores,
    encode_cells,
    event_grid,
    event_scores,
    group_cells,
)
from training.network.outcomes import draw_rate, draw_score, draw_strength, draw_times, label
from training.network.tables import Extent, draw_latent, lose_cells, measure, standardise

_Floats = NDArray[np.float64]
_Arrays = dict[str, NDArray[Any]]

_MOST_TABLES = 96
_FEWEST_EVENTS = 3


def draw_extent(rng: np.random.Generator) -> Extent:
    """Draw how many patients and columns the tables of a batch have: 20 to 1,500 to learn from, 2 to 60 columns."""
    m = int(np.exp(rng.uniform(np.log(56), np.log(1_900))))
    n = max(20, min(1_500, int(m * rng.uniform(0.55, 0.92))))
    middle = min(60.0, max(2.0, np.exp(rng.normal(2.45, 0.7))))
    fewest, most = max(2, int(middle * 0.6)), min(60, int(np.ceil(middle * 1.4)))
    least = -(-most // SLOTS)
    groups = min(most, max(least, int(rng.choice([least, 8, 12])))) if least <= 12 else least
    return Extent(m, n, groups, fewest, most)


def draw_patients(rng: np.random.Generator, extent: Extent) -> tuple[_Floats, NDArray[np.int64]]:
    """Columns, shape = (m, p), and binary outcomes of one table, both of them among the patients to learn from."""
    while True:
        p = int(rng.integers(extent.fewest, extent.most + 1))
        U = draw_latent(rng, extent.m, p)
        rate, strength = draw_rate(rng, extent.n), draw_strength(rng)
        if rng.random() < 0.2:
            U, y, eta = _caused(rng, U, rate, strength)
            x = measure(rng, U)
        else:
            x = measure(rng, U)
            eta = draw_score(rng, standardise(x) if rng.random() < 0.5 else U)
            y = label(rng, eta, strength, rate)
        if 1 < y[: extent.n].sum() < extent.n - 1:
            return lose_cells(rng, x, U, eta), y


def draw_binary(rng: np.random.Generator, extent: Extent) -> _Arrays:
    """One table with a binary outcome."""
    x, y = draw_patients(rng, extent)
    cells, missing = encode_cells(x, extent.n)
    scores, log_odds = binary_scores(Regressions.of(cells, missing, extent.n), y[: extent.n])
    return {
        "cells": group_cells(cells, missing, extent.groups, rng),
        "scores": scores.astype(np.float32),
        "y": y,
        "log_odds": np.float32(log_odds),
    }


def _caused(
    rng: np.random.Generator, U: _Floats, rate: float, strength: float
) -> tuple[_Floats, NDArray[np.int64], _Floats]:
    """A disease, then what it does to some of the columns."""
    severity = rng.standard_normal(len(U))
    y = label(rng, severity, 3.0, rate) if rng.random() < 0.5 else (rng.random(len(U)) < rate).astype(np.int64)
    effect = standardise(y.astype(np.float64)) + rng.uniform(0, 0.5) * severity
    some = rng.random(U.shape[1]) < rng.uniform(0.1, 1.0)
    size = strength * rng.laplace(size=U.shape[1]) * some / np.sqrt(max(some.sum(), 1))
    return standardise(U + effect[:, None] * size), y, severity


def draw_events(rng: np.random.Generator, extent: Extent) -> _Arrays:
    """One table with event times of up to three causes; of the patients to predict nothing is censored."""
    n = extent.n
    while True:
        p = int(rng.integers(extent.fewest, extent.most + 1))
        U = draw_latent(rng, extent.m, p)
        x = measure(rng, U)
        columns = standardise(x) if rng.random() < 0.5 else U
        scores = [draw_score(rng, columns)]
        for _ in range(int(rng.choice(3, p=[0.5, 0.35, 0.15]))):
            shared = rng.uniform(-0.5, 1.0)
            scores.append(standardise(shared * scores[0] + (1 - abs(shared)) * draw_score(rng, columns)))
        true_time, true_cause, censoring = draw_times(rng, scores)
        if rng.random() < 0.3:
            step = np.quantile(true_time, 0.9) / rng.integers(10, 100)
            true_time, censoring = np.ceil(true_time / step) * step, np.ceil(censoring / step) * step
        time = np.minimum(true_time, censoring)[:n]
        cause = np.where(true_time <= censoring, true_cause, 0)[:n]
        if (cause == 1).sum() >= _FEWEST_EVENTS:
            break
    cells, missing = encode_cells(lose_cells(rng, x, U, scores[0]), n)
    grid = event_grid(time, cause, rng.uniform(0.7, 1.0))
    interval = np.searchsorted(grid, time, "left")
    state = np.searchsorted(grid, true_time[n:], "left")
    # A cause that nobody of those to learn from had is not known of.
    known = np.isin(true_cause[n:], cause)
    return {
        "cells": group_cells(cells, missing, extent.groups, rng),
        "scores": event_scores(Regressions.of(cells, missing, n), time, cause).astype(np.float32),
        "cause": cause,
        "interval": interval,
        "position": (np.searchsorted(np.sort(time), time, "left") / n).astype(np.float32),
        "log_odds": base_log_odds(interval, cause).astype(np.float32),
        "true_interval": np.where(known, state, -1),
        "true_cause": true_cause[n:],
    }


class Batches(Dataset[_Arrays]):
    """Batch i of a seed, whose tables share their extent and kind of outcome.

    Parameters
    ----------
    seed : int
        Of all batches.
    cells : int
        Tokens of a batch, about.
    event_share : float
        Share of batches with event times.
    """

    def __init__(self, seed: int, cells: int, event_share: float) -> None:
        self.seed, self.cells, self.event_share = seed, cells, event_share

    def __getitem__(self, i: int) -> _Arrays:
        """Draw the batch."""
        rng = np.random.default_rng([self.seed, i])
        extent = draw_extent(rng)
        tables = int(np.clip(self.cells // (extent.m * (extent.groups + 1)), 1, _MOST_TABLES))
        draw = draw_events if rng.random() < self.event_share else draw_binary
        drawn = [draw(rng, extent) for _ in range(tables)]
        told = {name: np.stack([one[name] for one in drawn]) for name in drawn[0]}
        told["cells"] = told["cells"].astype(np.float16)
        told["n"] = np.int64(extent.n)
        return told
