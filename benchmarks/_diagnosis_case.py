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


def rival_case(case: dict[str, Any]) -> dict[str, Any]:
    model = model_of({**case, "algorithm": "ggbs", "prior": "uniform"})
    matrix = model.responses.matrix()
    groups = model.group_of
    ours, tree = seconds(lambda: grow_tree(model), case["repeats"])
    floats = matrix.astype(np.float64)
    plain, cost = seconds(lambda: plain_numpy(floats, groups), 1)
    singles = matrix.astype(np.float32)

    def sklearn_tree() -> DecisionTreeClassifier:
        return DecisionTreeClassifier(criterion="entropy", random_state=0).fit(singles, groups)

    theirs, fitted = seconds(sklearn_tree, 1)
    depth = np.asarray(fitted.decision_path(singles).sum(axis=1)).ravel() - 1
    return {
        "ours_s": round(ours, 5),
        "plain_numpy_s": round(plain, 4),
        "sklearn_s": round(theirs, 4),
        "times_plain": round(plain / ours, 1),
        "times_sklearn": round(theirs / ours, 1),
        "questions": {
            "ours": round(expected_queries(tree), 3),
            "plain_numpy": round(cost, 3),
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
