"""Everything that reads what a client sends, as functions of bytes: what they may answer, and seeds to begin with.

A reader may return, or raise one of the errors that a client gets an answer for; the answer must be one that can be
sent. Anything else is a crash.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import io
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fastapi import Depends, FastAPI, Request
from pydantic import BaseModel
from starlette.types import Message, Scope

from api.body_limit import BodyLimit
from api.diagnosis.models.building import model_of_request, model_of_upload
from api.diagnosis.models.schemas import DiagnosisModelRequest
from api.error_handlers import install, respond
from api.searches.schemas import SearchRequest
from api.uploads import Upload, compute_digest, load_json, parse_json, receive_upload
from autoprog.cohort import (
    CohortSpec,
    ReadLimits,
    describe_file,
    file_faults,
    from_parquet,
    guess_outcome,
    judge_spec,
    parse_spec,
    read_cohort,
    to_parquet,
)
from autoprog.cohort.data_file import recognise
from autoprog.errors import ArtifactError, Fault, InvalidInputError, TooLargeError, UnsupportedMediaError
from autoprog.strict_json import load_strictly

MAX_S = 2.0
"""Processor seconds that an input may take."""

MAX_BYTES = 2**30
"""Memory that a process may take to read an input."""

REFUSALS = (InvalidInputError, TooLargeError, UnsupportedMediaError)

_MAX_DETAIL = 2_000
_MAX_FAULTS = 1_000
_DECOMPRESSED_MB = 16
_UPLOAD_MB = 1


def _check_answer(faults: tuple[Fault, ...]) -> None:
    """An answer names places and can be sent."""
    assert len(faults) <= _MAX_FAULTS, len(faults)
    for fault in faults:
        assert fault.pointer == "" or fault.pointer.startswith("/"), fault.pointer
        assert 0 < len(fault.detail) <= _MAX_DETAIL, fault.detail[:200]
        json.dumps([fault.pointer, fault.detail, *fault.values], ensure_ascii=False).encode()


def refused(work: Callable[[], object]) -> bool:
    """Whether a reader refuses its input; raises what is no refusal, and AssertionError for a bad answer."""
    try:
        work()
    except REFUSALS as error:
        _check_answer(error.faults if isinstance(error, InvalidInputError) else (Fault("", str(error)),))
        return True
    return False


# Cohorts

_SPECS: tuple[Mapping[str, Any], ...] = (
    {"name": "a", "outcome": {"column": "died", "positive": 1}},
    {
        "name": "b",
        "outcome": {"column": "died", "positive": "yes"},
        "groups": "site",
        "identifier": "id",
        "features": {"age": {"kind": "numeric"}, "sex": {"kind": "categorical"}},
        "na_values": ["999", "?"],
    },
    {"name": "c", "mode": "survival", "outcome": {"time": "time", "event": "died", "horizons": [1, 5]}},
    {
        "name": "d",
        "mode": "survival",
        "outcome": {"time": {"from": "start", "to": "end", "unit": "months"}, "event": "died", "horizons": [1]},
    },
    {
        "name": "e",
        "mode": "temporal",
        "outcome": {"patient": "id", "visit_time": "visit", "horizon": 2, "time": "time", "event": "died"},
    },
    {
        "name": "f",
        "mode": "temporal",
        "outcome": {"patient": "id", "visit_time": "visit", "horizon": 2, "column": "died", "positive": 1},
    },
)


@functools.cache
def _specs() -> tuple[CohortSpec, ...]:
    return tuple(map(parse_spec, _SPECS))


def _read_and_store(data: bytes, spec: CohortSpec) -> None:
    read = read_cohort(data, spec)
    json.dumps([*read.warnings, [feature.to_json() for feature in read.cohort.features]], ensure_ascii=False).encode()
    stored = to_parquet(read.cohort)
    assert to_parquet(from_parquet(stored)) == stored


def describe(data: bytes) -> None:
    if not refused(lambda: file_faults(data)):
        refused(lambda: guess_outcome(describe_file(data, ReadLimits()).columns))


def _read_stored(data: bytes) -> None:
    try:
        from_parquet(data)
    except ArtifactError as error:
        _check_answer((Fault("", str(error)),))


def _read_matrix(spec: bytes, content: bytes) -> None:
    refused(lambda: model_of_upload(Upload({"spec": spec}, io.BytesIO(content)), _DECOMPRESSED_MB))


def read_csv(data: bytes) -> None:
    """Read a cohort's file of text; the first byte chooses the spec, or that the file is described."""
    way, content = data[0] if data else 0, data[1:]
    if content.startswith(b"PAR1") or recognise(content) is not None:  # which a process of its own reads
        return
    specs = _specs()
    if (way := way % (len(specs) + 1)) == len(specs):
        describe(content)
    else:
        refused(lambda: _read_and_store(content, specs[way]))


