"""How fast test selection is: vectorised replay, live rounds, subsets, and what a problem holds.

    python -m benchmarks.csmd_speed

Bars, on one core: a cascade of 10 arms replayed at 100,000 rounds a second by ts and ucb1 and at 40,000 by kl_ucb; a
live round (choose and feedback) within 5 ms at the engine at the median; 8 tests as subsets (255 arms, 32,385 pairs)
within 20 ms a round; a problem below 10 MB. The rival in the same run is the definition written out with loops. Seconds
are those that the process itself ran.
"""

from __future__ import annotations

import json
import math
import platform
import statistics
import time
from importlib.metadata import version
from itertools import combinations
from typing import Any

import numpy as np

from autoprog.csmd import (
    Arms,
    DiagnosticTest,
    PolicyName,
    SelectionProblem,
    make_arms,
    make_policy,
    record_play,
    replay,
)

POLICIES: tuple[PolicyName, ...] = ("ts", "kl_ucb", "ucb1")
COSTS = (0.01, 0.02, 0.015, 0.03, 0.01, 0.025, 0.02, 0.04, 0.01, 0.03)


def outputs(n_arms: int, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Predictions that get better from arm to arm, and the truth."""
    truth = rng.integers(0, 2, rows)
    wrong = rng.random((rows, n_arms)) < np.linspace(0.35, 0.1, n_arms)
    return np.where(wrong, 1 - truth[:, None], truth[:, None]), truth


def replayed(arms: Arms, name: PolicyName, rounds: int, repetitions: int) -> float:
    """Rounds a second of replay, all repetitions counted; best of three."""
    Y, truth = outputs(len(arms), 2000, np.random.default_rng(0))
    problem = SelectionProblem(arms, make_policy(name))
    seconds = []
    for seed in range(3):
        start = time.process_time()
        replay(
            problem,
            Y,
            truth,
            rounds=rounds,
            repetitions=repetitions,
            order="resampled",
            rng=np.random.default_rng(seed),
        )
        seconds.append(time.process_time() - start)
    return rounds * repetitions / min(seconds)


def by_loops(arms: Arms, rounds: int) -> float:
    """Rounds a second of UCB1 written out over all pairs, one repetition."""
    Y, _ = outputs(len(arms), rounds, np.random.default_rng(0))
    C, n = arms.C, len(arms)
    pairs = list(combinations(range(n), 2))
    D, N = dict.fromkeys(pairs, 0), dict.fromkeys(pairs, 0)
    start = time.process_time()
    for t in range(1, rounds + 1):
        arm = n - 1
        if t > 1:
            index = {p: D[p] / N[p] + math.sqrt(0.51 * math.log(t) / N[p]) for p in pairs}
            low = {j for j in range(n) if all(C[j] - C[i] <= index[i, j] for i in range(j))}
            high = {i for i in range(n) if all(C[j] - C[i] > index[i, j] for j in range(i + 1, n))}
            arm = min((low & high) | {n - 1})
        for i, j in combinations(range(arm + 1), 2):
            N[i, j] += 1
            D[i, j] += int(Y[t - 1, i] != Y[t - 1, j])
    return rounds / (time.process_time() - start)


def live(arms: Arms, name: PolicyName, rounds: int) -> dict[str, float]:
    """Milliseconds of a live round: choose, note the play, take the feedback."""
    Y, _ = outputs(len(arms), rounds, np.random.default_rng(1))
    problem = SelectionProblem(arms, make_policy(name))
    counts, spent = problem.empty(), []
    for t in range(1, rounds + 1):
        start = time.process_time()
        arm = problem.choose(counts, t, np.random.default_rng([0, t]))
        counts = record_play(counts, arm)
        counts = problem.update(counts, arm, Y[t - 1, arms.revealed(arm)])
        spent.append(1000 * (time.process_time() - start))
    return {"median_ms": round(statistics.median(spent), 3), "max_ms": round(max(spent), 3)}


def held(arms: Arms) -> float:
    """Megabytes of counts and of the arms' own arrays."""
    i, j = arms.pairs
    return round((SelectionProblem(arms, make_policy("ts")).empty().nbytes + i.nbytes + j.nbytes) / 1e6, 2)


def main() -> None:
    """Print the figures."""
    ten = make_arms("cascade", [DiagnosticTest(f"t{k}", cost) for k, cost in enumerate(COSTS)])
    eight = make_arms("subset", [DiagnosticTest(f"t{k}", cost) for k, cost in enumerate(COSTS[:8])])
    all_ten = make_arms("subset", [DiagnosticTest(f"t{k}", cost) for k, cost in enumerate(COSTS)])
    figures: dict[str, Any] = {
        "cascade of 10, replay, rounds_per_s": {n: round(replayed(ten, n, 1000, 200)) for n in POLICIES},
        "cascade of 10, by loops, rounds_per_s": round(by_loops(ten, 2000)),
        "cascade of 10, live": {n: live(ten, n, 500) for n in POLICIES},
        "8 tests as subsets, live": {n: live(eight, n, 200) for n in POLICIES},
        "10 tests as subsets, live": {n: live(all_ten, n, 20) for n in POLICIES},
        "megabytes": {"cascade of 10": held(ten), "8 tests": held(eight), "10 tests": held(all_ten)},
    }
    document = {
        "benchmark": "csmd_speed",
        "seconds": "of the process",
        **figures,
        "versions": {"python": platform.python_version()} | {n: version(n) for n in ("autoprog", "numpy", "scipy")},
        "machine": platform.machine(),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
