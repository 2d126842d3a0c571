"""Prognostic models from patient cohorts.

`AutoPrognosis` and `Survival` are for notebooks and scripts. They need the learning libraries, and are therefore
loaded at their first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from autoprog.extras import explain_missing

if TYPE_CHECKING:
    from autoprog.estimator import AutoPrognosis, Survival

__all__ = ["AutoPrognosis", "Survival"]


def __getattr__(name: str) -> object:
    if name in __all__:
        try:
            return getattr(import_module("autoprog.estimator"), name)
        except ModuleNotFoundError as error:
            raise (explain_missing(error, "a search in this process") or error) from error
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
