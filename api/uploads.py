"""Bodies that are read by hand: multipart with one file and JSON parts, or JSON alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn, TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, UploadFile

from api.body_limit import parts_mb
from api.problems import faults_of_validation
from autoprog.errors import Fault, InvalidInputError, TooLargeError, UnsupportedMediaError
from autoprog.strict_json import load_strictly

_FILE = "file"
_MIB = 2**20
_LARGE = _MIB
# The parser, which is written in C, keeps every other thread waiting from the first byte to the last, seconds for some
# ten MiB. With these it comes back to Python all the time, where others get their turn.
_YIELDING: Mapping[str, Any] = {
    "parse_int": lambda digits: int(digits),  # noqa: PLW0108
    "parse_float": lambda digits: float(digits),  # noqa: PLW0108
}

Document = TypeVar("Document", bound=BaseModel)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Upload:
    """What a body held.

    Attributes
    ----------
    parts : mapping
        Name of a part -> the JSON text in it.
    file : bytes or None
        The part `file`.
    faults : tuple of Fault
        What is wrong with the parts as such, and with the request around them.
    json : bytes or None
        The whole body, where it is JSON and has no parts.
    """

    parts: Mapping[str, bytes]
    file: bytes | None = None
    faults: tuple[Fault, ...] = ()
    json: bytes | None = None

    def text(self, name: str) -> bytes:
        """The JSON text of a part; raises InvalidInputError where it is missing."""
        if name not in self.parts:
            raise InvalidInputError([Fault(f"/{name}", "missing; send it as a part that holds JSON")])
        return self.parts[name]

    def content(self) -> bytes:
        """The file; raises InvalidInputError where it is missing."""
        if self.file is None:
            raise InvalidInputError([Fault(f"/{_FILE}", "missing; send it as a file part, with a file name")])
        return self.file

    def fingerprint(self) -> str:
        """SHA-256 of everything that was sent; of JSON the same however it is spelt."""
        if self.json is not None:
            try:
                return compute_digest(load_json(self.json, ""))
            except InvalidInputError:
                return hashlib.sha256(self.json).hexdigest()
        content = None if self.file is None else hashlib.sha256(self.file).hexdigest()
        texts = {name: text.decode("latin-1") for name, text in self.parts.items()}
        return hashlib.sha256(json.dumps([content, texts], sort_keys=True).encode()).hexdigest()


def compute_digest(document: object) -> str:
    """SHA-256 of what JSON text says, the same however it is spelt; raises InvalidInputError at thousands of levels."""
    try:
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    except RecursionError:
        raise InvalidInputError([Fault("", "nested too deeply")]) from None


def read_content_type(request: Request) -> str:
    """Media type of a request's body, in lower case and without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def require_json(request: Request) -> None:
    """Refuse a body that is not JSON; raises UnsupportedMediaError."""
    if read_content_type(request) != "application/json":
        raise UnsupportedMediaError("send application/json")


async def receive_body(request: Request, parts: Sequence[str], upload_mb: int, faults: Sequence[Fault]) -> Upload:
    """Read a body of JSON or, as `receive_upload` does, of several parts; raises as that does."""
    if read_content_type(request) == "application/json":
        return Upload({}, faults=tuple(faults), json=await request.body())
    if read_content_type(request) == "multipart/form-data":
        return await receive_upload(request, parts, upload_mb, faults)
    raise UnsupportedMediaError(f"send application/json, or multipart/form-data with the parts {_listed(parts)}")