def read_parquet(data: bytes) -> None:
    """Read Parquet; the first byte chooses a spec, or that it is described, a stored cohort, or a matrix."""
    _read_parquet(data[0] if data else 0, b"PAR1" + data[1:].removeprefix(b"PAR1"))


def _read_parquet(way: int, content: bytes) -> None:
    specs = _specs()
    ways: tuple[Callable[[], object], ...] = (
        *(functools.partial(_read_and_store, content, spec) for spec in specs),
        lambda: describe(content),
        lambda: _read_stored(content),
        lambda: _read_matrix(b'{"name": "m"}', content),
    )
    refused(ways[way % len(ways)])


_TYPES: tuple[Callable[[bytes], pa.Array], ...] = (
    lambda cells: pa.array(list(cells), pa.uint8()),
    lambda cells: pa.array([c / 16 for c in cells], pa.float64()),
    lambda cells: pa.array([[float("nan"), float("inf"), -0.0, 1e308, 5e-324, 1.0][c % 6] for c in cells]),
    lambda cells: pa.array([None if c > 250 else chr(c) * (c % 5) for c in cells]),
    lambda cells: pa.array([chr(c) for c in cells]).dictionary_encode(),
    lambda cells: pa.array([c % 2 == 0 for c in cells]),
    lambda cells: pa.array([None] * len(cells)),
    lambda cells: pa.array(list(cells), pa.timestamp("ms")),
    lambda cells: pa.array([c * 400 - 50_000 for c in cells], pa.date32()),
    lambda cells: pa.array([[c] for c in cells]),
    lambda cells: pa.array([{"a": c} for c in cells]),
    lambda cells: pa.array([bytes([c]) for c in cells]),
    lambda cells: pa.array(list(cells), pa.duration("s")),
    lambda cells: pa.array(list(cells), pa.int64()).cast(pa.decimal128(30, 2)),
    lambda cells: pa.array([c * 3_600 for c in cells], pa.time32("s")),
    lambda cells: pa.array([str(c % 3) for c in cells], pa.large_string()),
    lambda cells: pa.array([c % 2 for c in cells], pa.int8()),
    lambda cells: pa.array([2**63 - 1 - c for c in cells], pa.int64()),
    lambda cells: pa.array([np.float16(c) for c in cells], pa.float16()),
    lambda cells: pa.array([2**64 - 1 - c for c in cells], pa.uint64()),
)
_NAMES = ("died", "age", "sex", "id", "site", "time", "start", "end", "visit", "object", "group", "prior", " x ", "")


def build_parquet(recipe: bytes) -> bytes:
    """Make a Parquet file: its number of rows, then a type, a name and cells for each column, then damaged places."""
    size, *rest = recipe or b"\0"
    n_rows, rest_bytes = size % 40, bytes(rest)
    head, _, damage = rest_bytes.partition(b"\xff\xfe\xfd")
    arrays, names = [], []
    for start in range(0, min(len(head), 4_000), n_rows + 2):
        kind, name, *cells = head[start : start + n_rows + 2].ljust(n_rows + 2, b"\1")
        arrays.append(_TYPES[kind % len(_TYPES)](bytes(cells)))
        names.append(_NAMES[name % len(_NAMES)])
    out = io.BytesIO()
    table = pa.Table.from_arrays(arrays, names=names)
    pq.write_table(table, out, compression=("none", "zstd", "snappy", "gzip")[size % 4], row_group_size=7 + size)
    content = bytearray(out.getvalue())
    for place in range(0, len(damage) - 2, 3):
        at = int.from_bytes(damage[place : place + 2])
        content[-1 - at % len(content)] = damage[place + 2]
    return bytes(content)


def read_built_parquet(data: bytes) -> None:
    """Read Parquet made from a recipe, as a mutated file is rarely one; the first byte chooses as in `read_parquet`."""
    _read_parquet(data[0] if data else 0, build_parquet(data[1:]))


# Diagnosis models


def read_bits(data: bytes) -> None:
    """Read a matrix of responses: the first line is its description as JSON, the rest the file."""
    spec, _, content = data.partition(b"\n")
    _read_matrix(spec, content)


# JSON

_MODELS: tuple[type[BaseModel], ...] = (DiagnosisModelRequest, SearchRequest)


def read_json(data: bytes) -> None:
    """Read a body or a part of JSON."""
    try:
        document = load_strictly(data)
    except (ValueError, RecursionError):  # which callers expect; InvalidInputError is one
        document = None
    if not refused(lambda: load_json(data, "/spec")) and document is not None:
        refused(lambda: compute_digest(document))
    _check_answer(judge_spec(data)[1])
    refused(lambda: parse_spec(data))
    for model in _MODELS:
        faults: list[Fault] = []
        read = parse_json(model, data, "", faults)
        _check_answer(tuple(faults))
        if isinstance(read, DiagnosisModelRequest):
            refused(lambda read=read, faults=faults: model_of_request(read, faults))  # type: ignore[misc]


