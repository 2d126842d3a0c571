"""The observed event rate of some patients, with its interval.

n, p        independent rows, patients or visits; share of them with the outcome
z           quantile of the normal distribution at (1 + level) / 2
centre      (p + z^2 / 2n) / (1 + z^2 / n)

For clustered rows n is their number divided by their design effect (Rao & Scott 1992, Biometrics 48:577).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from autoprog.interpreter.clusters import Clusters
from autoprog.interpreter.rules import LEVEL, EventRate
from autoprog.survival import aalen_johansen, pseudo_values


class ObservedOutcome(Protocol):
    """The outcomes of a cohort's rows, by the horizon if there is time."""

    @property
    def described(self) -> str:
        """Description of the rate and its interval, as a clause for the note."""
        ...

    def event_rate(self, rows: NDArray[np.bool_]) -> EventRate:
        """Observed event rate of some rows, at least one."""
        ...


@dataclass(frozen=True, eq=False)
class BinaryOutcome:
    """An outcome that is known for every row; `y` is 1 with the outcome and 0 without."""

    y: NDArray[np.integer]
    clusters: Clusters

    @property
    def described(self) -> str:
        """Description of the rate and its interval."""
        had = "patients who" if self.clusters.patient is None else "visits that"
        return f"the share of matching {had} had the outcome, with the {100 * LEVEL:.0f} % Wilson score interval"

    def event_rate(self, rows: NDArray[np.bool_]) -> EventRate:
        """Share of some rows, at least one, with the outcome, and its Wilson score interval."""
        with_it = self.y[rows] != 0
        n, share = len(with_it), float(with_it.mean())
        effect = float(self.clusters.take(rows).design_effect(with_it))
        return EventRate(share, *score_interval(share, n / effect), self.clusters.n_patients(rows))


def score_interval(share: float, n: float) -> tuple[float, float]:
    """Interval of level `LEVEL` for a share of n >= 1 (Wilson 1927, JASA 22:209)."""
    z = float(ndtri((1 + LEVEL) / 2))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, eq=False)
class IncidenceOutcome:
    """Outcomes of patients, or after visits, until a horizon; an `ObservedOutcome`."""

    time: NDArray[np.float64]
    event: NDArray[np.integer]  # 0 for censored, 1 for the event of interest, 2 and more for competing events
    horizon: float  # in the unit of `time`
    clusters: Clusters

    @property
    def described(self) -> str:
        """Description of the rate and its interval."""
        return (
            f"the incidence of the event by {self.horizon:g} among matching {self.clusters.row}s (Aalen-Johansen), "
            f"with its {100 * LEVEL:.0f} % interval"
        )

    def event_rate(self, rows: NDArray[np.bool_]) -> EventRate:
        """Incidence by the horizon among some rows, at least one, with its interval."""
        n_patients, time, event = self.clusters.n_patients(rows), self.time[rows], self.event[rows]
        # No estimate if follow-up ends before the horizon, and not by an event.
        if time.max() < self.horizon and (event[time == time.max()] == 0).any():
            return EventRate(None, None, None, n_patients)
        n = len(time) / self._design_effect(rows)
        found = aalen_johansen(time, event, np.full(len(time), n / len(time))).at(self.horizon, 1, LEVEL)
        estimate, lower, upper = (float(x[0]) for x in (found.estimate, found.lower, found.upper))
        # The interval on the scale of log(-log) needs events, and rows without one; else Wilson's is used.
        if np.isnan(lower) or np.isnan(upper):
            lower, upper = score_interval(float(np.mean((event == 1) & (time <= self.horizon))), n)
        return EventRate(estimate, min(lower, estimate), max(upper, estimate), n_patients)

    def _design_effect(self, rows: NDArray[np.bool_]) -> float:
        """Design effect of the rows' pseudo-values; censored rows have no outcome to compare."""
        clusters = self.clusters.take(rows)
        if clusters.group is None or np.count_nonzero(rows) < 2:
            return 1.0
        theta = pseudo_values(self.time[rows], self.event[rows], self.horizon)[:, 0]
        return float(clusters.design_effect(theta))
