"""An optimizer's answer: the next batch and the state to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autoprog.space import Configuration


@dataclass(frozen=True)
class Proposal:
    """A batch of configurations to evaluate.

    Attributes
    ----------
    batch : int
        Index of the batch, from 0.
    configurations : tuple of Configuration
        Distinct and never evaluated before; at most as many as requested.
    state : mapping
        The optimizer's input for the next call (chain, fitted values), as JSON; a resumed search continues identically.
    is_final : bool
        Whether the configurations were explored on a sample and are to be evaluated on all patients.
    """

    batch: int
    configurations: tuple[Configuration, ...]
    state: Mapping[str, Any] = field(default_factory=dict)
    is_final: bool = False
