"""Kinds of outcome: what a search, a model and a validation ask of an outcome, answered for each kind.

A binary outcome has one horizon without a time. Times to an event have a horizon for each time asked for.
"""

from collections.abc import Sequence

from autoprog.cohort import Cohort
from autoprog.endpoints.binary import BinaryEndpoint
from autoprog.endpoints.endpoint import Assessed, CauseRisks, Endpoint
from autoprog.endpoints.event_times import EventEndpoint
from autoprog.evaluation import THRESHOLDS

__all__ = ["Assessed", "CauseRisks", "Endpoint", "make_endpoint"]


def make_endpoint(
    cohort: Cohort, times: Sequence[float] = (), thresholds: tuple[float, float] = THRESHOLDS
) -> Endpoint:
    """Choose the endpoint for a cohort's outcome.

    Parameters
    ----------
    cohort : Cohort
        Patients with known outcomes.
    times : sequence of float
        Times until which risks are given, ascending, the horizons among them; empty where the outcome has no time.
    thresholds : tuple of float
        Range of the net benefit, in (0, 1).

    Returns
    -------
    Endpoint
        For these patients.
    """
    if cohort.has_times:
        return EventEndpoint(cohort, tuple(times), thresholds)
    return BinaryEndpoint(cohort, thresholds)
