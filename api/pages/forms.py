"""Forms of pages whose fields are not known before they are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, BinaryIO

from fastapi import Depends, Request
from starlette.datastructures import UploadFile

from api.body_limit import parts_mb
from api.dependencies import ContextDependency
from api.pages.sessions import CurrentSession
from autoprog.errors import TooLargeError, UnsupportedMediaError

_MIB = 2**20
_MAX_FIELDS = 25_000  # some of each column


@dataclass(frozen=True)
class SentForm:
    """A form as it was sent."""

    fields: Mapping[str, list[str]] = field(default_factory=dict)
    upload: BinaryIO | None = None  # the file; open, and read only when it is needed
    file_name: str = ""

    def read_file(self) -> bytes | None:
        """Read the file; None if there is none."""
        if self.upload is None:
            return None
        self.upload.seek(0)
        return self.upload.read()

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a field, without blanks around it."""
        values = self.fields.get(name)
        return values[0].strip() if values else default

    def all(self, name: str) -> list[str]:
        """Return all values of a field."""
        return self.fields.get(name, [])


async def _receive(request: Request, context: ContextDependency, _session: CurrentSession) -> AsyncIterator[SentForm]:
    """Receive a form with at most one file, `file`, which stays open while the route runs."""
    upload_mb = context.settings.upload_mb
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {"multipart/form-data", "application/x-www-form-urlencoded"}:
        raise UnsupportedMediaError("send a form")
    whole = (upload_mb + parts_mb(upload_mb)) * _MIB
    async with request.form(max_files=1, max_fields=_MAX_FIELDS, max_part_size=whole) as form:
        fields: dict[str, list[str]] = {}
        upload, file_name = None, ""
        for name, value in form.multi_items():
            if not isinstance(value, UploadFile):
                fields.setdefault(name, []).append(value)
            elif name == "file" and value.filename:
                if (value.size or 0) > upload_mb * _MIB:
                    raise TooLargeError(f"the file exceeds {upload_mb} MiB")
                upload, file_name = value.file, value.filename
        yield SentForm(fields, upload, file_name)


Sent = Annotated[SentForm, Depends(_receive, scope="function")]
"""The form of a request; a route names it after the scope that it needs, which is then checked first."""
