"""Choose what may help after a search without a model, by how its evaluations ended."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from autoprog.evaluation import Status


class Remedy(StrEnum):
    """What a user can change. Pages and commands have their own sentences for it."""

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


def find_remedies(counts: Mapping[str, int]) -> tuple[tuple[Remedy, int], ...]:
    """Find what may help, with how many evaluations ask for it, most first.

    Parameters
    ----------
    counts : mapping of str to int
        Number of evaluations by how they ended, a value of `Status`.

    Returns
    -------
    remedies : tuple of (Remedy, int)
        More time, asked for by 0, if no evaluation came to an end of its own.
    """
    asking = [(remedy, counts[status]) for status, remedy in _BY_STATUS.items() if counts.get(status)]
    return tuple(sorted(asking, key=lambda each: -each[1])) or ((Remedy.TIME, 0),)
