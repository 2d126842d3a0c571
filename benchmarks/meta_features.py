"""Seconds that the meta-features of a cohort take: 70,000 simulated patients, 50 columns (87 with dummies).

    python -m benchmarks.meta_features [--patients 70000] [--repeats 5]

The bar is 2 s, for a request waits for them. Shown are the best and the median of the repeats, in seconds of the clock
and of the processor (on a shared machine the second are those to compare), and the
seconds of reading the stored cohort, which the same request does.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

from autoprog.cohort import Binary, Cohort, Feature, from_parquet, to_parquet
from autoprog.metalearning.meta_features import META_FEATURES, meta_features
from benchmarks.simulated_cohort import OUTCOME, simulated_table

BAR_S, SEED = 2.0, 0


def simulated(n_patients: int) -> Cohort:
    """The simulated table as a cohort."""
    table = simulated_table(n_patients, SEED)
    y = table.pop(OUTCOME).to_numpy(dtype=np.int8)
    features, columns = [], []
    for name, column in table.items():
        if hasattr(column, "cat"):
            codes = column.cat.codes.to_numpy(dtype=np.float64)
            features.append(Feature(str(name), "categorical", tuple(column.cat.categories)))
            columns.append(np.where(codes < 0, np.nan, codes))
        else:
            binary = str(name).startswith("sign")
            features.append(Feature(str(name), "binary" if binary else "numeric", ("0", "1") if binary else ()))
            columns.append(column.to_numpy(dtype=np.float64))
    return Cohort("simulated", Binary(OUTCOME, "1", "0"), tuple(features), np.column_stack(columns), y)


def timed(work: Callable[[], object], repeats: int) -> dict[str, float]:
    """Seconds of the clock and of the processor, best and median."""
    wall, cpu = [], []
    for _ in range(repeats):
        started, started_cpu = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - started)
        cpu.append(time.process_time() - started_cpu)
    figures = {"wall": wall, "cpu": cpu}
    return {f"{kind}_{name}_s": round(of(values), 3) for kind, values in figures.items() for name, of in _OF.items()}


_OF: dict[str, Callable[[list[float]], float]] = {"best": min, "median": statistics.median}


def main() -> None:
    """Measure and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, default=70_000)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    cohort = simulated(asked.patients)
    stored = to_parquet(cohort)
    meta_features(cohort)  # the first call of a process loads the learners
    figures: dict[str, Any] = {
        "patients": cohort.n_patients,
        "features": len(cohort.features),
        "bar_s": BAR_S,
        "meta_features": timed(lambda: meta_features(cohort), asked.repeats),
        "reading": timed(lambda: from_parquet(stored), asked.repeats),
        "values": dict(zip([m.name for m in META_FEATURES], meta_features(cohort).values, strict=True)),
        "versions": {"python": platform.python_version(), **{n: version(n) for n in ("numpy", "scikit-learn")}},
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
