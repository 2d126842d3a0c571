"""Queries with more than two answers: blood groups, stages, mild or moderate or severe.

=========  ===================================================================================================
symbol     meaning
=========  ===================================================================================================
M, N       objects, queries
R          response of object i to query q: an index into the answers of q                       (M, N)
A          largest number of answers of a query
pi_a       prior of node a; pi_c that of its child c, one for each answer that occurs
pi_a^k     prior of target k in a; the targets are the objects or their groups
D(a)       (sum_k (pi_a^k / pi_a)^alpha)^(1 / alpha), alpha = 1 / (1 + log2 lambda)
=========  ===================================================================================================

Among the queries that split the node, the one with the smallest score is asked:

    objects, lambda = 1     max_c pi_c / pi_a
    groups, lambda = 1      minus the information of the answer on the group
    lambda > 1              log sum_c pi_c D(c) / pi_a

Where query costs differ, the query with the largest gain per cost is asked. The gains are 1 - sum_c (pi_c / pi_a)^2,
the information, and log_lambda(pi_a D(a)) - log_lambda(sum_c pi_c D(c)). With two answers each, these are the rules of
`autoprog.diagnosis.scores`. The source's theorems hold with the information of all answers and the sum over all
children, and its bounds with log A in place of log 2.

References
----------
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459; Campbell 1965, Information and Control
8:423 (codes over A letters).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.messages import count_text, listed
from autoprog.cohort.spec_values import MAX_NAME
from autoprog.diagnosis.building import (
    check_total,
    checked_base,
    checked_groups,
    checked_names,
    checked_per_query,
    checked_weights,
)
from autoprog.diagnosis.cells import MAX_NAMED
from autoprog.diagnosis.entropy import Bounds, distinguishable, entropy_bounds
from autoprog.diagnosis.model import mixed_classes
from autoprog.diagnosis.responses import sums_by_code
from autoprog.diagnosis.scores import NEAR_ONE, TIE, cheapest_of_best, relative_costs
from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

MAX_MULTIWAY_CELLS = 10_000_000
"""Maximum number of responses of a model whose queries have more than two answers."""

MAX_ANSWERS = 100
"""Maximum number of answers of a query."""

# Sums over targets and queries that are held in memory at once.
_SUMS = 1 << 20


@dataclass(frozen=True, eq=False)
class MultiwayModel:
    """Input of an identification whose queries have any number of answers; made by `build_multiway_model`.

    Attributes
    ----------
    responses : ndarray of int, shape = (M, N)
        R, indices into the answers of the query.
    objects, queries, groups : tuple of str
        Distinct names; `groups` names the targets, which are the objects where these are not grouped.
    answers : tuple of tuple of str, length N
        Answers of each query.
    group_of : ndarray of int, shape = (M,)
        Target of each object.
    grouped : bool
        False where each object is its own group.
    weights, costs : ndarray, shapes = (M,) and (N,)
        Above 0; the weights are proportional to the prior.
    base : float
        lambda, at least 1 and finite.
    """

    responses: _Ints
    objects: tuple[str, ...]
    queries: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    groups: tuple[str, ...]
    group_of: _Ints
    grouped: bool
    weights: _Floats
    costs: _Floats
    base: float = 1.0
    warnings: tuple[str, ...] = ()  # changes made to the input

    @cached_property
    def prior(self) -> _Floats:
        """Prior of each object, shape (M,), summing to 1."""
        return self.weights / math.fsum(self.weights)

    @cached_property
    def most_answers(self) -> int:
        """A, at least 2."""
        return max(2, *(len(answers) for answers in self.answers))

    @cached_property
    def unidentifiable(self) -> tuple[tuple[int, ...], ...]:
        """Sets of objects with the same responses but different targets."""
        classes = np.unique(self.responses, axis=0, return_inverse=True)[1].astype(np.int64).ravel()
        return mixed_classes(classes, self.group_of)


def build_multiway_model(
    responses: Sequence[Sequence[str]],
    *,
    objects: Sequence[str] | None = None,
    queries: Sequence[str] | None = None,
    answers: Sequence[Sequence[str] | None] | None = None,
    groups: Sequence[str | None] | None = None,
    prior: Sequence[float | None] | None = None,
    costs: Sequence[float | None] | None = None,
    exponential_cost_base: float = 1.0,
) -> MultiwayModel:
    """Check the input and build the model.

    Parameters
    ----------
    responses : sequence of sequence of str, shape = (M, N)
        Answer of every object to every query.
    objects, queries : sequence of str, optional
        Distinct names; numbered by default.
    answers : sequence of sequence of str, length N, optional
        Distinct answers of each query; by default, or where None, those that occur, in order of occurrence.
    groups : sequence of str, length M, optional
        Group of each object.
    prior, costs : sequence of float, lengths M and N, optional
        Finite and above 0; uniform and 1 by default.
    exponential_cost_base : float
        lambda, at least 1 and finite.

    Returns
    -------
    MultiwayModel
        `warnings` lists the changes made to the input.

    Raises
    ------
    InvalidInputError
        If the input is invalid; names every fault.
    """
    faults: list[Fault] = []
    warnings: list[str] = []
    rows = [list(row) for row in responses]
    M, N = len(rows), len(rows[0]) if rows else 0
    if not M or not N:
        faults.append(
            Fault("/responses", f"a model needs an object and a query; these are {M} objects and {N} queries")
        )
    if M * N > MAX_MULTIWAY_CELLS:
        faults.append(Fault("/responses", f"{M:,} objects by {N:,} queries, at most {MAX_MULTIWAY_CELLS:,} cells"))
    odd = [i for i, row in enumerate(rows) if len(row) != N]
    faults += [Fault(f"/responses/{i}", f"has {len(rows[i]):,} cells, the first row {N:,}") for i in odd[:MAX_NAMED]]
    if len(odd) > MAX_NAMED:
        faults.append(Fault("/responses", f"{count_text(len(odd) - MAX_NAMED, 'more row')} of another length"))
    names = checked_names("objects", objects, M, faults)
    asked = checked_names("queries", queries, N, faults)
    group_names, group_of = checked_groups(groups, names, faults)
    weights = checked_weights(prior, len(names), faults, warnings)
    cost = checked_per_query("cost", costs, len(asked), 1.0, faults)
    base = checked_base(exponential_cost_base, faults)
    if math.isinf(base):
        faults.append(Fault("/exponential_cost_base", "must be finite where queries have more than two answers"))
    check_total(cost, base, faults)
    if answers is not None and len(answers) != N:
        faults.append(Fault("/answers", f"{len(answers):,} sets of answers for {N:,} queries"))
    if faults:
        raise InvalidInputError(faults)
    codes = np.zeros((M, N), dtype=np.int64)
    possible: list[tuple[str, ...]] = []
    n_wrong = 0
    for q in range(N):
        found, wrong, detail = _read_answers(rows, q, None if answers is None else answers[q], codes, faults)
        possible.append(found)
        faults += [Fault(f"/responses/{i}/{q}", detail) for i in wrong[: max(0, MAX_NAMED - n_wrong)]]
        n_wrong += len(wrong)
    if n_wrong > MAX_NAMED:
        faults.append(Fault("/responses", f"{count_text(n_wrong - MAX_NAMED, 'more cell')} without a possible answer"))
    if faults:
        raise InvalidInputError(faults)
    grouped = groups is not None and any(g is not None for g in groups)
    return MultiwayModel(
        codes, names, asked, tuple(possible), group_names, group_of, grouped, weights, cost, base, tuple(warnings)
    )


def _read_answers(
    rows: list[list[str]], q: int, given: Sequence[str] | None, codes: _Ints, faults: list[Fault]
) -> tuple[tuple[str, ...], list[int], str]:
    """Answers of a query, objects that give none of them, and why; writes the others' answers into `codes`."""
    column = [row[q] for row in rows]
    if given is not None and not all(map(_is_answer, given)):
        faults.append(Fault(f"/answers/{q}", f"give answers of 1 to {MAX_NAME} characters"))
        given = None
    if given is not None and len(set(given)) < len(given):
        faults.append(Fault(f"/answers/{q}", "names an answer twice"))
    wrong = [i for i, answer in enumerate(column) if not _is_answer(answer)]
    if wrong:
        return (), wrong, f"give an answer of 1 to {MAX_NAME} characters"
    possible = tuple(dict.fromkeys(column if given is None else given))
    if len(possible) > MAX_ANSWERS:
        faults.append(Fault(f"/answers/{q}", f"{len(possible):,} answers, at most {MAX_ANSWERS} are allowed"))
    place = {answer: c for c, answer in enumerate(possible)}
    codes[:, q] = [place.get(answer, -1) for answer in column]
    return possible, np.flatnonzero(codes[:, q] < 0).tolist(), f"must be one of {listed(possible, len(possible))}"


