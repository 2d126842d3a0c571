"""A request whose body is JSON, as the dependencies of its route get it."""

from __future__ import annotations

import hashlib
from typing import Any

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from api.uploads import compute_digest, load_json
from autoprog.errors import InvalidInputError


class JsonRequest(Request):
    """A request whose JSON is parsed before FastAPI asks for it."""

    _document: object = None
    _broken: bytes | None = None  # the body, if it is no JSON

    async def parse(self) -> None:
        """Read the body; raises InvalidInputError if it is not JSON."""
        if body := await self.body():
            try:
                # NaN and infinities are taken here: the schemas refuse them in their places, with all other faults.
                self._document = await run_in_threadpool(load_json, body, "", float)
            except InvalidInputError:
                self._broken = body
                raise

    async def json(self) -> Any:  # noqa: ANN401 - as it came out of JSON
        """Return the parsed body."""
        return self._document

    def fingerprint(self) -> str:
        """Return the SHA-256 of the document, however it was spelt, or of a body that is no JSON."""
        if self._broken is not None:
            return hashlib.sha256(self._broken).hexdigest()
        return compute_digest(self._document)
