"""What became of the patients: the observed event rate of any of them, with its interval.

n, k        patients; those of them with the outcome
z           quantile of the normal distribution at (1 + level) / 2
centre      (k / n + z^2 / 2n) / (1 + z^2 / n)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from autoprog.interpreter.rules import LEVEL, EventRate


class ObservedOutcome(Protocol):
    """The outcomes of a cohort's patients, by the horizon where there is time."""

    @property
    def described(self) -> str:
        """What the rate and its interval are, for the note: a clause."""
        ...

    def event_rate(self, patients: NDArray[np.bool_]) -> EventRate:
        """The observed event rate of some of the patients; at least one."""
        ...


@dataclass(frozen=True, eq=False)
class BinaryOutcome:
    """An outcome that is known of every patient.

    Attributes
    ----------
    y : ndarray, shape = (n_patients,)
        1 for a patient with the outcome, 0 for one without.
    """

    y: NDArray[np.integer]

    @property
    def described(self) -> str:
        """What the rate and its interval are."""
        return f"the share of matching patients who had the outcome, with the {100 * LEVEL:.0f} % Wilson score interval"

    def event_rate(self, patients: NDArray[np.bool_]) -> EventRate:
        """Share of some patients who had the outcome, with its score interval.

        Parameters
        ----------
        patients : ndarray, shape = (n_patients,)
            bool; at least one is true.

        Returns
        -------
        EventRate
            With `score_interval`.
        """
        n, k = int(np.count_nonzero(patients)), int(np.count_nonzero(self.y[patients]))
        return EventRate(k / n, *score_interval(k, n), n)


def score_interval(k: int, n: int) -> tuple[float, float]:
    """Interval of level `LEVEL` of the share behind k of n, at least 1 (Wilson 1927, JASA 22:209)."""
    z = float(ndtri((1 + LEVEL) / 2))
    share = k / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)
