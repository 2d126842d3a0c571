"""One timed case of `diagnosis_speed.py`, in a process of its own so that its memory is its own. Prints JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
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


def good_numpy(matrix: NDArray[np.uint8], groups: NDArray[np.int64]) -> float:
    """The same, as NumPy does it best: a depth at a time, sums of bytes over runs, and a table of x log2 x."""
    M, N = matrix.shape
    table = np.arange(M + 1.0)
    table[1:] *= np.log2(table[1:])
    order = np.argsort(groups, kind="stable")
    starts, sizes, total = np.array([0]), np.array([M]), 0
    while len(starts):
        # nodes of one group ask nothing more, and go
        mixed = groups[order[starts]] != groups[order[starts + sizes - 1]]
        starts, sizes = starts[mixed], sizes[mixed]
        query = np.empty(len(starts), dtype=np.int64)
        step = max(1, (1 << 20) // N)
        for i in range(0, len(starts), step):
            query[i : i + step] = _best(matrix, groups, order, starts[i : i + step], sizes[i : i + step], table)
        starts, sizes, query = starts[query >= 0], sizes[query >= 0], query[query >= 0]
        total += int(sizes.sum())
        if not len(starts):
            break
        places, begins = _places(starts, sizes)
        node = np.repeat(np.arange(len(starts)), sizes)
        answer = matrix[order[places], query[node]]
        order[places] = order[places][np.argsort(2 * node + answer, kind="stable")]
        yes = np.add.reduceat(answer, begins, dtype=np.int64)
        starts = np.stack([starts, starts + sizes - yes], axis=1).ravel()
        sizes = np.stack([sizes - yes, yes], axis=1).ravel()
    return total / M


def _places(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    begins = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(starts - begins, sizes), begins


def _best(
    matrix: NDArray[np.uint8],
    groups: NDArray[np.int64],
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    table: NDArray[np.float64],
) -> NDArray[np.int64]:
    """The query of the most information at each of some nodes; -1 where none splits it."""
    places, begins = _places(starts, sizes)
    objects = order[places]
    rows = matrix[objects]
    small = np.uint8 if int(sizes.max()) < 256 else np.int32
    ones = np.add.reduceat(rows, begins, axis=0, dtype=small)
    entropy = table[sizes][:, None] - table[ones] - table[sizes[:, None] - ones]
    node = np.repeat(np.arange(len(starts)), sizes)
    key = node * (int(groups.max()) + 1) + groups[objects]
    runs = np.flatnonzero(np.diff(key, prepend=-1))
    lengths = np.diff(np.append(runs, len(key)))
    many = np.flatnonzero(lengths > 1)  # a group with one object left has no entropy
    if len(many):
        where, first = _places(runs[many], lengths[many])
        within = np.add.reduceat(rows[where], first, axis=0, dtype=small)
        size = lengths[many]
        term = table[size][:, None] - table[within] - table[size[:, None] - within]
        of = node[runs[many]]
        at = np.flatnonzero(np.diff(of, prepend=-1))
        entropy[of[at]] -= np.add.reduceat(term, at, axis=0)
    information = entropy / sizes[:, None]
    information[(ones == 0) | (ones == sizes[:, None])] = -1.0
    best = information.max(axis=1)
    chosen = (information > best[:, None] - 1e-12).argmax(axis=1)
    return np.where(best < 0, -1, chosen)


def rival_case(case: dict[str, Any]) -> dict[str, Any]:
    model = model_of({**case, "algorithm": "ggbs", "prior": "uniform"})
    matrix = model.responses.matrix()
    groups = model.group_of
    ours, tree = seconds(lambda: grow_tree(model), case["repeats"])
    floats = matrix.astype(np.float64)
    plain, plain_cost = seconds(lambda: plain_numpy(floats, groups), 1)
    good, good_cost = seconds(lambda: good_numpy(matrix, groups), case["repeats"])
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


KINDS = {"tree": tree_case, "session": session_case, "rival": rival_case}


def main() -> None:
    case = json.loads(sys.argv[1])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures = KINDS[case["kind"]](case)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**figures, "peak_mib": after // 1024, "libraries_mib": before // 1024}))


if __name__ == "__main__":
    main()
