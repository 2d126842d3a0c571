"""One timed case of `diagnosis_speed.py`, in a process of its own so that its memory is its own. Prints JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import entr, xlogy
from sklearn.tree import DecisionTreeClassifier

from autoprog.diagnosis import (
    DiagnosisModel,
    ModelOptions,
    Responses,
    Sessions,
    build_model,
    expected_queries,
    grow_tree,
)
from autoprog.diagnosis.noise import log_posterior
from autoprog.diagnosis.splitting import RowSplitter
from autoprog.diagnosis.tree import grown_by

GROUPS = 50


def seconds(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Least processor seconds of several runs, and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def packed(objects: int, queries: int, density: float, rng: np.random.Generator) -> Responses:
    """A random matrix, made some rows at a time."""
    parts = [
        np.packbits(rng.random((min(1000, objects - i), queries), dtype=np.float32) < density, axis=1)
        for i in range(0, objects, 1000)
    ]
    return Responses(np.concatenate(parts), queries)


def model_of(case: dict[str, Any]) -> DiagnosisModel:
    rng = np.random.default_rng(case["seed"])
    matrix = packed(case["objects"], case["queries"], case["density"], rng)
    groups = [f"g{g}" for g in rng.integers(case.get("groups", GROUPS), size=case["objects"])]
    prior = rng.dirichlet(np.ones(case["objects"])) if case["prior"] == "any" else None
    options = ModelOptions(case["algorithm"], case.get("base", 1.0))
    return build_model(
        matrix,
        groups=groups if case["algorithm"] in {"ggbs", "group_lambda_gbs"} else None,
        prior=prior,
        costs=np.round(rng.uniform(1.0, 10.0, case["queries"]), 2) if case.get("costs") else None,
        false_positive_rates=[case["error_rate"]] * case["queries"] if "error_rate" in case else None,
        false_negative_rates=[case["error_rate"]] * case["queries"] if "error_rate" in case else None,
        options=options,
    )


def tree_case(case: dict[str, Any]) -> dict[str, Any]:
    model = model_of(case)
    spent, tree = seconds(lambda: grow_tree(model), case["repeats"])
    return {"seconds": round(spent, 5), "expected_queries": round(expected_queries(tree), 4), "nodes": tree.n_nodes}


def session_case(case: dict[str, Any]) -> dict[str, Any]:
    model = model_of(case)
    patient, first, later = 7, [], []
    start = time.process_time()
    Sessions(model).open()
    opening = time.process_time() - start  # lays the columns out, once a model
    sessions = Sessions(model)
    sessions.open()
    for _ in range(case["repeats"]):
        sessions.forget()
        start = time.process_time()
        session = sessions.open()
        first.append(time.process_time() - start)
        while session.next_query is not None:
            answer = bool(model.responses.at(np.array([patient]), session.next_query.query)[0])
            start = time.process_time()
            session = sessions.answer(session, session.next_query.name, answer)
            later.append(time.process_time() - start)
    return {
        "first_of_the_model": round(opening, 5),
        "seconds": round(float(np.median(first)), 5),
        "slowest_later": round(max(later), 5),
        "questions": len(session.answers),
    }


def plain_numpy(matrix: NDArray[np.float64], groups: NDArray[np.int64]) -> float:
    """Mean number of questions of the same tree, a node at a time, as one would write it down."""
    total, waiting = 0, [np.arange(len(matrix))]
    while waiting:
        objects = waiting.pop()
        present, code = np.unique(groups[objects], return_inverse=True)
        if len(present) == 1:
            continue
        rows = matrix[objects]
        ones = np.zeros((len(present), matrix.shape[1]))
        np.add.at(ones, code, rows)
        size = np.bincount(code)[:, None]
        share, whole = ones / size, rows.mean(axis=0)
        information = (
            entr(whole) + entr(1 - whole) - (size / len(objects) * (entr(share) + entr(1 - share))).sum(axis=0)
        )
        information[(whole == 0) | (whole == 1)] = -1
        query = int(np.argmax(information > information.max() - 1e-12))
        if information[query] < 0:
            continue
        total += len(objects)
        answer = rows[:, query] == 1
        waiting += [objects[~answer], objects[answer]]
    return total / len(matrix)


@dataclass(frozen=True)
class _Table:
    """A model as NumPy likes it best: bytes, groups, and weights and costs where they differ."""

    matrix: NDArray[np.uint8]
    groups: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    costs: NDArray[np.float64] | None
    logs: NDArray[np.float64]  # x log2 x of whole numbers up to M

    @classmethod
    def of(cls, model: DiagnosisModel) -> _Table:
        count = np.arange(model.n_objects + 1.0)
        return cls(
            model.responses.matrix(),
            model.group_of,
            None if model.has_uniform_prior else model.prior,
            model.costs if model.has_costs else None,
            count * np.log2(np.maximum(count, 1.0)),
        )

    def sums(self, objects: NDArray[np.int64], begins: NDArray[np.int64], largest: int) -> NDArray[Any]:
        """How many objects, or what weight, of each run answers 1."""
        rows = self.matrix[objects]
        if self.weights is None:
            return np.add.reduceat(rows, begins, axis=0, dtype=np.uint8 if largest < 256 else np.int32)
        return np.add.reduceat(rows * self.weights[objects][:, None], begins, axis=0)

    def sizes(self, objects: NDArray[np.int64], begins: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[Any]:
        return counts if self.weights is None else np.add.reduceat(self.weights[objects], begins)

    def entropy(self, size: NDArray[Any], ones: NDArray[Any]) -> NDArray[np.float64]:
        """Entropy of the answers within runs, times the runs' sizes."""
        if self.weights is None:
            return self.logs[size][:, None] - self.logs[ones] - self.logs[size[:, None] - ones]
        whole, zeros = size[:, None], np.maximum(size[:, None] - ones, 0.0)
        return (xlogy(whole, whole) - xlogy(ones, ones) - xlogy(zeros, zeros)) / np.log(2.0)