def _is_answer(answer: object) -> bool:
    return isinstance(answer, str) and 0 < len(answer) <= MAX_NAME


@dataclass(frozen=True, eq=False)
class MultiwayTree:
    """A tree over the objects of a model; n nodes, numbered by depth. The cost functions accept it.

    Attributes
    ----------
    query, depth : ndarray of int, shape = (n,)
        Query asked at the node, -1 at a leaf; number of queries asked before it.
    parent, answer : ndarray of int, shape = (n,)
        Parent node, and the answer that leads from it to this node; -1 at the root.
    start, stop, order : ndarray of int, shapes = (n,), (n,) and (M,)
        The objects of a node are `order[start:stop]`.
    """

    model: MultiwayModel
    query: _Ints
    parent: _Ints
    answer: _Ints
    depth: _Ints
    start: _Ints
    stop: _Ints
    order: _Ints

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.query)

    @cached_property
    def leaves(self) -> _Ints:
        """Indices of the leaves."""
        return np.flatnonzero(self.query < 0)

    @cached_property
    def mass(self) -> _Floats:
        """Prior of the objects of each node, shape (n,)."""
        prior = self.model.prior[self.order]
        return np.array([math.fsum(prior[i:j]) for i, j in zip(self.start, self.stop, strict=True)])

    @cached_property
    def paid(self) -> _Floats:
        """Cost of the queries asked before each node, shape (n,)."""
        paid = np.zeros(self.n_nodes)
        for node in range(1, self.n_nodes):  # numbers ascend with depth
            above = self.parent[node]
            paid[node] = paid[above] + self.model.costs[self.query[above]]
        return paid

    def children(self, node: int) -> dict[str, int]:
        """Child nodes by answer; empty at a leaf."""
        below = np.flatnonzero(self.parent == node)
        answers = self.model.answers[self.query[node]] if len(below) else ()
        return {answers[self.answer[child]]: int(child) for child in below}

    def objects_of(self, node: int) -> _Ints:
        """Objects that agree with all answers on the path to a node, ascending."""
        return np.sort(self.order[self.start[node] : self.stop[node]])


