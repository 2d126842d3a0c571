"""Importing the estimator takes little longer than importing the libraries that it needs."""

from __future__ import annotations

import json
import subprocess
import sys

# Seconds of a processor, or on slower machines told by what it cannot do without.
MOST_S, MOST_TIMES, LIBRARIES = 1.5, 1.3, "numpy, pandas, scipy.stats, sklearn.linear_model"
HEAVY = ("torch", "gpytorch", "lightgbm", "xgboost", "sksurv", "matplotlib", "fastapi")

_CHILD = """
import json, resource, sys
{statement}
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([used.ru_utime + used.ru_stime, sorted(sys.modules)]))
"""


def import_in_child(statement: str) -> tuple[float, set[str]]:
    """Seconds of the processor, the least of three, and the modules that were loaded."""
    told = []
    for _ in range(3):
        command = [sys.executable, "-c", _CHILD.format(statement=statement)]
        told.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    return min(seconds for seconds, _ in told), set(told[0][1])


def test_import_of_the_estimator_is_quick_and_loads_no_heavy_library() -> None:
    least, _ = import_in_child(f"import {LIBRARIES}")
    seconds, loaded = import_in_child("import autoprog; autoprog.AutoPrognosis")
    assert loaded & set(HEAVY) == set()
    assert seconds <= max(MOST_S, MOST_TIMES * least)
