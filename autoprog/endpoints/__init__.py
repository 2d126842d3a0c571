"""Kinds of outcome: what a search, a model and a validation ask of an outcome, answered for each kind.

A binary outcome has one horizon without a time. Times to an event have a horizon for each time asked for.
"""

from collections.abc import Callable, Sequence

from autoprog.cohort import Binary, Cohort, Target, TimeToEvent
from autoprog.endpoints.binary import BinaryEndpoint
from autoprog.endpoints.documents import curve_risks, find_area, list_parts, read_kind, rule_sets_from, rules_document
from autoprog.endpoints.endpoint import Assessed, CauseRisks, Endpoint
from autoprog.endpoints.event_times import EventEndpoint
from autoprog.performance import THRESHOLDS

__all__ = [
    "Assessed",
    "CauseRisks",
    "Endpoint",
    "curve_risks",
    "find_area",
    "list_parts",
    "make_endpoint",
    "read_kind",
    "register_endpoint",
    "rule_sets_from",
    "rules_document",
]

_ENDPOINTS: dict[type[Target], Callable[[Cohort, tuple[float, ...], tuple[float, float]], Endpoint]] = {
    Binary: BinaryEndpoint,
    TimeToEvent: EventEndpoint,
}


def register_endpoint(
    target: type[Target], endpoint: Callable[[Cohort, tuple[float, ...], tuple[float, float]], Endpoint]
) -> None:
    """Add a kind of outcome.

    Parameters
    ----------
    target : type
        What is predicted of a row.
    endpoint : callable (cohort, times, thresholds) -> Endpoint
        Makes the endpoint of a cohort with such a target.
    """
    _ENDPOINTS[target] = endpoint


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
    return _ENDPOINTS[type(cohort.target)](cohort, tuple(times), thresholds)
