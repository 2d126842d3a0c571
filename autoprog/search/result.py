"""Result of a finished search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autoprog.model import PrognosticModel


@dataclass(frozen=True)
class SearchResult:
    """The delivered model and the documents that describe it."""

    model: PrognosticModel  # fitted to all patients
    # Documents as the API shows them, ready for JSON; the decomposition is None if time did not allow it.
    ensemble: Mapping[str, Any]
    rules: Mapping[str, Any]
    decomposition: Mapping[str, Any] | None
    # What the client should know before trusting the model.
    warnings: tuple[str, ...] = ()
