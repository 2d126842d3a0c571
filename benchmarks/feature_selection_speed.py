"""What a round of online feature selection costs on as many rows as Forest Cover has.

    python -m benchmarks.feature_selection_speed [--rows 581012]

The 581,012 rows of Forest Cover (54 features, type 2 against the rest) are not in this repository: rows are simulated
with its columns, ten measurements, four areas and forty soils of which one each is 1, and its share of positives, .488.
The figures are costs, not mistakes: mistakes on simulated rows say nothing of Forest Cover. Seconds of the process,
one thread. Of 54 features each at a price of its own the first 50,000 rows alone are gone through.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from importlib.metadata import version
from itertools import combinations
from typing import Any

import numpy as np

from autoprog.feature_streams import Family, FeatureGroup, FeatureStream, StreamOptions

ROWS, PART, SOLVED = 581_012, 10_000, 50_000
MEASURED = [f"measurement {k}" for k in range(10)]
AREAS = [f"area {k}" for k in range(4)]
SOILS = [f"soil {k}" for k in range(40)]
NAMES = MEASURED + AREAS + SOILS

# Five pairs of measurements, the areas and the soils, each at a price; every feature at a price.
PANELS = (
    *(FeatureGroup(f"panel {k}", tuple(MEASURED[2 * k : 2 * k + 2]), 2.0 + k) for k in range(5)),
    FeatureGroup("areas", tuple(AREAS), 3.0),
    FeatureGroup("soils", tuple(SOILS), 8.0),
)
PRICES = tuple(FeatureGroup(name, (name,), 1.0 + (7 * j) % 11) for j, name in enumerate(NAMES))
LEARNERS = {
    "Thompson": StreamOptions(),
    "Thompson, gaussian": StreamOptions(likelihood="gaussian"),
    "Thompson, 7 groups within a budget": StreamOptions(family=Family(PANELS, budget=12.0)),
    "Thompson, 1,431 listed pairs": StreamOptions(family=Family(subsets=tuple(combinations(NAMES, 2)))),
    "Thompson, 54 prices within a budget": StreamOptions(family=Family(PRICES, budget=20.0)),
    "epsilon-greedy perceptron": StreamOptions("epsilon_greedy", truncate=True),
    "OFS": StreamOptions("ofs"),
}


def simulated(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the columns of Forest Cover; the label follows two measurements and one area."""
    measured = rng.normal(size=(rows, 10))
    area, soil = rng.integers(0, 4, rows), rng.integers(0, 40, rows)
    score = measured[:, 0] - 0.7 * measured[:, 5] + (area == 1) + rng.logistic(size=rows)
    y = (score > np.quantile(score, 1 - 0.488)).astype(int)
    return np.concatenate([measured, np.eye(4)[area], np.eye(40)[soil]], axis=1), y


def measure(X: np.ndarray, y: np.ndarray, options: StreamOptions) -> dict[str, Any]:
    """One pass; microseconds a round of the first, the last and all parts."""
    stream = FeatureStream(NAMES, options)
    costs, sizes = [], []
    for start in range(0, len(y), PART):
        part = slice(start, start + PART)
        begun = time.process_time()
        stream.partial_fit(X[part], y[part])
        costs.append(time.process_time() - begun)
        sizes.append(len(y[part]))
    total = sum(costs)
    return {
        "rows": len(y),
        "us a round": round(1e6 * total / len(y), 1),
        f"of the first {PART:,}": round(1e6 * costs[0] / sizes[0], 1),
        "of the last part": round(1e6 * costs[-1] / sizes[-1], 1),
        "seconds": round(total, 1),
        "state, kB of JSON": round(len(json.dumps(stream.to_json())) / 1000, 1),
        "mistakes": stream.performance.online_mistake_rate,
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    arguments = parser.parse_args()
    X, y = simulated(arguments.rows, np.random.default_rng(0))
    figures = {}
    for name, options in LEARNERS.items():
        rows = min(SOLVED, len(y)) if "prices" in name else len(y)
        figures[name] = measure(X[:rows], y[:rows], options)
        print(name, figures[name]["us a round"], file=sys.stderr, flush=True)
    document = {
        "benchmark": "feature_selection_speed",
        "learners": figures,
        "versions": {"python": platform.python_version()} | {n: version(n) for n in ("autoprog", "numpy", "scipy")},
        "machine": platform.machine(),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