def grow_multiway_tree(model: MultiwayModel) -> MultiwayTree:
    """Grow the greedy tree; a node is a leaf when one target is left or all its objects give the same answers."""
    order = np.argsort(model.group_of, kind="stable").astype(np.int64)
    start, stop = np.array([0]), np.array([len(order)])
    above, given = np.array([-1]), np.array([-1])
    levels: list[tuple[_Ints, ...]] = []  # all nodes of a depth at once
    before = depth = 0
    while len(start):
        query = np.full(len(start), -1)
        mixed = np.flatnonzero(model.group_of[order[start]] != model.group_of[order[stop - 1]])
        query[mixed] = _chosen(model, order, start[mixed], stop[mixed])
        levels.append((query, above, given, np.full(len(start), depth), start, stop))
        asking = np.flatnonzero(query >= 0)
        places, node = _places(start[asking], stop[asking])
        answer = model.responses[order[places], query[asking][node]]
        key = node * model.most_answers + answer
        by = np.argsort(key, kind="stable")
        order[places] = order[places[by]]
        first = np.flatnonzero(np.diff(key[by], prepend=-1))
        above, given = before + asking[key[by][first] // model.most_answers], key[by][first] % model.most_answers
        before, depth = before + len(start), depth + 1
        start = places[first]
        stop = start + np.diff(np.append(first, len(places)))
    query, above, given, depths, start, stop = (np.concatenate(column) for column in zip(*levels, strict=True))
    return MultiwayTree(model, query, above, given, depths, start, stop, order)


def _places(start: _Ints, stop: _Ints) -> tuple[_Ints, _Ints]:
    """Places in `order` of the objects of these nodes, and the node of each."""
    sizes = stop - start
    node = np.repeat(np.arange(len(start)), sizes)
    places: _Ints = np.arange(sizes.sum()) + np.repeat(start - (np.cumsum(sizes) - sizes), sizes)
    return places, node


def _batches(sizes: _Ints, queries: int) -> Iterator[slice]:
    """Split the nodes into runs whose objects are few enough to be summed at once."""
    begin, held = 0, 0
    for i, size in enumerate(sizes):
        if i > begin and (held + size) * queries > _SUMS:
            yield slice(begin, i)
            begin, held = i, 0
        held += size
    if begin < len(sizes):
        yield slice(begin, len(sizes))


def _chosen(model: MultiwayModel, order: _Ints, start: _Ints, stop: _Ints, barred: Sequence[int] = ()) -> _Ints:
    """Query to ask at each node; -1 where none splits it."""
    query = np.full(len(start), -1)
    costs = relative_costs(model.costs)
    for part in _batches(stop - start, len(model.queries)):
        places, node = _places(start[part], stop[part])
        score, gain, usable = _values(model, order[places], node)
        usable[:, list(barred)] = False
        if costs is None:
            score = np.where(usable, score, np.inf)
            best = score <= score.min(axis=1, keepdims=True) + TIE
        else:
            best = cheapest_of_best(gain, costs, usable, TIE)
        query[part] = np.where(usable.any(axis=1), best.argmax(axis=1), -1)
    return query


def _values(model: MultiwayModel, objects: _Ints, node: _Ints) -> tuple[_Floats, _Floats, NDArray[np.bool_]]:
    """Score and gain of each query at each node, and whether it splits it; objects by node and target."""
    R, w = model.responses[objects], model.weights[objects][:, None]
    target = model.group_of[objects]
    segment = np.flatnonzero((np.diff(node, prepend=-1) != 0) | (np.diff(target, prepend=-1) != 0))
    begins = np.flatnonzero(np.diff(node, prepend=-1))
    first = np.flatnonzero(np.diff(node[segment], prepend=-1))
    usable = np.minimum.reduceat(R, begins) < np.maximum.reduceat(R, begins)
    of_target = np.add.reduceat(w, segment, axis=0)
    mass = np.add.reduceat(w, begins, axis=0)
    # The parts of one answer at a time, as those of all may be a hundred times the responses.
    parts = (np.add.reduceat(np.where(c == R, w, 0.0), segment, axis=0) for c in range(model.most_answers))
    shape = len(begins), R.shape[1]
    if model.base - 1.0 >= NEAR_ONE:
        alpha = 1.0 / (1.0 + math.log2(model.base))
        log_sum = np.full(shape, -np.inf)
        with np.errstate(divide="ignore"):
            for part in parts:
                np.logaddexp(log_sum, np.log(np.add.reduceat(part**alpha, first, axis=0)) / alpha, out=log_sum)
        bound = np.log(np.add.reduceat(of_target**alpha, first, axis=0)) / alpha
        return log_sum - np.log(mass), (bound - log_sum) / math.log(model.base), usable
    if model.grouped:
        answer, within = np.zeros(shape), np.zeros((len(segment), R.shape[1]))
        for part in parts:
            answer += _entropy(mass, np.add.reduceat(part, first, axis=0))
            within += _entropy(of_target, part)
        gain = (answer - np.add.reduceat(within, first, axis=0)) / mass
        return -gain, gain, usable
    largest, squares = np.zeros(shape), np.zeros(shape)
    for part in parts:
        share = np.add.reduceat(part, first, axis=0) / mass
        np.maximum(largest, share, out=largest)
        squares += share**2
    return largest, 1.0 - squares, usable


def _entropy(mass: _Floats, part: _Floats) -> _Floats:
    """Term of one part in the mass times the entropy of its division, bits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(part > 0, -part * np.log2(part / mass), 0.0)


def multiway_bounds(model: MultiwayModel) -> Bounds:
    """Lower bounds on the costs of every tree of a model: entropies divided by log2 A."""
    p = distinguishable(model.group_of, model.unidentifiable, model.prior)
    return entropy_bounds(p, float(model.costs.min()), model.base, model.most_answers)


@dataclass(frozen=True, eq=False)
class MultiwayState:
    """State of a session on a multiway model; it follows from the answers alone."""

    status: Literal["asking", "identified", "ambiguous", "contradictory"]
    next_query: str | None  # None when the session is done
    remaining: dict[str, float]  # probability of each remaining target, most probable first


def multiway_state(model: MultiwayModel, given: Mapping[str, str | None]) -> MultiwayState:
    """Find the next query, which agrees with the tree's, and the remaining targets.

    Parameters
    ----------
    model : MultiwayModel
    given : mapping of str to str or None
        Answer to each query that was asked or volunteered; None where it could not be answered.

    Returns
    -------
    MultiwayState
        Contradictory where no object agrees with the answers.

    Raises
    ------
    InvalidInputError
        If a query or an answer does not exist; names every fault.
    """
    place = {name: q for q, name in enumerate(model.queries)}
    faults: list[Fault] = []
    left = np.argsort(model.group_of, kind="stable").astype(np.int64)
    for name, answer in given.items():
        if name not in place:
            faults.append(Fault(f"/{name}", "the model has no such query"))
        elif answer is not None and answer not in (possible := model.answers[place[name]]):
            faults.append(Fault(f"/{name}", f"must be one of {listed(possible, len(possible))}, or null"))
        elif answer is not None:
            q = place[name]
            left = left[model.responses[left, q] == model.answers[q].index(answer)]
    if faults:
        raise InvalidInputError(faults)
    if not len(left):
        return MultiwayState("contradictory", None, {})
    posterior = sums_by_code(model.group_of[left], model.prior[left])
    likeliest = [t for t in np.argsort(-posterior, kind="stable") if posterior[t] > 0]
    remaining = {model.groups[t]: float(posterior[t] / posterior.sum()) for t in likeliest}
    if len(remaining) == 1:
        return MultiwayState("identified", None, remaining)
    barred = [place[name] for name in given]
    query = int(_chosen(model, left, np.array([0]), np.array([len(left)]), barred)[0])
    if query < 0:
        return MultiwayState("ambiguous", None, remaining)
    return MultiwayState("asking", model.queries[query], remaining)
