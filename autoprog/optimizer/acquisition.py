"""The decomposed upper confidence bound, maximised exactly over the choice of algorithms.

======  ==================================================================================  ===============  =======
symbol  meaning                                                                             shape            unit
======  ==================================================================================  ===============  =======
kind    the four algorithms of a pipeline                                                   (4,)             index
S       an active set: the algorithms of one subspace that a kind uses, one per stage        tuple            index
A_m(S)  bounds mu_m + sqrt(beta) sd_m at the candidates of S, times sqrt(T)                 (c,)             1
T       number of subspaces that a kind touches                                             scalar           1
t(S)    contribution of the prior mean at the candidates of S                               (c,)             1
e       sum of the bounds mu + sqrt(beta) sd of the own effects of a kind's algorithms      scalar           1
======  ==================================================================================  ===============  =======

A pipeline's acquisition is the sum of A_m(S_m) T^(-1/2) + t(S_m) over the subspaces that it touches, plus e. It bounds
the joint mu + sqrt(beta) sd from above. The prior mean is a sum over algorithms, so it splits by active set. Each
active set is evaluated once for each T, for all kinds that share both. So the best pipeline over all kinds and
candidate hyperparameters is found without visiting their product.

With ascent, the best candidate of each active set climbs the gradient of A_m T^(-1/2) + t in the box of the
hyperparameters. The nearest values that these can take are one more candidate. Without the gate a kind touches all
subspaces; one of which it uses no algorithm adds a number that all such kinds share.

References
----------
Alaa & van der Schaar 2018, ICML, section 3.3.3.
Alaa & van der Schaar 2018, ICML, section 3.3.3, step 2.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.encoding import UNSELECTED, Encoding, Points
from autoprog.optimizer.neighbourhood import Pool
from autoprog.optimizer.prior_mean import PriorMean
from autoprog.optimizer.surrogate import Surrogate
from autoprog.space import STAGES, Configuration, Step

# Rows of one covariance block; keeps the memory of a large subspace bounded.
_BLOCK_ROWS = 8192
# Steps of an ascent, and the first one's length on an axis. A step that climbs grows by half, any other is halved.
_ASCENTS, _FIRST_STEP = 25, 0.1

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """Contribution of one active set to the kinds that touch T subspaces."""

    algorithms: tuple[int, ...]  # S
    values: _Floats  # A_m T^(-1/2) + t, descending, shape = (c,)
    candidates: NDArray[np.intp]  # the candidate of each value; -1 for the ascent's
    risen: Mapping[int, Step] = field(default_factory=dict)  # steps of the ascent's candidate, by algorithm


class PipelineBounds:
    """The acquisition of every kind; `values` holds each kind's maximum over its candidates, shape = (n_kinds,)."""

    def __init__(
        self,
        surrogate: Surrogate,
        encoding: Encoding,
        kinds: NDArray[np.int64],
        pools: Sequence[Pool],
        beta: float,
        *,
        trend: PriorMean | None = None,
        ascent: bool = False,
    ) -> None:
        # Invariant: `_active[_of_kind[k, m]]` is kind k's active set in subspace m, shared by all kinds with the same S
        # and T, and `values[k]` is `_rest[k]` plus the first value, the greatest, of each of them.
        self.kinds = kinds
        self._pools = pools
        self._active: list[ActiveSet] = []
        # -1 where a kind has no active set.
        self._of_kind = np.full((len(kinds), surrogate.subspaces), -1)
        labels = surrogate.labels[kinds]
        component = _Components(surrogate, encoding, pools, beta, trend)
        touches = np.array([len(set(row)) for row in labels.tolist()])
        T = touches if surrogate.parameters.gated else np.full(len(kinds), surrogate.subspaces)
        effect, sd = surrogate.effects()
        self._rest: _Floats = (effect + np.sqrt(beta) * sd)[kinds].sum(axis=1)
        self._rest += 0.0 if trend is None else trend.level
        self.values: _Floats = np.zeros(len(kinds))
        for m in surrogate.components_in_play:
            sets, which = active_sets(kinds, labels == m)
            used = which >= 0
            if not used.all() and not surrogate.parameters.gated:
                self._rest[~used] += component.empty(m) / np.sqrt(surrogate.subspaces)
            if not used.any():
                continue
            pairs, of_pair = np.unique(np.stack([which[used], T[used]]), axis=1, return_inverse=True)
            first = len(self._active)
            self._active += component.active_sets(m, [sets[s] for s in pairs[0].tolist()], pairs[1], ascent=ascent)
            best = np.array([a.values[0] for a in self._active[first:]])
            self.values[used] += best[of_pair.ravel()]
            self._of_kind[used, m] = first + of_pair.ravel()
        self.values += self._rest

    def best_first(self, kinds: NDArray[np.intp]) -> Iterator[tuple[float, Configuration]]:
        """Yield the candidates of some kinds with their acquisition, best first, each once; ties have a fixed order."""
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
        return total + float(self._rest[kind])

    def _configuration(self, kind: int, ranks: tuple[int, ...]) -> Configuration:
        steps = {
            a: active.risen[a] if active.candidates[r] < 0 else _step(self._pools[a], int(active.candidates[r]))
            for active, r in zip(self._sets(kind), ranks, strict=True)
            for a in active.algorithms
        }
        return Configuration(**dict(zip(STAGES, (steps[a] for a in self.kinds[kind].tolist()), strict=True)))


