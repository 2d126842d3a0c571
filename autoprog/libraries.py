"""The learning libraries, imported once and by one thread.

They take seconds, and some inspect modules that another thread has half imported. A process therefore imports them
before it starts threads, and before it reports that it is ready.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from autoprog.errors import Fault, InvalidInputError

LIBRARIES = (
    "numpy",
    "pandas",
    "pyarrow.parquet",
    "scipy.stats",
    "sklearn.ensemble",
    "xgboost",
    "lightgbm",
    "torch",
    "gpytorch",
    "sksurv.ensemble",
    "sksurv.linear_model",
    "skops.io",
)

_OWN = ("autoprog.model", "autoprog.search", "autoprog.diagnosis", "autoprog.csmd")


def import_libraries() -> None:
    """Import the libraries and the parts of autoprog that need them; a repeated call does nothing."""
    for name in (*LIBRARIES, *_OWN):
        importlib.import_module(name)


def import_plugins(modules: Iterable[str]) -> None:
    """Import plug-ins, which register algorithms and the types that their models hold; raises InvalidInputError."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise InvalidInputError([Fault("AUTOPROG_PLUGINS", f"{module!r} cannot be imported: {error}")]) from error