async def receive_upload(request: Request, parts: Sequence[str], upload_mb: int, faults: Sequence[Fault]) -> Upload:
    """Read a multipart body.

    Parameters
    ----------
    request : Request
        Its body has been limited already; see `BodyLimit`.
    parts : sequence of str
        Names of the JSON parts that are known.
    upload_mb : int
        Largest file in MiB; see `parts_mb` for the others.
        Largest file in MiB.
    faults : sequence of Fault
        What is wrong with the request's headers, to be told with what is wrong here.

    Returns
    -------
    Upload
        The parts that came.

    Raises
    ------
    UnsupportedMediaError
        If the body is not `multipart/form-data`.
    TooLargeError
        If the file, or another part, exceeds its limit.
    """
    if read_content_type(request) != "multipart/form-data":
        raise UnsupportedMediaError(f"send multipart/form-data with the parts {_listed(parts)}")
    most, most_mb = len(parts) + 1, parts_mb(upload_mb)
    # The form parser calls a part that is too large a bad request: it is given the bound of the whole body.
    whole = (upload_mb + most_mb) * _MIB
    async with request.form(max_files=most, max_fields=most, max_part_size=whole) as form:
        file = form.get(_FILE)
        if isinstance(file, UploadFile) and (file.size or 0) > upload_mb * _MIB:
            raise TooLargeError(f"the file exceeds {upload_mb} MiB")
        content = await run_in_threadpool(_read, file.file) if isinstance(file, UploadFile) else None
        texts = {name: await _text_of(form[name]) for name in parts if name in form}
        if large := [name for name, text in texts.items() if len(text) > most_mb * _MIB]:
            raise TooLargeError(f"the part {large[0]} exceeds {most_mb} MiB")
        return Upload(texts, content, (*faults, *_unexpected(form, (_FILE, *parts))))


def _listed(parts: Sequence[str]) -> str:
    return ", ".join((_FILE, *parts))


def _read(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


async def _text_of(part: UploadFile | str) -> bytes:
    return await part.read() if isinstance(part, UploadFile) else part.encode()


def _unexpected(form: FormData, expected: Sequence[str]) -> Iterator[Fault]:
    for name in dict.fromkeys(form):
        times = len(form.getlist(name))
        if name not in expected:
            yield Fault(f"/{name}", f"unknown part; expected are {', '.join(expected)}")
        elif times > 1:
            yield Fault(f"/{name}", f"sent {times} times; send it once")


def parse_json(
    model: type[Document], text: bytes, pointer: str, faults: list[Fault], needed: Collection[str] = ()
) -> Document | None:
    """Read a model from JSON text, as far as it can be judged.

    Parameters
    ----------
    model : type of BaseModel
        What it should be.
    text : bytes
        UTF-8.
    pointer : str
        Where it stood.
    faults : list of Fault
        Collects what is wrong.
    needed : collection of str
        Keys that the rest cannot be judged without.

    Returns
    -------
    BaseModel or None
        The document, without those keys that have faults; None where there is none, or one of them is needed.
    """
    try:
        document = load_json(text, pointer)
    except InvalidInputError as error:
        faults += error.faults
        return None
    return validate_document(model, document, pointer, faults, needed)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def load_json(text: bytes, pointer: str, constant: Callable[[str], object] = _refuse_constant) -> object:
    """Read JSON text.

    Parameters
    ----------
    text : bytes
        UTF-8.
    pointer : str
        Where it stood.
    constant : callable
        What becomes of NaN and the infinities, which Python writes and JSON does not have; by default they are faults.

    Returns
    -------
    object
        What it says.

    Raises
    ------
    InvalidInputError
        If it is no JSON, or a key stands twice in an object.
    """
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
    """Make a model of what JSON text held, as `parse_json` does."""
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
    """What is left of a document without the keys that have faults: the same answer can tell what is wrong there.

    Parameters
    ----------
    validate : callable
        Makes the model; may raise ValidationError.
    document : object
        What was refused.
    error : ValidationError
        Why.
    needed : collection of str
        Keys that the rest cannot be judged without.

    Returns
    -------
    BaseModel or None
        None where there is no rest.
    """
    wrong = {str(place) for fault in error.errors(include_input=False) for place in fault["loc"][:1]}
    if not isinstance(document, dict) or not wrong.isdisjoint(needed):
        return None
    try:
        return validate({key: value for key, value in document.items() if key not in wrong})
    except ValidationError:
        return None


def attempt(faults: list[Fault], work: Callable[[], Result], prefix: str = "") -> Result | None:
    """Do a step of several that may each find faults, so that all are told at once.

    Parameters
    ----------
    faults : list of Fault
        Collects what the step finds.
    work : callable
        The step; may raise InvalidInputError.
    prefix : str
        Pointer to put before those of the step.

    Returns
    -------
    object or None
        What the step made; None where it found faults.
    """
    try:
        return work()
    except InvalidInputError as error:
        faults += [Fault(prefix + fault.pointer, fault.detail) for fault in error.faults]
        return None
