"""What a finished search hands over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autoprog.model import PrognosticModel


@dataclass(frozen=True)
class SearchResult:
    """The delivered model and the documents that describe it.

    Attributes
    ----------
    model : PrognosticModel
        Fitted on all patients.
    ensemble, rules : mapping
        As the API shows them, ready for JSON.
    decomposition : mapping or None
        The same; None where time did not allow for it.
    warnings : tuple of str
        What the client should know before trusting the model.
    """

    model: PrognosticModel
    ensemble: Mapping[str, Any]
    rules: Mapping[str, Any]
    decomposition: Mapping[str, Any] | None
    warnings: tuple[str, ...] = ()
