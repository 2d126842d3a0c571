"""Regret of the forms of Exp3, and how often they end stuck on a wrong threshold.

    python -m benchmarks.discretization

Five arms with Bernoulli gains of means .5, .5, .5, .5, .7; 2,000 rounds. A run is stuck that ends by drawing a wrong
arm nine times in ten. Bars: the printed form gets stuck at every rate; none of 60 runs of the loss form at sqrt(2 ln K
/ (T K)) does. The printed form is the rival in the same run; shares are of 600 runs, and of the first 60.
"""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from autoprog.diagnosis.discretization import BanditOptions, simulate

MEANS = np.array([0.5, 0.5, 0.5, 0.5, 0.7])
ROUNDS, RUNS, FIRST = 2000, 600, 60
KNOWN = float(np.sqrt(2 * np.log(len(MEANS)) / (ROUNDS * len(MEANS))))


def measure(options: BanditOptions, seed: int) -> dict[str, Any]:
    """Regret and stuck runs of one form."""
    first = simulate(MEANS, options, ROUNDS, FIRST, np.random.default_rng(seed))
    many = simulate(MEANS, options, ROUNDS, RUNS, np.random.default_rng(seed + 1))
    return {
        "regret": round(float(many.regret.mean()), 1),
        "standard_error": round(float(many.regret.std(ddof=1) / np.sqrt(RUNS)), 1),
        f"stuck of {FIRST}": first.stuck(MEANS),
        f"stuck of {RUNS}": many.stuck(MEANS),
    }


def main() -> None:
    """Print the figures."""
    forms: dict[str, Any] = {}
    for rate in (KNOWN, 0.1, 0.5):
        for form in ("gain", "mixed", "loss"):
            forms[f"{form} at {rate:.3f}"] = measure(BanditOptions(form, rate=rate), 0)  # type: ignore[arg-type]
    forms["loss, anytime rate"] = measure(BanditOptions(), 0)
    forms["hedge, known rounds"] = measure(BanditOptions("hedge", queries=ROUNDS), 0)
    document = {
        "benchmark": "discretization",
        "rounds": ROUNDS,
        "forms": forms,
        "seeds": [0, 1],
        "versions": {"python": platform.python_version()} | {n: version(n) for n in ("autoprog", "numpy")},
        "machine": platform.machine(),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
