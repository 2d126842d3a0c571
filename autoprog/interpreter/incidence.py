"""The observed event rate where patients are followed up: the incidence by a horizon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.interpreter.observed import score_interval
from autoprog.interpreter.rules import LEVEL, EventRate
from autoprog.survival import aalen_johansen


@dataclass(frozen=True, eq=False)
class IncidenceOutcome:
    """What became of patients until a horizon; an `ObservedOutcome`.

    Attributes
    ----------
    time : ndarray, shape = (n_patients,)
        Follow-up.
    event : ndarray, shape = (n_patients,)
        0 for censored, 1 for the event of interest, 2 and more for competing causes.
    horizon : float
        Until when.
    """

    time: NDArray[np.float64]
    event: NDArray[np.integer]
    horizon: float

    @property
    def described(self) -> str:
        """What the rate and its interval are."""
        return (
            f"the incidence of the event by {self.horizon:g} among matching patients (Aalen-Johansen), with its "
            f"{100 * LEVEL:.0f} % interval"
        )

    def event_rate(self, patients: NDArray[np.bool_]) -> EventRate:
        """Incidence by the horizon among some patients.

        Parameters
        ----------
        patients : ndarray, shape = (n_patients,)
            bool; at least one is true.

        Returns
        -------
        EventRate
            With the interval on the scale of log(-log), or, where no event or nothing but events was seen, Wilson's.
            Without an estimate where the follow-up of these patients ends before the horizon and not by an event.
        """
        n = int(np.count_nonzero(patients))
        time, event = self.time[patients], self.event[patients]
        if time.max() < self.horizon and (event[time == time.max()] == 0).any():
            return EventRate(None, None, None, n)
        found = aalen_johansen(time, event).at(self.horizon, 1, LEVEL)
        estimate, lower, upper = (float(x[0]) for x in (found.estimate, found.lower, found.upper))
        if np.isnan(lower) or np.isnan(upper):
            lower, upper = score_interval(int(((event == 1) & (time <= self.horizon)).sum()), n)
        return EventRate(estimate, min(lower, estimate), max(upper, estimate), n)
