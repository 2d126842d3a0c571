"""Posterior of P(finding | group) for every threshold of a feature.

    J             number of groups (diseases, labels)
    K             number of candidate thresholds
    ones, zeros   labelled cases of a group above, and not above, a threshold        (J, K)
    theta[j, k]   P(X > tau_k | Y = j), independently Beta(a0 + ones, b0 + zeros)     (J, K)

A known measurement gives all K binarisations, so one labelled case updates a row of both tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]

MIN_PRIOR, MAX_PRIOR = 1e-100, 1e100
"""Bounds on both parameters of a Beta prior: their sum and their ratio stay numbers."""


class ThetaPosterior:
    """Beta posteriors of one feature.

    Parameters
    ----------
    thresholds : ndarray, shape = (K,)
        tau, ascending.
    n_groups : int
        J, at least 1.
    prior : (float, float)
        a0 and b0, from `MIN_PRIOR` to `MAX_PRIOR`.

    Raises
    ------
    InvalidInputError
        If there is no threshold or no group, or the prior is out of its bounds.
    """

    def __init__(self, thresholds: _Floats, n_groups: int, prior: tuple[float, float] = (1.0, 1.0)) -> None:
        faults: list[Fault] = []
        if not len(thresholds):
            faults.append(Fault("/thresholds", "a feature without thresholds cannot be queried"))
        if n_groups < 1:
            faults.append(Fault("/groups", f"at least one group is needed, not {n_groups}"))
        faults += prior_faults(prior)
        if faults:
            raise InvalidInputError(faults)
        self.thresholds = np.asarray(thresholds, dtype=np.float64)
        self.prior = prior
        self.ones = np.zeros((n_groups, len(thresholds)), dtype=np.int64)
        self.zeros = np.zeros_like(self.ones)

    def update(self, value: float, group: int) -> None:
        """Learn the value of a case in a group (from 0); NaN changes nothing, an unknown group raises an error."""
        if not 0 <= group < len(self.ones):
            raise InvalidInputError([Fault("/group", f"must be one of 0 to {len(self.ones) - 1}, not {group}")])
        if np.isnan(value):
            return
        z = value > self.thresholds
        self.ones[group] += z
        self.zeros[group] += ~z

    @property
    def mean(self) -> _Floats:
        """Posterior means of theta, shape (J, K)."""
        a0, b0 = self.prior
        mean: _Floats = (a0 + self.ones) / (a0 + b0 + self.ones + self.zeros)
        return mean

    def chance(self, arm: int, *, answer: bool) -> _Floats:
        """Posterior means of P(answer | group) at the threshold of `arm`, shape (J,), above 0."""
        a0, b0 = self.prior
        ones, zeros = a0 + self.ones[:, arm], b0 + self.zeros[:, arm]
        chance: _Floats = (ones if answer else zeros) / (ones + zeros)
        return chance

    def draw(self, rng: np.random.Generator, arm: int | None = None) -> _Floats:
        """Draw theta: all thresholds, shape (J, K), or the one of `arm`, shape (J,)."""
        a0, b0 = self.prior
        column = slice(None) if arm is None else arm
        return rng.beta(a0 + self.ones[:, column], b0 + self.zeros[:, column])

    def draw_together(self, rng: np.random.Generator, draws: int) -> _Floats:
        """Draw theta of all thresholds jointly, shape (draws, J, K), falling along the thresholds."""
        J, K = self.ones.shape
        below = np.concatenate([self.zeros, (self.zeros + self.ones)[:, -1:]], axis=1)
        bins = np.diff(below, axis=1, prepend=np.zeros((J, 1), dtype=np.int64))
        masses = bins + sum(self.prior) / (K + 1)
        # Dirichlet shares of the bins between thresholds; the prior's mass is spread evenly
        shares = np.stack([rng.dirichlet(mass, draws) for mass in masses], axis=1)
        theta: _Floats = np.clip(shares[:, :, ::-1].cumsum(axis=2)[:, :, -2::-1], 0.0, 1.0)
        return theta

    def to_json(self) -> dict[str, Any]:
        """Return the whole state as a JSON object."""
        counts = {"ones": self.ones.tolist(), "zeros": self.zeros.tolist()}
        return {"thresholds": self.thresholds.tolist(), "prior": list(self.prior), **counts}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Restore a posterior from `to_json`."""
        a0, b0 = document["prior"]
        posterior = cls(np.array(document["thresholds"]), len(document["ones"]), (a0, b0))
        posterior.ones = np.array(document["ones"], dtype=np.int64)
        posterior.zeros = np.array(document["zeros"], dtype=np.int64)
        return posterior


def prior_faults(prior: tuple[float, float]) -> list[Fault]:
    """The fault of a Beta prior, if it has one."""
    if all(MIN_PRIOR <= b <= MAX_PRIOR for b in prior):
        return []
    return [Fault("/prior", f"must be two numbers from {MIN_PRIOR:g} to {MAX_PRIOR:g}, not {prior}")]