def good_numpy(model: DiagnosisModel) -> float:
    """The same, as NumPy does it best: a depth at a time, sums of bytes over runs, and a table of x log2 x."""
    table = _Table.of(model)
    M, N = table.matrix.shape
    order = np.argsort(table.groups, kind="stable")
    starts, sizes, total = np.array([0]), np.array([M]), 0.0
    while len(starts):
        # nodes of one group ask nothing more, and go
        mixed = table.groups[order[starts]] != table.groups[order[starts + sizes - 1]]
        starts, sizes = starts[mixed], sizes[mixed]
        query = np.empty(len(starts), dtype=np.int64)
        step = max(1, (1 << 20) // N)
        for i in range(0, len(starts), step):
            query[i : i + step] = _best(table, order, starts[i : i + step], sizes[i : i + step])
        starts, sizes, query = starts[query >= 0], sizes[query >= 0], query[query >= 0]
        if not len(starts):
            break
        places, begins = _places(starts, sizes)
        total += float(model.prior[order[places]].sum())
        node = np.repeat(np.arange(len(starts)), sizes)
        answer = table.matrix[order[places], query[node]]
        order[places] = order[places][np.argsort(2 * node + answer, kind="stable")]
        yes = np.add.reduceat(answer, begins, dtype=np.int64)
        starts = np.stack([starts, starts + sizes - yes], axis=1).ravel()
        sizes = np.stack([sizes - yes, yes], axis=1).ravel()
    return total


def _places(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    begins = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(starts - begins, sizes), begins


def _best(
    table: _Table, order: NDArray[np.int64], starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The query of the most information per cost at each of some nodes; -1 where none splits it."""
    places, begins = _places(starts, counts)
    objects = order[places]
    ones = table.sums(objects, begins, int(counts.max()))
    sizes = table.sizes(objects, begins, counts)
    entropy = table.entropy(sizes, ones)
    node = np.repeat(np.arange(len(starts)), counts)
    key = node * (int(table.groups.max()) + 1) + table.groups[objects]
    runs = np.flatnonzero(np.diff(key, prepend=-1))
    lengths = np.diff(np.append(runs, len(key)))
    many = np.flatnonzero(lengths > 1)  # a group with one object left has no entropy
    if len(many):
        where, first = _places(runs[many], lengths[many])
        within = table.sums(objects[where], first, int(counts.max()))
        term = table.entropy(table.sizes(objects[where], first, lengths[many]), within)
        of = node[runs[many]]
        at = np.flatnonzero(np.diff(of, prepend=-1))
        entropy[of[at]] -= np.add.reduceat(term, at, axis=0)
    information = entropy / sizes[:, None]
    if table.costs is not None:
        information /= table.costs
    least = 1e-9 * sizes[:, None]  # what is left of a sum of weights
    information[(ones <= least) | (ones >= sizes[:, None] - least)] = -1.0
    best = information.max(axis=1)
    chosen = (information > best[:, None] - 1e-12).argmax(axis=1)
    return np.where(best < 0, -1, chosen)


class _NoisyNumPy:
    """The information of every noisy answer on the group, by sums of the posterior over the groups.

    The sums are those of NumPy over runs of bytes, or SciPy's product of a sparse matrix with one of eight times the
    memory.
    """

    def __init__(self, model: DiagnosisModel, *, by_runs: bool) -> None:
        self._model, self._by_runs = model, by_runs
        matrix, self._order = model.responses.matrix(), np.argsort(model.group_of, kind="stable")
        self._matrix = matrix[self._order] if by_runs else matrix.astype(np.float64)
        self._begins = np.flatnonzero(np.diff(model.group_of[self._order], prepend=-1))
        self._shape = (len(self._begins), model.n_objects)

    def _sums(self, posterior: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._by_runs:
            return np.add.reduceat(self._matrix * posterior[self._order][:, None], self._begins, axis=0)
        groups = csr_array((posterior, (self._model.group_of, np.arange(self._shape[1]))), shape=self._shape)
        return groups @ self._matrix

    def query(self, posterior: NDArray[np.float64], asked: list[int]) -> int:
        ones = self._sums(posterior)
        mass = np.bincount(self._model.group_of, weights=posterior)[:, None]
        yes = self._model.false_positive * (mass - ones) + (1.0 - self._model.false_negative) * ones
        whole = yes.sum(axis=0)
        within = entr(yes).sum(axis=0) + entr(mass - yes).sum(axis=0) - entr(mass).sum()
        information = entr(whole) + entr(1.0 - whole) - within
        information[asked] = -1.0
        return int(np.argmax(information))


def rival_case(case: dict[str, Any]) -> dict[str, Any]:
    model = model_of({"prior": "uniform", **case, "algorithm": "ggbs"})
    matrix = model.responses.matrix()
    groups = model.group_of
    ours, tree = seconds(lambda: grow_tree(model), case["repeats"])
    floats = matrix.astype(np.float64)
    plain, plain_cost = seconds(lambda: plain_numpy(floats, groups), 1)
    good, good_cost = seconds(lambda: good_numpy(model), case["repeats"])
    definition, _ = seconds(lambda: grown_by(RowSplitter(model), model), 1)
    singles = matrix.astype(np.float32)

    def sklearn_tree() -> DecisionTreeClassifier:
        return DecisionTreeClassifier(criterion="entropy", random_state=0).fit(singles, groups)

    theirs, fitted = seconds(sklearn_tree, 1)
    depth = np.asarray(fitted.decision_path(singles).sum(axis=1)).ravel() - 1
    return {
        "ours_s": round(ours, 5),
        "definition_s": round(definition, 5),
        "plain_numpy_s": round(plain, 4),
        "good_numpy_s": round(good, 4),
        "sklearn_s": round(theirs, 4),
        "times_plain": round(plain / ours, 1),
        "times_good": round(good / ours, 1),
        "times_sklearn": round(theirs / ours, 1),
        "questions": {
            "ours": round(expected_queries(tree), 3),
            "plain_numpy": round(plain_cost, 3),
            "good_numpy": round(good_cost, 3),
            "sklearn": round(float(depth.mean()), 3),
        },
    }


def variant_case(case: dict[str, Any]) -> dict[str, Any]:
    """Trees with a prior or costs that differ."""
    model = model_of({"prior": "uniform", **case, "algorithm": "ggbs"})
    ours, tree = seconds(lambda: grow_tree(model), case["repeats"])
    good, good_cost = seconds(lambda: good_numpy(model), case["repeats"])
    return {
        "ours_s": round(ours, 5),
        "good_numpy_s": round(good, 4),
        "times_good": round(good / ours, 1),
        "questions": {"ours": round(expected_queries(tree), 3), "good_numpy": round(good_cost, 3)},
    }


def noise_case(case: dict[str, Any]) -> dict[str, Any]:
    """The questions of one session in which answers may be wrong."""
    model = model_of({"prior": "uniform", **case, "algorithm": "ggbs"})
    sessions = Sessions(model)
    rivals = {"numpy": _NoisyNumPy(model, by_runs=True), "sparse": _NoisyNumPy(model, by_runs=False)}
    for rival in rivals.values():
        rival.query(model.prior, [])
    sessions.open()
    sessions.forget()
    ours, spent, asked, answers = 0.0, dict.fromkeys(rivals, 0.0), [], []
    start = time.process_time()
    session = sessions.open()
    ours += time.process_time() - start
    while session.next_query is not None and len(asked) < case["questions"]:
        posterior = np.exp(log_posterior(model, answers))
        query = session.next_query.query
        for name, rival in rivals.items():
            start = time.process_time()
            found = rival.query(posterior, asked)
            spent[name] += time.process_time() - start
            assert found == query, (name, found, query)
        answer = bool(model.responses.at(np.array([7]), query)[0])
        asked.append(query)
        answers.append((query, answer))
        start = time.process_time()
        session = sessions.answer(session, session.next_query.name, answer)
        ours += time.process_time() - start
    each = ours / (len(asked) + 1)
    return {
        "ours_s": round(each, 5),
        "good_numpy_s": round(spent["numpy"] / len(asked), 5),
        "times_good": round(spent["numpy"] / len(asked) / each, 1),
        "times_sparse": round(spent["sparse"] / len(asked) / each, 1),
        "questions": len(asked),
    }


KINDS = {"variant": variant_case, "noise": noise_case, "tree": tree_case, "session": session_case, "rival": rival_case}


def main() -> None:
    case = json.loads(sys.argv[1])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures = KINDS[case["kind"]](case)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**figures, "peak_mib": after // 1024, "libraries_mib": before // 1024}))


if __name__ == "__main__":
    main()
