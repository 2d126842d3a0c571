"""The decomposed upper confidence bound, maximised exactly over the choice of algorithms.

======  ==================================================================================  ===============  =======
symbol  meaning                                                                             shape            unit
======  ==================================================================================  ===============  =======
kind    the four algorithms of a pipeline                                                   (4,)             index
S       an active set: the algorithms of one subspace that a kind uses, at most one a stage  tuple            index
A_m(S)  bounds mu_m + sqrt(beta) sd_m at the candidates of S, times sqrt(T), falling        (c,)             1
T       number of subspaces that a kind touches                                             scalar           1
e       sum of the bounds mu + sqrt(beta) sd of a kind's algorithms' own effects            scalar           1
======  ==================================================================================  ===============  =======

A pipeline's acquisition is T^(-1/2) times the sum of A_m(S_m) over the subspaces that it touches, and e. Each A_m(S) is
computed once, for all the kinds that share the active set, so that the best pipeline over all kinds and all candidate
hyperparameters is found without visiting their product. The value bounds the joint mu + sqrt(beta) sd from above.

References
----------
Sheet autoprognosis.md, "Acquisition and batch"; Alaa & van der Schaar 2018, section 3.3.3.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.candidates import Pool
from autoprog.optimizer.encoding import UNSELECTED, Encoding, Points
from autoprog.optimizer.surrogate import Surrogate
from autoprog.space import STAGES, Configuration

# Rows of one covariance block; keeps the memory of a large subspace bounded.
_BLOCK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """A_m(S): the bounds of one active set.

    Attributes
    ----------
    algorithms : tuple of int
        S.
    values : ndarray, shape = (c,)
        Bounds, falling.
    candidates : ndarray of int, shape = (c,)
        Which candidate each belongs to.
    """

    algorithms: tuple[int, ...]
    values: NDArray[np.float64]
    candidates: NDArray[np.intp]


class PipelineBounds:
    """The acquisition of every kind of pipeline.

    Parameters
    ----------
    surrogate : Surrogate
        Under the decomposition that the components are taken from.
    encoding : Encoding
        Of the space.
    kinds : ndarray of int, shape = (n_kinds, 4)
        The algorithms of every valid kind.
    pools : sequence of Pool, length n_alg
        Candidate steps. An active set's candidate number c takes step c of each of its algorithms, and the only step
        of those that have one.
    beta : float
        Exploration weight, at least 0.

    Attributes
    ----------
    values : ndarray, shape = (n_kinds,)
        The greatest acquisition of each kind over its candidates.
    """

    def __init__(
        self,
        surrogate: Surrogate,
        encoding: Encoding,
        kinds: NDArray[np.int64],
        pools: Sequence[Pool],
        beta: float,
    ) -> None:
        self.kinds = kinds
        self._pools = pools
        self._active: list[ActiveSet] = []
        # Which active set each kind has in each subspace; -1 for none.
        self._of_kind = np.full((len(kinds), surrogate.subspaces), -1)
        total = np.zeros(len(kinds))
        labels = surrogate.labels[kinds]
        for m in np.unique(labels):
            sets, which = active_sets(kinds, labels == m)
            first = len(self._active)
            self._active += _bound(surrogate, encoding, int(m), sets, pools, beta)
            touches = which >= 0
            best = np.array([a.values[0] for a in self._active[first:]])
            total[touches] += best[which[touches]]
            self._of_kind[touches, m] = first + which[touches]
        self._root_touched = np.sqrt((self._of_kind >= 0).sum(axis=1))
        effect, sd = surrogate.effects()
        self._effects: NDArray[np.float64] = (effect + np.sqrt(beta) * sd)[kinds].sum(axis=1)
        self.values: NDArray[np.float64] = total / self._root_touched + self._effects

    def best_first(self, kinds: NDArray[np.intp]) -> Iterator[tuple[float, Configuration]]:
        """All candidate configurations of some kinds, by falling acquisition.

        Parameters
        ----------
        kinds : ndarray of int
            Rows of `kinds`.

        Yields
        ------
        (float, Configuration)
            Acquisition and configuration, each configuration once. The order among equals is fixed.
        """
        heap: list[tuple[float, int, tuple[int, ...]]] = [
            (-float(self.values[kind]), kind, (0,) * len(self._sets(kind))) for kind in kinds.tolist()
        ]
        heapq.heapify(heap)
        queued: set[tuple[int, tuple[int, ...]]] = set()
        yielded: set[Configuration] = set()
        while heap:
            negative, kind, ranks = heapq.heappop(heap)
            configuration = self._configuration(kind, ranks)
            if configuration not in yielded:
                yielded.add(configuration)
                yield -negative, configuration
            for place, active in enumerate(self._sets(kind)):
                following = (*ranks[:place], ranks[place] + 1, *ranks[place + 1 :])
                if following[place] < len(active.values) and (kind, following) not in queued:
                    queued.add((kind, following))
                    heapq.heappush(heap, (-self._value(kind, following), kind, following))

    def _sets(self, kind: int) -> list[ActiveSet]:
        return [self._active[s] for s in self._of_kind[kind] if s >= 0]

    def _value(self, kind: int, ranks: tuple[int, ...]) -> float:
        total = sum(float(active.values[r]) for active, r in zip(self._sets(kind), ranks, strict=True))
        return total / float(self._root_touched[kind]) + float(self._effects[kind])

    def _configuration(self, kind: int, ranks: tuple[int, ...]) -> Configuration:
        candidate = {
            a: int(active.candidates[r])
            for active, r in zip(self._sets(kind), ranks, strict=True)
            for a in active.algorithms
        }
        steps = (self._pools[a].steps[min(candidate[a], len(self._pools[a]) - 1)] for a in self.kinds[kind].tolist())
        return Configuration(**dict(zip(STAGES, steps, strict=True)))


def active_sets(
    kinds: NDArray[np.int64], members: NDArray[np.bool_]
) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """The distinct parts of kinds that lie in one subspace.

    Parameters
    ----------
    kinds : ndarray of int, shape = (n_kinds, 4)
        Algorithms.
    members : ndarray of bool, shape = (n_kinds, 4)
        Which of them lie in the subspace.

    Returns
    -------
    sets : list of tuple of int
        The non-empty ones.
    which : ndarray of int, shape = (n_kinds,)
        Place of each kind's in `sets`; -1 where it has none.
    """
    base = int(kinds.max()) + 2
    digits = np.where(members, kinds + 1, 0)
    codes, first, inverse = np.unique(
        digits @ base ** np.arange(kinds.shape[1]), return_index=True, return_inverse=True
    )
    empty = int(codes[0] == 0)
    sets = [tuple(kinds[i, members[i]].tolist()) for i in first[empty:]]
    return sets, inverse - empty


def n_active_sets(kinds: NDArray[np.int64], labels: NDArray[np.int64]) -> int:
    """Number of active sets over all subspaces; `labels` is z, shape = (n_alg,)."""
    of_kinds = labels[kinds]
    return sum(len(active_sets(kinds, of_kinds == m)[0]) for m in np.unique(of_kinds))


def _bound(
    surrogate: Surrogate,
    encoding: Encoding,
    m: int,
    sets: Sequence[tuple[int, ...]],
    pools: Sequence[Pool],
    beta: float,
) -> list[ActiveSet]:
    """A_m(S) for each S of one subspace."""
    sizes = [max(len(pools[a]) for a in S) for S in sets]
    ends = np.cumsum(sizes)
    used = np.zeros((ends[-1], encoding.n_algorithms), dtype=bool)
    units = np.full((ends[-1], len(encoding.owner)), UNSELECTED)
    for S, size, end in zip(sets, sizes, ends, strict=True):
        for a in S:
            used[end - size : end, a] = True
            units[end - size : end, encoding.columns[a]] = pools[a].units
    bounds = np.empty(len(used))
    for start in range(0, len(used), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        mean, sd = surrogate.component(Points(used[block], units[block]), m)
        bounds[block] = mean + np.sqrt(beta) * sd
    active: list[ActiveSet] = []
    for S, size, end in zip(sets, sizes, ends, strict=True):
        values = bounds[end - size : end]
        order = np.argsort(-values, kind="stable")
        active.append(ActiveSet(S, values[order], order))
    return active
