"""Fitted estimators as bytes and back, by skops, with a fixed list of the types that may be loaded.

A file names its types, and loading creates instances of them. Only types that skops trusts (scikit-learn's estimators,
NumPy's arrays and functions) or that the algorithms of the space declare are created, never others that a file names.
Native code reads boosters and trees and trusts their content: check a stored file's digest before loading it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import PurePath
from types import ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from autoprog.errors import ArtifactError
from autoprog.extras import explain_missing
from autoprog.space import registered

# A forest of 500 deep trees on 10^5 patients unpacks to some hundred MiB.
MAX_UNPACKED_BYTES = 4 * 2**30
MAX_ENTRIES = 100_000

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


def pack(files: Mapping[str, bytes], *, compress: bool) -> bytes:
    """Write a zip file of the files in order, with one fixed time stamp; do not deflate what is compressed."""
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            entry = ZipInfo(name, _TIMESTAMP)
            archive.writestr(entry, content, compress_type=ZIP_DEFLATED if compress else ZIP_STORED)
    return buffer.getvalue()


def unpack(content: bytes) -> dict[str, bytes]:
    """Read a zip file; raises ArtifactError as `check_bounds`, or if an entry's content is not as stated."""
    check_bounds(content)
    with _damage_named(), ZipFile(BytesIO(content)) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def check_bounds(content: bytes) -> None:
    """Raise ArtifactError, before unpacking, for no zip file, too large or too many entries, or a repeated name."""
    # Reading an entry ends at its stated size, so it cannot hold more.
    with _damage_named(), ZipFile(BytesIO(content)) as archive:
        entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise ArtifactError(f"the archive has {len(entries):,} entries; at most {MAX_ENTRIES:,} are read")
    if (size := sum(entry.file_size for entry in entries)) > MAX_UNPACKED_BYTES:
        raise ArtifactError(f"the archive unpacks to {size:,} bytes; at most {MAX_UNPACKED_BYTES:,} are read")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ArtifactError("the archive uses a name twice")


@contextmanager
def _damage_named() -> Iterator[None]:
    try:
        yield
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError) as error:
        raise ArtifactError(f"the archive is damaged: {error}") from error


_EVERY_PIPELINE = (
    "autoprog.space.complete_columns.CompleteColumns",
    "autoprog.space.design_matrix.DesignMatrix",
    "autoprog.space.event_times.cause_specific.CauseSpecific",
    "autoprog.space.event_times.discrete_time.DiscreteTime",
    "autoprog.space.event_times.incidence_pipeline.IncidencePipeline",
    "autoprog.space.event_times.ipcw.WeightedHorizons",
    "autoprog.space.independent_columns.IndependentColumns",
    "autoprog.space.subsample.SubsampledClassifier",
    "autoprog.space.subsample.SubsampledSurvival",
    "autoprog.space.subsample.SubsampledTransformer",
    "numpy.dtype",
)

_SCHEMA = "schema.json"


def allowed_types() -> tuple[str, ...]:
    """Sorted dotted names of the types that a stored pipeline may hold, as the algorithms of the space declare them."""
    declared = {name for algorithm in registered() for name in algorithm.stored_types}
    return tuple(sorted(declared.union(_EVERY_PIPELINE)))


def keeps_patients(content: bytes) -> bool:
    """Whether a file of `dump_estimator` has a type that keeps rows of training patients. Raises ArtifactError."""
    types = {algorithm.patients_in for algorithm in registered()}
    nodes: list[Any] = [json.loads(unpack(content)[_SCHEMA])]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            if f"{node.get('__module__')}.{node.get('__class__')}" in types:
                return True
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
    return False


def dump_estimator(estimator: Any) -> bytes:  # noqa: ANN401  scikit-learn has no common type of fitted things
    """Write a fitted estimator as reproducible bytes; raises ArtifactError for a type that `load_estimator` refuses."""
    io = _skops_io()
    content = io.dumps(estimator)
    if refused := sorted(set(io.get_untrusted_types(data=content)) - set(allowed_types())):
        raise ArtifactError(f"the fitted pipeline holds types that are not allowed in a model: {', '.join(refused)}")
    return pack(_canonical(unpack(content)), compress=True)


def check_estimator(content: bytes) -> None:
    """Raise ArtifactError for what cannot be a file of `dump_estimator`; `load_estimator` checks the types in it."""
    check_bounds(content)
    with _damage_named(), ZipFile(BytesIO(content)) as archive:
        if _SCHEMA not in archive.namelist() or not isinstance(json.loads(archive.read(_SCHEMA)), dict):
            raise ArtifactError("the archive is no fitted pipeline")


def load_estimator(content: bytes) -> Any:  # noqa: ANN401  as above
    """Read what `dump_estimator` wrote; raises ArtifactError if it is damaged, too large or has a type not allowed."""
    # MissingPackageError if a library is not installed.
    io = _skops_io()
    check_bounds(content)
    try:
        return io.loads(content, trusted=list(allowed_types()))
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (missing := explain_missing(error, "the model")):
            raise missing from error
        # The errors that a forged or damaged file causes in the reader and in the types' setters have no common type.
        raise ArtifactError(f"the fitted pipeline cannot be read: {error}") from error


def _skops_io() -> ModuleType:
    """Import `skops.io` on first use."""
    io: ModuleType = import_module("autoprog.model.skops_io").io
    return io


def _canonical(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Number objects and files of a skops file by first appearance; skops uses memory addresses and random numbers."""
    numbers: dict[int, int] = {}
    names: dict[str, str] = {}

    def renumber(node: Any) -> Any:  # noqa: ANN401  any JSON
        if isinstance(node, list):
            return [renumber(item) for item in node]
        if not isinstance(node, dict):
            return node
        renumbered = {key: renumber(value) for key, value in node.items()}
        if node.get("__loader__") == "JsonNode":
            # Whether two equal literals are one object is an accident of the process.
            renumbered.pop("__id__", None)
        elif "__id__" in node:
            renumbered["__id__"] = numbers.setdefault(node["__id__"], len(numbers) + 1)
        if isinstance(node.get("file"), str):
            renumbered["file"] = names.setdefault(node["file"], f"{len(names) + 1}{PurePath(node['file']).suffix}")
        return renumbered

    schema = renumber(json.loads(files[_SCHEMA]))
    contents = {name: _without_padding(files[original]) for original, name in names.items()}
    return {_SCHEMA: json.dumps(schema, separators=(",", ":")).encode(), **contents}


def _without_padding(content: bytes) -> bytes:
    """Zero the bytes between an array's fields, where a tree's nodes keep whatever the memory held before."""
    if not content.startswith(np.lib.format.MAGIC_PREFIX):
        return content
    file = BytesIO(content)
    np.lib.format.read_magic(file)
    _, _, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.fields is None:
        return content
    padding = np.ones(dtype.itemsize, dtype=np.bool_)
    for field, start, *_ in dtype.fields.values():
        padding[start : start + field.itemsize] = False
    items = np.frombuffer(content, np.uint8, offset=file.tell()).reshape(-1, dtype.itemsize).copy()
    items[:, padding] = 0
    return content[: file.tell()] + items.tobytes()
