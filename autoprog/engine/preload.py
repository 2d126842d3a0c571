"""Module that the fork server imports before it forks: children inherit the libraries and start in milliseconds.

Nothing else imports it. It only loads: a library that computed in the fork server may hang in its children. It loads
what most pipelines need. A child loads the rest, such as torch, when a call names it.
"""

from __future__ import annotations

import atexit
import importlib
import os
from multiprocessing import spawn

_MODULES = (
    "sklearn.ensemble",
    "xgboost",
    "lightgbm",
    "sksurv.ensemble",
    "sksurv.linear_model",
    "autoprog.engine.child",
    "autoprog.search.tasks",
)


def _skip(_main: str) -> None:
    """Do nothing in place of importing the parent's main module."""


# A child of multiprocessing imports its parent's main module first. No call needs it, it would import the command line,
# and a script without a main guard would start itself again.
for _name in ("_fixup_main_from_name", "_fixup_main_from_path"):
    if hasattr(spawn, _name):
        setattr(spawn, _name, _skip)

for _name in _MODULES:
    importlib.import_module(_name)

# The fork server ends when its parent is gone, and its children with it: at once, without tearing down what it loaded.
atexit.register(os._exit, 0)
