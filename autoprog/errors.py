"""Every error that a caller can act on.

`AutoprogError` is the root. Each class has a stable `code`, which the API publishes as the problem type. A class exists
where a caller would act differently, not for every text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Fault:
    """A single fault in a client's input."""

    pointer: str  # JSON pointer (RFC 6901): `/spec/outcome/column`, `/file/columns/age`, `/patients/3/age`
    # Names the column, the rows, the count, the bound. Never a patient's value: a cell is named by its place and by
    # what was expected there.
    detail: str
    # Values of the file that show the fault, quoted. Only for the answer to the caller, who owns the file: no log,
    # stored reason or error's text has them.
    values: tuple[str, ...] = ()


class AutoprogError(Exception):
    """An error with a name."""

    code: ClassVar[str] = "internal"


class InvalidInputError(AutoprogError, ValueError):
    """The input cannot be used; names every fault at once."""

    code = "invalid-input"

    def __init__(self, faults: Sequence[Fault]) -> None:
        if not faults:
            msg = "an InvalidInputError needs at least one fault"
            raise ValueError(msg)
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{fault.pointer}: {fault.detail}" for fault in self.faults))


class NotFoundError(AutoprogError, LookupError):
    """The resource does not exist, or belongs to another owner."""

    code = "not-found"


class ConflictError(AutoprogError):
    """The resource is in a state that does not allow this."""

    code = "conflict"


class TooLargeError(AutoprogError):
    """The input exceeds a limit of this server."""

    code = "too-large"


class UnsupportedMediaError(AutoprogError):
    """The content is of a kind that cannot be read."""

    code = "unsupported-media"


class LeaseLostError(AutoprogError):
    """Another runner holds this search or job, or it was deleted: stop working on it at once."""

    code = "lease-lost"


class StoreUnavailableError(AutoprogError):
    """The database cannot be reached or is too busy; the same may succeed later."""

    code = "store-unavailable"


class StorageFullError(StoreUnavailableError):
    """The disk of the database or of the files is full; the same may succeed when there is room."""

    code = "storage-full"


class EngineUnavailableError(AutoprogError):
    """No worker can be reached to run evaluations."""

    code = "engine-unavailable"


class UnreadableValueError(AutoprogError):
    """A returned value is damaged, or is not of the type that its function declares."""

    code = "unreadable-value"


class ArtifactError(AutoprogError):
    """A stored file is missing, altered or holds a type that is not allowed."""

    code = "artifact"


class JobFailedError(AutoprogError):
    """A job ended without a result: its work failed, exceeded a limit, or ended its runners."""

    code = "job-failed"


class SearchFailedError(AutoprogError):
    """A search ended without a model: no evaluation succeeded."""

    code = "search-failed"


class MissingPackageError(AutoprogError, ImportError):
    """A package is not installed; the text names the extra of `autoprog` that brings it."""

    code = "missing-package"

    def __init__(self, detail: str, *, name: str | None = None) -> None:
        super().__init__(detail)
        self.name = name
