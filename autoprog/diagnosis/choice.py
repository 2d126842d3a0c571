"""The choice of the query at a node: the best of those that split it, and the rule for ties.

Only queries with objects on both sides may be asked. Where no query is informative, as with exclusive or, one that
leaves everything on one side scores as well as any, and asking it would never end.

Queries that cost different amounts are compared by gain per cost. For GBS, which identifies objects, this is the
cost-sensitive greedy rule, whose expected cost is within a factor of order ln(1 / min_i pi_i) of the least. For the
others no such factor is known, and there are models on which greedy rules for groups do badly.

References
----------
Guillory & Bilmes 2009, ALT, "Average-case active learning with costs"; Golovin & Krause 2011, JAIR 42:427 (adaptive
submodularity); Golovin, Krause & Ray 2010, NIPS (where greedy rules fail); Kosaraju, Przytycka & Borgstrom 1999, WADS
(priors); Dasgupta 2004, NIPS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.nodes import Nodes
from autoprog.diagnosis.scores import Criterion, Scored, make_criterion

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


def relative_costs(model: DiagnosisModel) -> _Floats | None:
    """Costs in multiples of the least, shape (N,), so that no gain per cost overflows; None where all are equal."""
    with np.errstate(over="ignore"):
        return model.costs / model.costs.min() if model.has_costs else None


def tie_keys(model: DiagnosisModel) -> NDArray[np.uint64] | None:
    """Random numbers of the objects, shape (M,), whose sums identify sets; None if ties take the first query."""
    if model.ties == "first":
        return None
    return np.random.default_rng(model.seed).integers(2**64, size=model.n_objects, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Chooser:
    """The rule by which a model chooses queries."""

    criterion: Criterion
    costs: _Floats | None  # in multiples of the least, shape (N,); None where all are equal
    # Random numbers of the objects, shape (M,). Their sum over a node identifies its set of objects, so that the same
    # set draws the same query wherever it occurs. None: ties take the lowest index.
    keys: NDArray[np.uint64] | None

    @classmethod
    def of(cls, model: DiagnosisModel) -> Chooser:
        """Build the rule of a model."""
        return cls(make_criterion(model), relative_costs(model), tie_keys(model))

    def choose(self, nodes: Nodes, objects: _Ints, starts: _Ints, barred: _Ints | None = None) -> _Ints:
        """Choose the query of each node (T_a and its start), shape (n,); -1 where none splits it."""
        scored = self.criterion(nodes)
        usable = (nodes.right > 0) & (nodes.left > 0)
        if barred is not None:
            usable[:, barred] = False
        tied = usable & self._best(scored, usable)
        chosen = tied.argmax(axis=1) if self.keys is None else self._drawn(tied, self.keys, objects, starts)
        return np.where(usable.any(axis=1), chosen, -1)

    def _best(self, scored: Scored, usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
        if self.costs is None:
            return _lowest(scored, usable)
        rate = np.where(usable, scored.gain / self.costs, -np.inf)
        best = rate.max(axis=1, keepdims=True)
        tied = usable & (rate >= best - scored.gain_tolerance)
        # of equal gains per cost, for example all 0, the cheapest
        cost = np.where(tied, self.costs, np.inf)
        cheapest: NDArray[np.bool_] = tied & (cost <= cost.min(axis=1, keepdims=True))
        return cheapest

    @staticmethod
    def _drawn(tied: NDArray[np.bool_], keys: NDArray[np.uint64], objects: _Ints, starts: _Ints) -> _Ints:
        count = tied.sum(axis=1)
        number = _mixed(np.add.reduceat(keys[objects], starts)) % np.maximum(count, 1).astype(np.uint64)
        passed = np.cumsum(tied, axis=1, dtype=np.int32)
        before: _Ints = (passed <= number.astype(np.int32)[:, None]).sum(axis=1)
        drawn: _Ints = np.minimum(before, tied.shape[1] - 1)
        return drawn


def _lowest(scored: Scored, usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if scored.rank is not None:
        rank = np.where(usable, scored.rank, np.inf)
        usable = usable & (rank <= rank.min(axis=1, keepdims=True))
    score = np.where(usable, scored.score, np.inf)
    tied: NDArray[np.bool_] = score <= score.min(axis=1, keepdims=True) + scored.tolerance
    return tied


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finaliser of splitmix64: every bit of the sum affects every bit of the result."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