# Bodies of several parts


async def _receive(request: Request) -> AsyncIterator[Upload]:
    async with receive_upload(request, ("spec", "options"), _UPLOAD_MB, ()) as upload:
        yield upload


@functools.cache
def _app() -> tuple[FastAPI, asyncio.AbstractEventLoop]:
    """The way of an upload through the API, up to where its parts are read."""
    app = FastAPI()
    install(app)
    app.add_middleware(BodyLimit, upload_mb=_UPLOAD_MB, respond=respond)

    @app.post("/")
    def _read(upload: Annotated[Upload, Depends(_receive, scope="function")]) -> dict[str, Any]:
        if upload.faults:
            raise InvalidInputError(upload.faults)
        faults: list[Fault] = []
        spec, content = upload.text("spec"), upload.content()
        parse_json(SearchRequest, spec, "/spec", faults)
        if faults:
            raise InvalidInputError(faults)
        return {"spec": len(spec), "file": len(content), "digest": upload.fingerprint()}

    return app, asyncio.new_event_loop()


async def _send(app: FastAPI, content_type: bytes, body: bytes) -> tuple[int, bytes]:
    scope: Scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/", "raw_path": b"/", "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80), "headers": [(b"host", b"127.0.0.1"), (b"content-type", content_type)],
    }  # fmt: skip
    step = 1 + len(body) // 3
    chunks = iter([body[i : i + step] for i in range(0, len(body), step)] or [b""])
    left = sum(1 for _ in range(0, len(body), step)) or 1
    status, answer = 0, b""

    async def receive() -> Message:
        nonlocal left
        left -= 1
        return {"type": "http.request", "body": next(chunks, b""), "more_body": left > 0}

    async def send(message: Message) -> None:
        nonlocal status, answer
        status = message.get("status", status)
        answer += message.get("body", b"")

    await app(scope, receive, send)
    return status, answer


def read_multipart(data: bytes) -> None:
    """Read a body of several parts: the first line is its media type."""
    content_type, _, body = data.partition(b"\n")
    app, loop = _app()
    status, answer = loop.run_until_complete(_send(app, content_type, body))
    assert status in {200, 400, 413, 415, 422}, (status, answer[:200])
    document = json.loads(answer)
    if status != 200:
        assert document["status"] == status, document
        assert len(answer) <= _MAX_FAULTS * _MAX_DETAIL


# Seeds


def _columns(n: int = 24) -> dict[str, list[Any]]:
    return {
        "id": [i // 2 for i in range(n)],
        "site": [i % 3 for i in range(n)],
        "visit": [i % 2 for i in range(n)],
        "time": [3 + i % 5 for i in range(n)],
        "start": [f"2020-01-{1 + i % 28:02}" for i in range(n)],
        "end": [f"2021-02-{1 + i % 28:02}" for i in range(n)],
        "age": [40.5 + i % 7 for i in range(n)],
        "sex": ["m" if i % 4 else "f" for i in range(n)],
        "died": [i % 2 if i % 3 else 1 - i % 2 for i in range(n)],
    }


def _csv(columns: Mapping[str, list[Any]], delimiter: str = ",") -> str:
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


def _csv_seeds() -> Iterator[bytes]:
    for way, file in enumerate(_csv_files()):
        yield b"%d" % (way % 7) + file
        yield b"%d" % (6 - way % 7) + file


def _csv_files() -> Iterator[bytes]:
    text = _csv(_columns())
    yield text.encode()
    yield text.replace("40.5", '"1,5"').replace("m", "männlich").encode()
    yield _csv(_columns(), ";").replace(".", ",").encode("cp1252")
    yield text.encode("utf-16")
    yield b"\xef\xbb\xbf" + _csv(_columns(), "\t").replace("\n", "\r\n").encode()
    yield gzip.compress(text.encode(), mtime=0)
    yield b'age,died\n<5,yes\n"4 1",no\n999,yes\n?,no\n12%,yes\n1.234,no\n' * 2
    yield b'a,a,\n"x\n1,2,3\n'


def _parquet(columns: Mapping[str, Any], **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), out, **options)
    return out.getvalue()


