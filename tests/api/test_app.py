"""The application as a whole."""

from __future__ import annotations

import subprocess
import sys


def test_a_server_starts_without_the_learning_libraries() -> None:
    heavy = {"torch", "gpytorch", "skops", "xgboost", "lightgbm", "sksurv", "dask"}
    code = f"import sys, api; print(*({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
