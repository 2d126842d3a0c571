"""Prognostic models from patient cohorts.

`AutoPrognosis` and `Survival` are for notebooks and scripts, `Client` talks to a server. Each is loaded at its first
use; the learning libraries at the first search.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from autoprog.extras import explain_missing

if TYPE_CHECKING:
    from autoprog.client import Client, ServerError
    from autoprog.estimator import AutoPrognosis, ExtrapolationWarning, Survival

__all__ = ["AutoPrognosis", "Client", "ExtrapolationWarning", "ServerError", "Survival"]

_PLACES = {"Client": "autoprog.client", "ServerError": "autoprog.client"}


def __getattr__(name: str) -> object:
    if name in __all__:
        try:
            return getattr(import_module(_PLACES.get(name, "autoprog.estimator")), name)
        except ModuleNotFoundError as error:
            raise (explain_missing(error, "a search in this process") or error) from error
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
