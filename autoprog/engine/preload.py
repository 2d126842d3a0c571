"""Module that the fork server imports before it forks: children inherit the libraries and start in milliseconds.

Nothing else imports it. It only loads: a library that computed in the fork server may hang in its children. It loads
what most pipelines need at once, so that the first children start early. A child loads the rest, such as torch, when a
call names it, and has the fork server load it, too, for the children after it.
"""

from __future__ import annotations

import atexit
import importlib
import os
import signal
from collections import deque
from contextlib import suppress
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

from autoprog.space import registered  # noqa: E402  after what it imports

# Seconds between two modules, in which the fork server answers.
_BETWEEN_S = 0.2
_later = deque(dict.fromkeys(["autoprog.model.skops_io", *(name for a in registered() for name in a.modules)]))


_loading = False


def _load_later(*_: object) -> None:
    """Load the next module; who asks for a child waits meanwhile."""
    global _loading  # noqa: PLW0603  a handler has no other place for what it knows
    # Children may ask while a module is loaded: to begin another one within it would leave both half loaded.
    if _loading or not _later:
        return
    _loading = True
    with suppress(Exception):  # a child imports it, too, and says what is wrong
        importlib.import_module(_later.popleft())
    _loading = False
    if _later:
        signal.setitimer(signal.ITIMER_REAL, _BETWEEN_S)


# Children inherit neither the timer nor a half-loaded module, as the fork server forks between signals.
signal.signal(signal.SIGALRM, _load_later)

# The fork server ends when its parent is gone, and its children with it: at once, without tearing down what it loaded.
atexit.register(os._exit, 0)
