"""Every error that a caller can act on.

`AutoprogError` is the root. Each class has a stable `code`, which the API publishes as the problem type and the command
line prints. A class exists where a caller would act differently, not for every text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with what a client sent.

    Attributes
    ----------
    pointer : str
        JSON pointer (RFC 6901) to the place: `/spec/outcome/column`, `/file/columns/age`, `/patients/3/age`.
    detail : str
        What is wrong, in words: the column, the rows, the count, the bound that was broken. Never a patient's value:
        a cell that could not be read is told by its place, and by what was expected there.
    """

    pointer: str
    detail: str


class AutoprogError(Exception):
    """Something went wrong that has a name."""

    code: ClassVar[str] = "internal"


class InvalidInputError(AutoprogError, ValueError):
    """What was sent cannot be used; names every fault at once."""

    code = "invalid-input"

    def __init__(self, faults: Sequence[Fault]) -> None:
        if not faults:
            msg = "an InvalidInputError needs at least one fault"
            raise ValueError(msg)
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{fault.pointer}: {fault.detail}" for fault in self.faults))


class NotFoundError(AutoprogError, LookupError):
    """No such resource, or it belongs to another owner."""

    code = "not-found"


class ConflictError(AutoprogError):
    """The resource is in a state that does not allow this."""

    code = "conflict"


class TooLargeError(AutoprogError):
    """What was sent exceeds a limit of this server."""

    code = "too-large"


class UnsupportedMediaError(AutoprogError):
    """The content is of a kind that cannot be read."""

    code = "unsupported-media"


class LeaseLostError(AutoprogError):
    """Another runner holds this search or job now, or it is deleted: stop working on it at once."""

    code = "lease-lost"


class StoreUnavailableError(AutoprogError):
    """The database cannot be reached, or is too busy, at the moment: the same may succeed when it is tried again."""

    code = "store-unavailable"


class StorageFullError(StoreUnavailableError):
    """A disk of the database or of the files is full: the same may succeed when there is room."""

    code = "storage-full"


class EngineUnavailableError(AutoprogError):
    """No worker can be reached to run evaluations."""

    code = "engine-unavailable"


class ArtifactError(AutoprogError):
    """A stored file is missing, altered or holds a type that is not allowed."""

    code = "artifact"


class JobFailedError(AutoprogError):
    """A job ended without a result: its work failed, exceeded a limit, or ended its runners."""

    code = "job-failed"


class SearchFailedError(AutoprogError):
    """A search ended without a model: no evaluation succeeded."""

    code = "search-failed"
