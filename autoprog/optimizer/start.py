"""Where a search begins: what earlier cohorts have taught."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autoprog.space import Configuration


@dataclass(frozen=True)
class Start:
    """A first design and a prior; the default knows of no earlier cohort.

    Attributes
    ----------
    portfolio : tuple of Configuration
        Of the search's space; evaluated first, after the simple pipeline. Where there are offsets, no more of it than
        may run at once: then they choose better.
    offsets : mapping
        Term of `main_effects.py` -> mu: of an algorithm what it is expected to gain over the simple pipeline's of its
        stage, of a hyperparameter slope and bend; in standardised scores.
    constants : mapping
        Fields of `OptimizerOptions` -> calibrated values, for those that the client leaves open.
    scale : float or None
        Units of the score that one standardised unit is expected to be; None where unknown.
    trust : float
        How much of this is the earlier cohorts', in [0, 1); the rest is believed without any.
    n_cohorts : int
        Cohorts behind it.
    """

    portfolio: tuple[Configuration, ...] = ()
    offsets: Mapping[str, float] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    scale: float | None = None
    trust: float = 0.0
    n_cohorts: int = 0

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
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
        """The inverse of `to_json`."""
        portfolio = tuple(Configuration.from_json(c) for c in document["portfolio"])
        return cls(**{**document, "portfolio": portfolio})
