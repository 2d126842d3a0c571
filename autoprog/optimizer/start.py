"""The start of a search: results of earlier cohorts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autoprog.space import Configuration


@dataclass(frozen=True)
class Start:
    """A first design and a prior; the default uses no earlier cohort.

    Attributes
    ----------
    portfolio : tuple of Configuration
        Configurations of the search's space to evaluate first, after the simple pipeline. With offsets only as many as
        may run at once are used, since the offsets choose better.
    offsets : mapping
        Term of `main_effects.py` -> mu in standardised scores: an algorithm's expected gain over the simple pipeline's
        of its stage; a hyperparameter's slope and bend.
    constants : mapping
        Fields of `OptimizerOptions` -> calibrated values, used where the client gives none.
    scale : float or None
        Expected size of one standardised unit, in units of the score; None if unknown.
    trust : float
        Weight of the earlier cohorts, in [0, 1).
    n_cohorts : int
        Number of earlier cohorts.
    """

    portfolio: tuple[Configuration, ...] = ()
    offsets: Mapping[str, float] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    scale: float | None = None
    trust: float = 0.0
    n_cohorts: int = 0

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON."""
        return {
            "portfolio": [c.to_json() for c in self.portfolio],
            "offsets": dict(self.offsets),
            "constants": dict(self.constants),
            "scale": self.scale,
            "trust": self.trust,
            "n_cohorts": self.n_cohorts,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Start:
        """Read the document of `to_json`."""
        portfolio = tuple(Configuration.from_json(c) for c in document["portfolio"])
        return cls(**{**document, "portfolio": portfolio})