def _step(pool: Pool, candidate: int) -> Step:
    # An algorithm without hyperparameters has one step, which all candidates share.
    return pool.steps[min(candidate, len(pool) - 1)]


def active_sets(
    kinds: NDArray[np.int64], members: NDArray[np.bool_]
) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """List the distinct non-empty active sets of one subspace, and each kind's index in the list; -1 for none."""
    base = int(kinds.max()) + 2
    digits = np.where(members, kinds + 1, 0)
    codes, first, inverse = np.unique(
        digits @ base ** np.arange(kinds.shape[1]), return_index=True, return_inverse=True
    )
    empty = int(codes[0] == 0)
    sets = [tuple(kinds[i, members[i]].tolist()) for i in first[empty:]]
    return sets, inverse - empty


def n_active_sets(kinds: NDArray[np.int64], labels: NDArray[np.int64]) -> int:
    """Count the active sets of all subspaces; `labels` is z, shape = (n_alg,)."""
    of_kinds = labels[kinds]
    return sum(len(active_sets(kinds, of_kinds == m)[0]) for m in np.unique(of_kinds))


class _Components:
    """The bounds of active sets at their candidates."""

    def __init__(
        self, surrogate: Surrogate, encoding: Encoding, pools: Sequence[Pool], beta: float, trend: PriorMean | None
    ) -> None:
        self._surrogate, self._encoding, self._pools = surrogate, encoding, pools
        self._beta, self._trend = beta, trend

    def empty(self, m: int) -> float:
        """A_m of a pipeline that uses no algorithm of the subspace: a constant, without the gate."""
        return float(self._at(self._points(1), m)[0])

    def active_sets(
        self, m: int, sets: Sequence[tuple[int, ...]], T: NDArray[np.int64], *, ascent: bool
    ) -> list[ActiveSet]:
        """Build an active set of subspace m for each pair of S and T."""
        distinct = list(dict.fromkeys(sets))
        sizes = [max(len(self._pools[a]) for a in S) for S in distinct]
        ends = np.cumsum(sizes).tolist()
        place = {S: slice(end - size, end) for S, size, end in zip(distinct, sizes, ends, strict=True)}
        points = self._points(ends[-1])
        for S, rows in place.items():
            for a in S:
                points.used[rows, a] = True
                points.units[rows, self._encoding.columns[a]] = self._pools[a].units
        bounds, shifts = self._at(points, m), self._shifts(points)
        root_touched = np.sqrt(T)
        active, best = [], []
        for S, root in zip(sets, root_touched.tolist(), strict=True):
            values = bounds[place[S]] / root + shifts[place[S]]
            order = np.argsort(-values, kind="stable")
            active.append(ActiveSet(S, values[order], order))
            best.append(place[S].start + int(order[0]))
        if not ascent:
            return active
        return self._risen(m, active, Points(points.used[best], points.units[best]), root_touched)

    def _points(self, n: int) -> Points:
        encoding = self._encoding
        return Points(np.zeros((n, encoding.n_algorithms), dtype=bool), np.full((n, len(encoding.owner)), UNSELECTED))

    def _at(self, points: Points, m: int) -> _Floats:
        """A_m, computed block by block."""
        bounds = np.empty(len(points))
        for start in range(0, len(points), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            mean, sd = self._surrogate.component(Points(points.used[block], points.units[block]), m)
            bounds[block] = mean + np.sqrt(self._beta) * sd
        return bounds

    def _shifts(self, points: Points) -> _Floats:
        return np.zeros(len(points)) if self._trend is None else self._trend.parts(points)

    def _risen(self, m: int, active: list[ActiveSet], starts: Points, root_touched: _Floats) -> list[ActiveSet]:
        """Add the ascent's candidate to each active set that has hyperparameters."""
        algorithms, columns = self._encoding.algorithms, self._encoding.columns
        units = self._ascend(m, starts, root_touched)
        steps: list[dict[int, Step]] = []
        for row, each in zip(units, active, strict=True):
            reached = {}
            for a in each.algorithms:
                axes = algorithms[a].hyperparameters
                at = {h.name: float(u) for h, u in zip(axes, row[columns[a]], strict=True)}
                reached[a] = algorithms[a].step_from_unit(at) if axes else self._pools[a].steps[0]
                row[columns[a]] = self._encoding.units_of(a, reached[a])
            steps.append(reached)
        points = Points(starts.used, units)
        values = self._at(points, m) / root_touched + self._shifts(points)
        return [
            _with_candidate(each, float(value), reached)
            if any(algorithms[a].hyperparameters for a in each.algorithms)
            else each
            for each, value, reached in zip(active, values, steps, strict=True)
        ]

    def _ascend(self, m: int, starts: Points, root_touched: _Floats) -> _Floats:
        """Climb from the starts; return the ends on the hyperparameters' axes, shape = (n_sets, n_hyper)."""
        units, step = starts.units.copy(), np.full(len(starts), _FIRST_STEP)
        value, slope = self._climb(Points(starts.used, units), m, root_touched)
        for _ in range(_ASCENTS):
            slope[((units <= 0) & (slope < 0)) | ((units >= 1) & (slope > 0))] = 0.0
            norm = np.linalg.norm(slope, axis=1, keepdims=True)
            trial = np.clip(units + step[:, None] * slope / np.where(norm > 0, norm, 1.0), 0.0, 1.0)
            reached, slope_there = self._climb(Points(starts.used, trial), m, root_touched)
            up = reached > value
            units[up], value[up], slope[up] = trial[up], reached[up], slope_there[up]
            step *= np.where(up, 1.5, 0.5)
        return units

    def _climb(self, points: Points, m: int, root_touched: _Floats) -> tuple[_Floats, _Floats]:
        """A_m T^(-1/2) + t and its gradient by the hyperparameters of the used algorithms."""
        bound, slope = self._surrogate.bound_and_slope(points, m, self._beta)
        value, by_units = bound / root_touched, slope / root_touched[:, None] * points.used[:, self._encoding.owner]
        if self._trend is not None:
            value, by_units = value + self._trend.parts(points), by_units + self._trend.slopes(points)
        return value, by_units


def _with_candidate(active: ActiveSet, value: float, steps: Mapping[int, Step]) -> ActiveSet:
    place = int(np.searchsorted(-active.values, -value, side="right"))
    values = np.insert(active.values, place, value)
    return ActiveSet(active.algorithms, values, np.insert(active.candidates, place, -1), steps)


_PREDICTION = STAGES.index("prediction")


def select_batch(
    bounds: PipelineBounds,
    labels: NDArray[np.int64],
    size: int,
    seen: Collection[Configuration],
    *,
    is_full: bool = False,
) -> tuple[Configuration, ...]:
    """Take the best unseen configuration of each subspace that holds a prediction algorithm, up to `size`."""
    predictors = np.unique(bounds.kinds[:, _PREDICTION]).tolist()
    streams = {
        p: (
            item for item in bounds.best_first(np.flatnonzero(bounds.kinds[:, _PREDICTION] == p)) if item[1] not in seen
        )
        for p in predictors
    }
    heads = [(*head, p) for p, stream in streams.items() if (head := next(stream, None)) is not None]
    heads.sort(key=lambda head: -head[0])

    batch: list[Configuration] = []
    others: list[Configuration] = []
    subspaces: set[int] = set()
    for _, configuration, p in heads:
        (others if labels[p] in subspaces else batch).append(configuration)
        subspaces.add(int(labels[p]))
    # A full batch continues with the best of the other prediction algorithms, then with whatever is left.
    if not is_full:
        return tuple(batch[:size])
    rest = (configuration for _, configuration in heapq.merge(*streams.values(), key=lambda item: -item[0]))
    return tuple(islice(chain(batch, others, rest), size))
