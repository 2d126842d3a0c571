"""The observed event rate with follow-up: the incidence by a horizon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.interpreter.clusters import Clusters
from autoprog.interpreter.observed import score_interval
from autoprog.interpreter.rules import LEVEL, EventRate
from autoprog.survival import aalen_johansen, pseudo_values


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
