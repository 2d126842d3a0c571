"""What an optimizer answers: the next batch, and what it must remember."""

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
        Its number, from 0.
    configurations : tuple of Configuration
        Distinct, never evaluated before; at most as many as were asked for.
    state : mapping
        What the optimizer wants back at the next call (its chain, its fitted values), as JSON; so that a search that
        was killed goes on exactly as it would have.
    is_final : bool
        Whether they were explored on a sample of the patients, and are to be evaluated on all of them.
    """

    batch: int
    configurations: tuple[Configuration, ...]
    state: Mapping[str, Any] = field(default_factory=dict)
    is_final: bool = False
