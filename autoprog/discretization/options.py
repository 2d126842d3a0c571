"""How a bandit over thresholds learns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

from autoprog.errors import Fault, InvalidInputError

Form = Literal["loss", "gain", "mixed", "hedge"]
FORMS: tuple[Form, ...] = get_args(Form)
_FLOOR = 1e-6


@dataclass(frozen=True, slots=True)
class BanditOptions:
    """Form, learning rate and exploration of one bandit.

    Attributes
    ----------
    form : {"loss", "gain", "mixed", "hedge"}
        `loss`, the default, is safe without exploration. `gain` is the form as published, which can feed an arm that
        was lucky early for ever. `mixed` is `gain` with exploration. `hedge` learns from the gains of all arms.
    rate : float or None
        A fixed learning rate, above 0.
    queries : int or None
        The number of queries to come, where it is known and `rate` is not given: the rate is then
        sqrt(2 ln K / (n K)). Where both are None the rate falls with the queries so far.
    mixing : float or None
        Share of draws that are uniform, in [0, 1]; None for eta K in the form `mixed` and for nothing elsewhere.
    floor : float or None
        The least mixing, in [0, 1]: without any, a probability that has become 0 stays 0. None for 1e-6, and for none
        in the form `gain`, which is published without.

    Raises
    ------
    InvalidInputError
        With every fault.
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
        """The learning rate of a bandit of K arms after n queries.

        Parameters
        ----------
        K : int
            Number of arms, at least 1.
        n : int
            Queries so far; only the anytime rate depends on them.

        Returns
        -------
        float
            eta; 0 of a single arm unless a rate was given.
        """
        if self.rate is not None:
            return self.rate
        # With all gains known an estimate has no variance that grows with the number of arms.
        arms = 1 if self.form == "hedge" else K
        if self.queries is not None:
            return float(np.sqrt(2 * np.log(K) / (self.queries * arms)))
        return float(np.sqrt(np.log(K) / (max(1, n) * arms)))

    def mixing_at(self, K: int, eta: float) -> float:
        """The share of uniform draws of a bandit of K arms at this rate, in [0, 1]."""
        floor = self.floor if self.floor is not None else 0.0 if self.form == "gain" else _FLOOR
        if self.mixing is not None:
            return max(self.mixing, floor)
        return max(min(1.0, eta * K), floor) if self.form == "mixed" else floor

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(**document)
