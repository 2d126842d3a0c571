"""The optimal tree of a small model, by dynamic programming over the sets of objects that can be left.

=========  ========================================================================================================
symbol     meaning
=========  ========================================================================================================
T          set of distinct rows that are left, as the bits of an integer
pi(T)      prior of their objects
c_q        cost of query q
V(T)       least cost from T on; 0 where a single target, or a single row, is left
=========  ========================================================================================================

    expected      V(T) = min_q  c_q pi(T) + V(l) + V(r)
    exponential   V(T) = min_q  c_q log lambda + log(exp V(l) + exp V(r)),  V = log pi(T) at a leaf
    worst case    V(T) = min_q  c_q + max(V(l), V(r))

No query separates objects with the same row, so they count as one. Of queries that divide the rows in the same way the
cheapest is kept. The work grows with 2^rows: deciding whether a tree of a given cost exists is NP-complete.

References
----------
Garey 1972, SIAM Journal on Applied Mathematics 23:173 (the recursion); Hyafil & Rivest 1976, Information Processing
Letters 5:15 (NP-completeness).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.scores import NEAR_ONE
from autoprog.diagnosis.tree import Tree
from autoprog.errors import ConflictError, TooLargeError

MAX_ROWS = 14
"""Maximum number of distinct rows for an optimal tree."""

MAX_COLUMNS = 64
"""Maximum number of queries that divide these rows in different ways."""

Objective = Literal["expected", "exponential", "worst_case"]


def optimal_tree(model: DiagnosisModel, objective: Objective | None = None) -> Tree:
    """Find a tree of the least cost.

    Parameters
    ----------
    model : DiagnosisModel
        Without noise; at most `MAX_ROWS` distinct rows and `MAX_COLUMNS` queries that divide them differently.
    objective : {"expected", "exponential", "worst_case"}, optional
        Cost to minimise; by default that of the model's base. `exponential` needs a base above 1 and finite.

    Returns
    -------
    Tree
        No tree costs less.

    Raises
    ------
    TooLargeError
        If the model has more rows or queries.
    ConflictError
        If answers may be wrong.
    ValueError
        If the exponential cost is asked for and the base is 1 or infinite.
    """
    if model.is_noisy:
        msg = "the model's answers may be wrong, so that no tree of answers ends in certainty"
        raise ConflictError(msg)
    if objective is None:
        objective = "worst_case" if math.isinf(model.base) else "exponential" if model.base > 1 else "expected"
    if objective == "exponential" and (model.base == 1 or math.isinf(model.base)):
        msg = "the exponential cost needs a base above 1 and below infinity"
        raise ValueError(msg)
    if objective == "exponential" and model.base - 1.0 < NEAR_ONE:  # rounding would decide
        objective = "expected"
    return _Search(model, objective).tree()


@dataclass
class _Search:
    model: DiagnosisModel
    objective: Objective
    least: dict[int, tuple[float, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        classes = self.model.responses.row_classes()
        self.n_rows = int(classes.max()) + 1
        if self.n_rows > MAX_ROWS:
            msg = f"{self.n_rows:,} distinct rows; the best tree is looked for among at most {MAX_ROWS}"
            raise TooLargeError(msg)
        _, first = np.unique(classes, return_index=True)
        self.members = [np.flatnonzero(classes == row) for row in range(self.n_rows)]
        self.mass = [float(self.model.prior[objects].sum()) for objects in self.members]
        self.targets = [frozenset(self.model.target_of[objects].tolist()) for objects in self.members]
        self.queries = self._distinct_queries(self.model.responses.matrix(first))

    def _distinct_queries(self, rows: np.ndarray[tuple[int, int], np.dtype[np.uint8]]) -> list[tuple[int, int, float]]:
        """Query, bits of the rows that answer 1, and cost; one for each way to divide the rows."""
        everything = (1 << self.n_rows) - 1
        found: dict[int, tuple[int, int, float]] = {}
        for query, column in enumerate(rows.T):
            ones = sum(1 << row for row, answer in enumerate(column) if answer)
            if ones in {0, everything}:
                continue
            cost = float(self.model.costs[query])
            side = min(ones, everything ^ ones)
            if side not in found or cost < found[side][2]:
                found[side] = (query, ones, cost)
        if len(found) > MAX_COLUMNS:
            msg = f"{len(found):,} queries that part the rows differently; at most {MAX_COLUMNS} are searched"
            raise TooLargeError(msg)
        return list(found.values())

    def _rows(self, left: int) -> list[int]:
        return [row for row in range(self.n_rows) if left >> row & 1]

    def best(self, left: int) -> tuple[float, int]:
        """V(T), and the place in `queries` of the query to ask, -1 at a leaf."""
        if left in self.least:
            return self.least[left]
        rows = self._rows(left)
        mass = math.fsum(self.mass[row] for row in rows)
        if len(rows) == 1 or len(frozenset[int]().union(*(self.targets[row] for row in rows))) == 1:
            value = math.log(mass) if self.objective == "exponential" else 0.0
            best = (value, -1)
        else:
            best = min(self._asked(left, mass), key=lambda found: found[0])
        self.least[left] = best
        return best

    def _asked(self, left: int, mass: float) -> list[tuple[float, int]]:
        values = []
        for place, (_, ones, cost) in enumerate(self.queries):
            yes = left & ones
            no = left ^ yes
            if not yes or not no:
                continue
            v_no, v_yes = self.best(no)[0], self.best(yes)[0]
            if self.objective == "expected":
                value = cost * mass + v_no + v_yes
            elif self.objective == "worst_case":
                value = cost + max(v_no, v_yes)
            else:
                value = cost * math.log(self.model.base) + float(np.logaddexp(v_no, v_yes))
            values.append((value, place))
        return values

    def tree(self) -> Tree:
        """Build the optimal tree, numbered by depth."""
        columns: list[list[int]] = [[], [], [], [], [], []]
        query, no, yes, depths, starts, stops = columns
        order: list[int] = []
        level = [((1 << self.n_rows) - 1, 0)]
        order = self._ordered(level[0][0])
        depth = 0
        while level:
            children: list[tuple[int, int]] = []
            numbered = len(query) + len(level)
            for left, start in level:
                size = sum(len(self.members[row]) for row in self._rows(left))
                place = self.best(left)[1]
                asks = place >= 0
                query.append(self.queries[place][0] if asks else -1)
                no.append(numbered + len(children) if asks else -1)
                yes.append(numbered + len(children) + 1 if asks else -1)
                depths.append(depth)
                starts.append(start)
                stops.append(start + size)
                if asks:
                    ones = left & self.queries[place][1]
                    n_no = sum(len(self.members[row]) for row in self._rows(left ^ ones))
                    children += [(left ^ ones, start), (ones, start + n_no)]
            level = children
            depth += 1
        return Tree(self.model, *(np.array(column, dtype=np.int64) for column in (*columns, order)))

    def _ordered(self, left: int) -> list[int]:
        """Objects of a set of rows; at every node of the optimal tree, those that answer 0 come first."""
        place = self.best(left)[1]
        if place < 0:
            return [int(i) for row in self._rows(left) for i in self.members[row]]
        ones = left & self.queries[place][1]
        return self._ordered(left ^ ones) + self._ordered(ones)
