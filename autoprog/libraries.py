"""The libraries that learn and predict, imported once and by one thread.

They take seconds, and some look at modules that another thread has half imported: a process imports them before it has
other threads, and before it says that it is ready.
"""

from __future__ import annotations

import importlib

LIBRARIES = (
    "numpy",
    "pandas",
    "pyarrow.parquet",
    "scipy.stats",
    "sklearn.ensemble",
    "dask.array",  # asked by scipy whether an array is one of its own
    "xgboost",
    "lightgbm",
    "torch",
    "gpytorch",
    "sksurv.ensemble",
    "sksurv.linear_model",
    "skops.io",
)

_OWN = ("autoprog.model", "autoprog.search", "autoprog.diagnosis", "autoprog.test_selection")


def import_libraries() -> None:
    """Import all of them, and what of autoprog stands on them; at once where that was done before."""
    for name in (*LIBRARIES, *_OWN):
        importlib.import_module(name)
