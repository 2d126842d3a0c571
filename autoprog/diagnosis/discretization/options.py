"""Options of a bandit over thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

from autoprog.errors import Fault, InvalidInputError

Form = Literal["loss", "gain", "mixed", "hedge"]
FORMS: tuple[Form, ...] = get_args(Form)
_FLOOR = 1e-6  # without any mixing, a probability that has become 0 stays 0


@dataclass(frozen=True, slots=True)
class BanditOptions:
    """Form, learning rate and exploration of one bandit.

    Attributes
    ----------
    form : {"loss", "gain", "mixed", "hedge"}
        `loss` is safe without exploration. `gain` is as published; it can favour an arm that was lucky early for ever.
        `mixed` is `gain` with exploration. `hedge` learns from the gains of all arms.
    rate : float or None
        Fixed learning rate, above 0. None: sqrt(2 ln K / (n K)), for `hedge` sqrt(2 ln K / n), if `queries` is given;
        otherwise it falls with the queries so far.
    queries : int or None
        Number n of queries to come, if known.
    mixing : float or None
        Share of uniform draws, in [0, 1]; None is eta K for `mixed`, else 0.
    floor : float or None
        Minimum mixing, in [0, 1]; None is 1e-6, or 0 for `gain`, as published.

    Raises
    ------
    InvalidInputError
        If an option is outside its range; names every fault.
    """

    form: Form = "loss"
    rate: float | None = None
    queries: int | None = None
    mixing: float | None = None
    floor: float | None = None

    def __post_init__(self) -> None:
        faults: list[Fault] = []
        if self.form not in FORMS:
            faults.append(Fault("/form", f"must be one of {', '.join(FORMS)}, not {self.form!r}"))
        if self.rate is not None and not (np.isfinite(self.rate) and self.rate > 0):
            faults.append(Fault("/rate", f"must be finite and above 0, not {self.rate}"))
        if self.queries is not None and self.queries < 1:
            faults.append(Fault("/queries", f"must be at least 1, not {self.queries}"))
        if self.mixing is not None and not 0 <= self.mixing <= 1:
            faults.append(Fault("/mixing", f"must lie in [0, 1], not {self.mixing}"))
        if self.floor is not None and not 0 <= self.floor <= 1:
            faults.append(Fault("/floor", f"must lie in [0, 1], not {self.floor}"))
        if faults:
            raise InvalidInputError(faults)

    def rate_at(self, K: int, n: int) -> float:
        """eta of a bandit of K arms after n queries; 0 for a single arm unless a rate was given."""
        if self.rate is not None:
            return self.rate
        # If all gains are known, no estimate has a variance that grows with the number of arms.
        arms = 1 if self.form == "hedge" else K
        if self.queries is not None:
            return float(np.sqrt(2 * np.log(K) / (self.queries * arms)))
        return float(np.sqrt(np.log(K) / (max(1, n) * arms)))

    def mixing_at(self, K: int, eta: float) -> float:
        """Share of uniform draws of a bandit of K arms at this rate, in [0, 1]."""
        floor = self.floor if self.floor is not None else 0.0 if self.form == "gain" else _FLOOR
        if self.mixing is not None:
            return max(self.mixing, floor)
        return max(min(1.0, eta * K), floor) if self.form == "mixed" else floor

    def to_json(self) -> dict[str, Any]:
        """Return the options as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Restore options from `to_json`."""
        return cls(**document)
