"""Bodies that handlers read themselves: multipart with one file and JSON parts, or JSON alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NoReturn, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, UploadFile

from api.body_limit import parts_mb
from api.problems import faults_of_validation
from autoprog.cohort.messages import pointer as pointer_of
from autoprog.errors import Fault, InvalidInputError, TooLargeError, UnsupportedMediaError
from autoprog.strict_json import load_strictly

_FILE = "file"
_MIB = 2**20
_LARGE = _MIB
# The parser, written in C, blocks all other threads until it has finished: seconds for some ten MiB. With these hooks
# it returns to Python all the time, and other threads can run.
_YIELDING: Mapping[str, Any] = {
    "parse_int": lambda digits: int(digits),  # noqa: PLW0108
    "parse_float": lambda digits: float(digits),  # noqa: PLW0108
}

Document = TypeVar("Document", bound=BaseModel)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Upload:
    """The content of a body."""

    parts: Mapping[str, bytes]  # JSON text by name
    file: BinaryIO | None = None  # the part `file`; open, and read only when it is needed
    faults: tuple[Fault, ...] = ()  # of the parts as such, and of the request's headers
    json: bytes | None = None  # the whole body, if it is JSON without parts

    def text(self, name: str) -> bytes:
        """Return the JSON text of a part; raises InvalidInputError if it is missing."""
        if name not in self.parts:
            raise InvalidInputError([Fault(f"/{name}", "missing; send it as a part that holds JSON")])
        return self.parts[name]

    def content(self) -> bytes:
        """Read the file; raises InvalidInputError if it is missing."""
        if self.file is None:
            raise InvalidInputError([Fault(f"/{_FILE}", "missing; send it as a file part, with a file name")])
        self.file.seek(0)
        return self.file.read()

    def fingerprint(self) -> str:
        """Return the SHA-256 of everything that was sent; for JSON it does not depend on the spelling."""
        if self.json is not None:
            try:
                return compute_digest(load_json(self.json, ""))
            except InvalidInputError:
                return hashlib.sha256(self.json).hexdigest()
        content = None if self.file is None else _digest_file(self.file)
        texts = {name: text.decode("latin-1") for name, text in self.parts.items()}
        return hashlib.sha256(json.dumps([content, texts], sort_keys=True).encode()).hexdigest()


def _digest_file(file: BinaryIO) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(_MIB):
        digest.update(piece)
    return digest.hexdigest()


def compute_digest(document: object) -> str:
    """Return the SHA-256 of a JSON document, however it was spelt; raises InvalidInputError at thousands of levels."""
    try:
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    except RecursionError:
        raise InvalidInputError([Fault("", "nested too deeply")]) from None


def read_content_type(request: Request) -> str:
    """Return the media type of a request's body, in lower case and without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def require_json(request: Request) -> None:
    """Raise UnsupportedMediaError if a body is not JSON."""
    if read_content_type(request) != "application/json":
        raise UnsupportedMediaError("send application/json")


@asynccontextmanager
async def receive_body(
    request: Request, parts: Sequence[str], upload_mb: int, faults: Sequence[Fault]
) -> AsyncIterator[Upload]:
    """Receive a body of JSON, or of several parts as `receive_upload` does; raises as that does."""
    if read_content_type(request) == "application/json":
        yield Upload({}, faults=tuple(faults), json=await request.body())
    elif read_content_type(request) == "multipart/form-data":
        async with receive_upload(request, parts, upload_mb, faults) as upload:
            yield upload
    else:
        raise UnsupportedMediaError(f"send application/json, or multipart/form-data with the parts {_listed(parts)}")


@asynccontextmanager
async def receive_upload(
    request: Request, parts: Sequence[str], upload_mb: int, faults: Sequence[Fault]
) -> AsyncIterator[Upload]:
    """Receive a multipart body with the named JSON parts, whose file stays open while the block runs.

    Raises UnsupportedMediaError and TooLargeError.
    """
    if read_content_type(request) != "multipart/form-data":
        raise UnsupportedMediaError(f"send multipart/form-data with the parts {_listed(parts)}")
    most, most_mb = len(parts) + 1, parts_mb(upload_mb)
    # The form parser reports a too large part as a bad request, so it gets the bound of the whole body.
    whole = (upload_mb + most_mb) * _MIB
    async with _parsed_form(request, most, whole) as form:
        file = form.get(_FILE)
        if isinstance(file, UploadFile) and (file.size or 0) > upload_mb * _MIB:
            raise TooLargeError(f"the file exceeds {upload_mb} MiB")
        texts = {name: await _text_of(form[name]) for name in parts if name in form}
        if large := [name for name, text in texts.items() if len(text) > most_mb * _MIB]:
            raise TooLargeError(f"the part {large[0]} exceeds {most_mb} MiB")
        content = file.file if isinstance(file, UploadFile) else None
        yield Upload(texts, content, (*faults, *_unexpected(form, (_FILE, *parts))))


