"""What may help a search that ended without a model, by how its evaluations ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from autoprog.evaluation import Status


class Remedy(StrEnum):
    """What a user can change; the word for it is each surface's own."""

    TIME = "time"  # nothing came to its end, or took longer than an evaluation may
    MEMORY = "memory"  # more than an evaluation may use
    DATA = "data"  # pipelines raised errors: columns or outcome are not what they seem
    MACHINE = "machine"  # processes died


_BY_STATUS = {
    Status.TIMEOUT: Remedy.TIME,
    Status.MEMORY: Remedy.MEMORY,
    Status.INVALID: Remedy.DATA,
    Status.CRASHED: Remedy.MACHINE,
}


def find_remedies(statuses: Iterable[str]) -> tuple[tuple[Remedy, int], ...]:
    """Find what may help, with how many evaluations ask for it, most first.

    Parameters
    ----------
    statuses : iterable of str
        How the evaluations of the search ended, values of `Status`.

    Returns
    -------
    remedies : tuple of (Remedy, int)
        More time, asked for by 0, if no evaluation came to an end of its own.
    """
    asking = Counter(_BY_STATUS[Status(status)] for status in statuses if Status(status) in _BY_STATUS)
    return tuple(asking.most_common()) or ((Remedy.TIME, 0),)
