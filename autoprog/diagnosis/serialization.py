"""Stored form of models and trees: packed bits and a JSON document in one archive; reading it runs no code."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.responses import Responses
from autoprog.diagnosis.tree import Tree
from autoprog.errors import ArtifactError


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Write arrays of numbers as a compressed npz archive; the same arrays give the same bytes."""
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def unpack_arrays(data: bytes, what: str) -> dict[str, NDArray[Any]]:
    """Read what `pack_arrays` wrote; raises `ArtifactError`, whose text says `what` it should be, for other bytes."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, KeyError, OSError, EOFError, AttributeError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        msg = f"the stored {what} cannot be read"
        raise ArtifactError(msg) from error


_VERSION = 1
_NUMBERS = ("weights", "costs", "false_positive", "false_negative")
_NODES = ("query", "no", "yes", "depth", "start", "stop")


def model_to_bytes(model: DiagnosisModel) -> bytes:
    """Write a model; the same model gives the same bytes."""
    document = {
        "version": _VERSION,
        "objects": model.objects,
        "queries": model.queries,
        "groups": model.groups if model.grouped else None,
        "algorithm": model.algorithm,
        "base": "inf" if math.isinf(model.base) else model.base,
        "stop": model.stop,
        "ties": model.ties,
        "seed": model.seed,
        "warnings": model.warnings,
    }
    arrays: dict[str, NDArray[Any]] = {
        "document": np.frombuffer(json.dumps(document).encode(), dtype=np.uint8),
        "rows": model.responses.rows,
        "group_of": model.group_of,
        **{name: getattr(model, name) for name in _NUMBERS},
    }
    if model.responses.known is not None:
        arrays["known"] = model.responses.known
    return pack_arrays(arrays)


def model_from_bytes(data: bytes) -> DiagnosisModel:
    """Read a model written by `model_to_bytes`; raises `ArtifactError` for other bytes or another version."""
    arrays = unpack_arrays(data, "diagnosis model")
    try:
        document = json.loads(arrays["document"].tobytes())
        if document["version"] != _VERSION:
            msg = f"the stored diagnosis model is of version {document['version']}, not {_VERSION}"
            raise ArtifactError(msg)
        return _assembled(document, arrays)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        msg = "the stored diagnosis model cannot be read"
        raise ArtifactError(msg) from error


def _assembled(document: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> DiagnosisModel:
    objects, queries = tuple(document["objects"]), tuple(document["queries"])
    M, N = len(objects), len(queries)
    width = -(-N // 8)
    shapes = {"rows": (M, width), "group_of": (M,), "weights": (M,)} | dict.fromkeys(_NUMBERS[1:], (N,))
    if "known" in arrays:
        shapes["known"] = (M, width)
    if any(arrays[name].shape != shape for name, shape in shapes.items()):
        msg = "the stored diagnosis model holds arrays that do not match its names"
        raise ArtifactError(msg)
    grouped = document["groups"] is not None
    return DiagnosisModel(
        Responses(arrays["rows"], N, arrays.get("known")),
        objects,
        queries,
        tuple(document["groups"]) if grouped else objects,
        arrays["group_of"],
        grouped,
        weights=arrays["weights"],
        costs=arrays["costs"],
        false_positive=arrays["false_positive"],
        false_negative=arrays["false_negative"],
        algorithm=document["algorithm"],
        base=math.inf if document["base"] == "inf" else document["base"],
        stop=document["stop"],
        ties=document["ties"],
        seed=document["seed"],
        warnings=tuple(document["warnings"]),
    )


def tree_to_bytes(tree: Tree) -> bytes:
    """Write a tree without its model; the same tree gives the same bytes."""
    return pack_arrays({name: getattr(tree, name) for name in (*_NODES, "order")})


def tree_from_bytes(model: DiagnosisModel, data: bytes) -> Tree:
    """Read a tree written by `tree_to_bytes`; raises `ArtifactError` for other bytes or a tree of another model."""
    arrays = unpack_arrays(data, "tree")
    columns = [arrays.get(name, np.empty(0)) for name in (*_NODES, "order")]
    nodes, order = columns[:-1], columns[-1]
    n = len(nodes[0])
    if any(column.dtype != np.int64 for column in columns) or any(column.shape != (n,) for column in nodes):
        msg = "the stored tree cannot be read"
        raise ArtifactError(msg)
    fits = n > 0 and np.array_equal(np.sort(order), np.arange(model.n_objects)) and nodes[0].max() < model.n_queries
    if not fits:
        msg = "the stored tree belongs to another diagnosis model"
        raise ArtifactError(msg)
    return Tree(model, *columns)