@asynccontextmanager
async def _parsed_form(request: Request, most: int, largest: int) -> AsyncIterator[FormData]:
    try:
        form = await request.form(max_files=most, max_fields=most, max_part_size=largest)
    except ValueError:  # no codec can have this name, or the codec cannot read the names of the parts
        detail = "the parts cannot be read in this character set; send UTF-8"
        raise InvalidInputError([Fault("/headers/content-type", detail)]) from None
    try:
        yield form
    finally:
        await form.close()


def _listed(parts: Sequence[str]) -> str:
    return ", ".join((_FILE, *parts))


async def _text_of(part: UploadFile | str) -> bytes:
    return await part.read() if isinstance(part, UploadFile) else part.encode("utf-8", "surrogatepass")


def _unexpected(form: FormData, expected: Sequence[str]) -> Iterator[Fault]:
    for name in dict.fromkeys(form):
        times = len(form.getlist(name))
        if name not in expected:
            yield Fault(pointer_of(name), f"unknown part; expected are {', '.join(expected)}")
        elif times > 1:
            yield Fault(pointer_of(name), f"sent {times} times; send it once")


def parse_json(
    model: type[Document], text: bytes, pointer: str, faults: list[Fault], needed: Collection[str] = ()
) -> Document | None:
    """Read a model from JSON text and collect its faults; keys with faults are left out, unless they are `needed`."""
    try:
        document = load_json(text, pointer)
    except InvalidInputError as error:
        faults += error.faults
        return None
    return validate_document(model, document, pointer, faults, needed)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def load_json(text: bytes, pointer: str, constant: Callable[[str], object] = _refuse_constant) -> object:
    """Parse JSON text; raises InvalidInputError if it is no JSON, nested too deeply, or repeats a key."""
    # Python writes NaN and infinities, which JSON does not have; `constant` says what becomes of them.
    try:
        return load_strictly(text, pointer, parse_constant=constant, **(_YIELDING if len(text) > _LARGE else {}))
    except InvalidInputError:
        raise
    except RecursionError:
        raise InvalidInputError([Fault(pointer, "nested too deeply")]) from None
    except ValueError as error:
        raise InvalidInputError([Fault(pointer, f"not valid JSON: {error}")]) from None


def validate_document(
    model: type[Document], document: object, pointer: str, faults: list[Fault], needed: Collection[str] = ()
) -> Document | None:
    """Make a model of parsed JSON, as `parse_json` does."""
    try:
        return model.model_validate(document)
    except RecursionError:
        faults.append(Fault(pointer, "nested too deeply"))
        return None
    except ValidationError as error:
        faults += faults_of_validation(error.errors(include_input=False), pointer)
        return validate_rest(model.model_validate, document, error, needed)


def validate_rest(
    validate: Callable[[object], Document], document: object, error: ValidationError, needed: Collection[str] = ()
) -> Document | None:
    """Make a model of a refused document without its faulty keys; None if one is `needed`, or the rest is refused."""
    wrong = {str(place) for fault in error.errors(include_input=False) for place in fault["loc"][:1]}
    if not isinstance(document, dict) or not wrong.isdisjoint(needed):
        return None
    try:
        return validate({key: value for key, value in document.items() if key not in wrong})
    except ValidationError:
        return None


def attempt(faults: list[Fault], work: Callable[[], Result], prefix: str = "") -> Result | None:
    """Run a step and collect its faults, with `prefix` before their pointers; returns None if there are any."""
    try:
        return work()
    except InvalidInputError as error:
        faults += [replace(fault, pointer=prefix + fault.pointer) for fault in error.faults]
        return None
