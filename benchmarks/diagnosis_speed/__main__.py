"""How long trees and next queries take on one core, and how the cost grows, beside NumPy and scikit-learn.

NumPy as one writes it down, and as it does it best.

Seconds of the processor, the least of several runs for a tree, the median for the first query of a session with nothing
remembered. Memory is the peak of a process that does nothing else, libraries included. Prints JSON.

    python -m benchmarks.diagnosis_speed
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

SEED = 0
SMALL = {"objects": 400, "queries": 200, "groups": 15, "density": 0.5, "repeats": 20}
LARGE = {"objects": 10_000, "queries": 1_000, "repeats": 3}
HUGE = {"objects": 100_000, "queries": 1_000, "density": 0.5, "repeats": 5}
ALGORITHMS = ({"algorithm": "gbs"}, {"algorithm": "ggbs"}, {"algorithm": "lambda_gbs", "base": 2.0},
              {"algorithm": "group_lambda_gbs", "base": 2.0})  # fmt: skip
CURVE = [(M, N) for M in (100, 400, 1600, 6400) for N in (50, 200, 800)] + [(10_000, 1_000)]
MILLION = {"objects": 1_000_000, "queries": 1_000, "density": 0.5, "repeats": 5, "prior": "uniform"}


def measured(case: dict[str, Any]) -> dict[str, Any]:
    """The figures of one case, run by itself on one thread."""
    case = {"seed": SEED, "density": 0.5, **case}
    script = Path(__file__).parent / "case.py"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, str(script), json.dumps(case)], env={**os.environ, **threads}, capture_output=True, check=True
    )
    return {**case, **json.loads(done.stdout)}


def trees() -> list[dict[str, Any]]:
    cases = [{"kind": "tree", **SMALL, **how, "prior": prior} for how in ALGORITHMS for prior in ("uniform", "any")]
    for density in (0.5, 0.01):
        for how in ALGORITHMS:
            cases += [{"kind": "tree", **LARGE, **how, "density": density, "prior": p} for p in ("uniform", "any")]
    for case in cases:
        case["bar_s"], case["bar_mib"] = (0.010, None) if case["objects"] == 400 else (2.0, 1024)
    return [measured(case) for case in cases]


def sessions() -> list[dict[str, Any]]:
    kinds: list[dict[str, Any]] = [{"algorithm": "gbs"}]
    kinds += [{"algorithm": "ggbs", "groups": groups} for groups in (50, 1000)]
    kinds += [{"algorithm": "group_lambda_gbs", "groups": 50, "base": 2.0}]
    bars = {"uniform": 0.005, "any": 0.025}
    cases = [{"kind": "session", **HUGE, **how, "prior": p, "bar_s": bars[p]} for how in kinds for p in bars]
    cases += [{"kind": "session", **MILLION, **how, "bar_s": 0.060} for how in kinds[:2]]
    return [measured(case) for case in cases]


def curve() -> list[dict[str, Any]]:
    return [measured({"kind": "rival", "objects": M, "queries": N, "groups": 15, "repeats": 3}) for M, N in CURVE]


def variants() -> list[dict[str, Any]]:
    """Priors, costs and wrong answers, beside NumPy."""
    found = []
    for M, N in CURVE[-2:]:
        common = {"objects": M, "queries": N, "groups": 15, "repeats": 3}
        found.append(measured({**common, "kind": "variant", "prior": "any"}))
        found.append(measured({**common, "kind": "variant", "costs": True}))
        found.append(measured({**common, "kind": "noise", "error_rate": 0.05, "questions": 20}))
    return found


def main() -> None:
    """Print the figures."""
    document = {
        "benchmark": "diagnosis_speed",
        "trees": trees(),
        "sessions": sessions(),
        "curve": curve(),
        "variants": variants(),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("autoprog", "numpy", "scipy", "scikit-learn")},
        },
        "machine": platform.machine(),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