def _parquet_seeds() -> Iterator[bytes]:
    columns = _columns(12)
    few = {name: columns[name] for name in ("id", "age", "died")}
    yield b"0" + _parquet(few, compression="none", store_schema=False)
    yield b"8" + _parquet(
        {"object": ["a", "b"], "q": [0, 1], "r": [True, None]}, compression="none", store_schema=False
    )
    spec = parse_spec({"name": "a", "outcome": {"column": "died", "positive": 1}})
    file = _csv({name: _columns()[name] for name in ("age", "died")}).encode()
    yield b"7" + to_parquet(read_cohort(file, spec).cohort)


def _recipe_seeds() -> Iterator[bytes]:
    for way, n in zip(b"6066", (0, 0, 2, 24), strict=True):
        yield bytes([way, n]) + b"".join(
            bytes([kind, kind]) + bytes((7 * i + kind) % 256 for i in range(n)) for kind in range(len(_TYPES))
        )
    died, age, some = bytes([0, 1] * 12), bytes(range(24)), bytes(i % 5 for i in range(24))
    columns = bytes([16, 0]) + died + bytes([1, 1]) + age + bytes([15, 2]) + age + bytes([8, 6]) + age
    for way in b"0123458":
        yield bytes([way, 24]) + columns
        yield bytes([way, 24]) + columns + bytes([0, 3]) + some + bytes([0, 5]) + some + bytes([0, 8]) + age
    yield bytes([ord("0"), 24]) + columns + b"\xff\xfe\xfd" + bytes([0, 60, 7, 1, 9, 200])


def _bits_seeds() -> Iterator[bytes]:
    responses = np.array([[0, 1, 1], [1, 1, 0], [0, 1, 0], [1, 0, 0]], dtype=bool)
    names = {"queries": [{"name": name} for name in "abc"], "objects": [{"name": name} for name in "wxyz"]}
    for array in (np.packbits(responses, axis=1), responses, responses.astype(np.int32), np.asfortranarray(responses)):
        out = io.BytesIO()
        np.save(out, array)
        yield json.dumps({"name": "m", **names}).encode() + b"\n" + out.getvalue()
    text = b"object,group,prior,a,b\nw,g,1,0,1\nx,g,2,1,\ny,h,0.5,0,0\n"
    noisy = {"name": "m", "queries": [{"name": "b", "false_positive_rate": 0.1}, {"name": "a", "cost": 2}]}
    yield b'{"name": "m"}\n' + text
    yield json.dumps(noisy).encode() + b"\n" + text.replace(b",", b";")
    yield json.dumps({"name": "m", "algorithm": "ggbs", "ties": "random", "max_objects": 2}).encode() + b"\n" + text
    yield b'{"name": "m", "exponential_cost_base": "inf", "max_errors": 1}\n' + gzip.compress(text, mtime=0)


def _json_seeds() -> Iterator[bytes]:
    for spec in _SPECS:
        yield json.dumps(spec).encode()
    yield b'{"name": "\\ud800", "name": [1e999, -0, NaN, 123456789012345678901234567890]}'
    yield b"[" * 300 + b"]" * 300
    example = DiagnosisModelRequest.model_config["json_schema_extra"]
    assert isinstance(example, dict)
    yield json.dumps(example["examples"][0]).encode()  # type: ignore[index]
    yield json.dumps({"cohort_id": "c", "budget": {"evaluations": 5, "time_s": 60}, "seed": 1}).encode()
    yield json.dumps({"name": "a"}).encode("utf-16")


def _multipart_seeds() -> Iterator[bytes]:
    begin = b"multipart/form-data; boundary=b\n"
    spec = b'--b\r\nContent-Disposition: form-data; name="spec"\r\n\r\n{"cohort_id": "c"}\r\n'
    file = (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n'
        b"a,b\n1,2\n\r\n"
    )
    yield begin + spec + file + b"--b--\r\n"
    yield begin + file.replace(b'"a.csv"', b'"a\\".csv"; filename*=UTF-8\'\'%e2%82%ac') + spec + spec + b"--b--"
    yield begin + spec.replace(b'"spec"', b'"options"\r\nContent-Transfer-Encoding: base64') + file
    yield b"multipart/form-data\n" + spec
    yield b"multipart/form-data; charset=latin-1; boundary=b\n" + spec.replace(b"cohort_id", b"\xe4") + b"--b--\r\n"
    yield b"application/json\n{}"


@dataclass(frozen=True)
class Reader:
    """Something that is fuzzed."""

    read: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    share: int  # of every hundred inputs
    max_bytes: int = 4_096


READERS: Mapping[str, Reader] = {
    "csv": Reader(read_csv, _csv_seeds, 20),
    "parquet": Reader(read_parquet, _parquet_seeds, 10),
    "parquet_built": Reader(read_built_parquet, _recipe_seeds, 10),
    "bits": Reader(read_bits, _bits_seeds, 20),
    "json": Reader(read_json, _json_seeds, 20),
    "multipart": Reader(read_multipart, _multipart_seeds, 20),
}
