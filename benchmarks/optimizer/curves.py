"""Regret over evaluations, and over predicted time, from shards.

========  =============================================================================  ====================
symbol    meaning                                                                        shape
========  =============================================================================  ====================
regret    (f* - f(incumbent)) / (f* - median f); 1 before the first success              (n_seeds, budget)
picked    the same of the posterior-mean pick; best observed for a method without        (n_seeds, n_picks)
f*        best f of the landscape's own search, or of any run that went further          scalar
========  =============================================================================  ====================
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.optimizer.shards import Run, Shard

Array = NDArray[np.float64]


class Place(NamedTuple):
    """A landscape."""

    cohort: str
    surrogate: str


@dataclass(frozen=True, eq=False)
class Curves:
    """One method on one landscape, by seed.

    Attributes
    ----------
    regret : mapping
        Seed -> regret of the best observed after each evaluation.
    picked : mapping
        Seed -> number of evaluations -> regret of the posterior-mean pick.
    by_time : mapping
        Seed -> regret after so many mean draws' predicted seconds.
    optimism : mapping
        Seed -> observed minus true score of the best observed, after each evaluation; NaN before the first.
    proposer_s : mapping
        Seed -> seconds of the proposer for each evaluation.
    """

    regret: Mapping[int, Array]
    picked: Mapping[int, Mapping[int, float]]
    by_time: Mapping[int, Array]
    optimism: Mapping[int, Array]
    proposer_s: Mapping[int, Array]

    def at(self, evaluations: int, *, pick: bool) -> dict[int, float]:
        """Regret by seed, of the runs that came so far or ended before."""
        if pick:
            return {seed: values[evaluations] for seed, values in self.picked.items() if evaluations in values}
        return {
            seed: float(values[evaluations - 1]) for seed, values in self.regret.items() if evaluations <= len(values)
        }


Table = Mapping[str, Mapping[Place, Curves]]


def curves(shards: Iterable[Shard], picks: Sequence[int]) -> Table:
    """Method -> landscape -> curves, of the shards of one table.

    Parameters
    ----------
    shards : iterable of Shard
        Of one table and batch size.
    picks : sequence of int
        Numbers of evaluations at which posterior-mean picks were recorded; a run may lack some.

    Returns
    -------
    mapping
        In the order of the shards.
    """
    shards = list(shards)
    best: dict[Place, float] = defaultdict(lambda: -np.inf)
    for shard in shards:
        place = Place(shard.cohort, shard.surrogate)
        found = [t for run in shard.runs for t in run.truth if t is not None]
        best[place] = max(best[place], shard.best, *found)
    table: dict[str, dict[Place, Curves]] = defaultdict(dict)
    for shard in shards:
        place = Place(shard.cohort, shard.surrogate)
        table[shard.method][place] = _curves(shard, best[place], picks)
    return table


def _curves(shard: Shard, best: float, picks: Sequence[int]) -> Curves:
    def regret(truth: Array) -> Array:
        return (best - np.where(np.isnan(truth), shard.median, truth)) / (best - shard.median)

    def until(run: Run, values: Array) -> Array:
        """A run that ended by itself stays where it was."""
        return np.concatenate([values, np.full(run.budget - len(values), values[-1])])

    whole = {run.seed: until(run, regret(run.truth_of(run.incumbents()))) for run in shard.runs}
    return Curves(
        regret=whole,
        picked={
            run.seed: {
                at: float(regret(run.truth_of([run.pick_at(at)]))[0])
                for at in picks
                if at <= run.budget and run.has_pick_at(at)
            }
            for run in shard.runs
        },
        by_time={run.seed: _by_time(run, whole[run.seed], shard.mean_seconds) for run in shard.runs},
        optimism={run.seed: _optimism(run) for run in shard.runs},
        proposer_s={run.seed: np.array(run.proposer_s) for run in shard.runs},
    )


def _by_time(run: Run, regret: Array, mean_seconds: float) -> Array:
    """Regret when as much time has passed as 1, 2, ... mean draws take; 1 before the first evaluation has ended."""
    ended = np.cumsum(run.seconds)
    done = np.searchsorted(ended, mean_seconds * np.arange(1, run.budget + 1) * (1 + 1e-9), side="right")
    return np.where(done > 0, regret[np.maximum(done, 1) - 1], 1.0)


def _optimism(run: Run) -> Array:
    numbers = run.incumbents()
    observed = np.array([*(np.nan if s is None else s for s in run.observed), np.nan])
    return observed[numbers] - run.truth_of(numbers)
