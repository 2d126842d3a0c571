"""The compiled form of `autoprog.diagnosis.splitting`: `kernel.c`, shipped in platform wheels.

It chooses the same queries as the NumPy form, 10 to 60 times as fast. Without the library, the NumPy form runs.
"""

from __future__ import annotations

import ctypes
import math
import sys
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.responses import Responses
from autoprog.diagnosis.scores import NEAR_ONE, counts_objects, relative_costs, tie_keys

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
SOURCE = Path(__file__).with_name("kernel.c")
LIBRARY = Path(__file__).with_name(f"libkernel{_SUFFIX}")

_LARGEST_SHARE, _GROUP_INFORMATION, _EXPONENTIAL_BOUND = range(3)
# Number of objects that the library's planes can count.
_MAX_OBJECTS = 2**23


class _Model(ctypes.Structure):
    """`Model` of kernel.c."""

    _fields_ = (
        ("rows", ctypes.c_void_p),
        ("M", ctypes.c_int64),
        ("N", ctypes.c_int64),
        ("stride", ctypes.c_int64),
        *(
            (name, ctypes.c_void_p)
            for name in ("target", "weights", "powers", "table", "costs", "by_cost", "keys", "barred")
        ),
        ("criterion", ctypes.c_int64),
        ("alpha", ctypes.c_double),
        ("log_base", ctypes.c_double),
    )


@cache
def library() -> ctypes.CDLL | None:
    """Load the compiled library, None if not installed; raises `ImportError` if it is from another source or broken."""
    if not LIBRARY.exists():
        return None
    try:
        loaded = ctypes.CDLL(str(LIBRARY))
        built = ctypes.c_uint32.in_dll(loaded, "source_crc").value
    except (OSError, ValueError) as error:
        msg = f"{LIBRARY} cannot be loaded ({error}): install autoprog anew, or remove the file"
        raise ImportError(msg) from error
    if built != zlib.crc32(SOURCE.read_bytes()):
        msg = f"{LIBRARY} was built from another kernel.c: install autoprog anew, or remove the file"
        raise ImportError(msg)
    return loaded


def _pointer(array: NDArray[Any] | None) -> int | None:
    return None if array is None else int(array.ctypes.data)


def _called(function: Callable[..., int], *arguments: object) -> None:
    if not function(*arguments):
        msg = "too little memory to choose queries"
        raise MemoryError(msg)


def _with_responses(responses: Responses) -> tuple[_Model, list[NDArray[Any]]]:
    """A structure that holds the responses, and the arrays that must outlive it."""
    rows = np.ascontiguousarray(responses.rows)
    return _Model(rows=_pointer(rows), M=responses.n_objects, N=responses.n_queries, stride=rows.shape[1]), [rows]


def serves(model: DiagnosisModel) -> bool:
    """Whether the library is installed and supports the model: all criteria but groups at an infinite base."""
    limit = model.algorithm == "group_lambda_gbs" and math.isinf(model.base)
    return library() is not None and not limit and model.n_objects <= _MAX_OBJECTS


class CompiledSplitter:
    """As `autoprog.diagnosis.splitting.RowSplitter`; thread-safe, and threads run in parallel."""

    def __init__(self, model: DiagnosisModel, keys: NDArray[np.uint64] | None = None) -> None:
        self._structure, self._arrays = _with_responses(model.responses)
        self._n_queries = model.n_queries
        uniform = model.has_uniform_prior or counts_objects(model)
        self._give("target", np.ascontiguousarray(model.target_of))
        costs = relative_costs(model.costs)
        self._give("costs", costs)
        self._give("by_cost", None if costs is None else np.argsort(costs, kind="stable").astype(np.int64))
        self._give("keys", tie_keys(model) if keys is None else keys)
        if not uniform:
            self._give("weights", np.ascontiguousarray(model.weights))
        plain = model.algorithm in {"gbs", "ggbs"} or model.base - 1.0 < NEAR_ONE
        if plain or counts_objects(model):
            groups = model.algorithm in {"ggbs", "group_lambda_gbs"}
            self._structure.criterion = _GROUP_INFORMATION if groups else _LARGEST_SHARE
            if groups and uniform:
                count = np.arange(model.n_objects + 1.0)
                self._give("table", count * np.log2(np.maximum(count, 1.0)))
            return
        alpha = 1.0 / (1.0 + math.log2(model.base))
        self._structure.criterion = _EXPONENTIAL_BOUND
        self._structure.alpha, self._structure.log_base = alpha, math.log(model.base)
        if uniform:
            self._give("table", np.arange(model.n_objects + 1.0) ** alpha)
        else:
            self._give("powers", model.weights**alpha)

    def _give(self, name: str, array: NDArray[Any] | None) -> None:
        if array is not None:
            self._arrays.append(array)
        setattr(self._structure, name, _pointer(array))

    def choose(self, order: _Ints, start: _Ints, stop: _Ints, barred: _Ints | None = None) -> _Ints:
        """Choose the query of each node, as `Splitter.choose`."""
        loaded = library()
        assert loaded is not None  # noqa: S101  checked by `serves`
        structure = self._structure
        if barred is not None:
            closed = np.zeros(self._n_queries, dtype=np.uint8)
            closed[barred] = 1
            structure = _Model.from_buffer_copy(structure)
            structure.barred = _pointer(closed)
        order, start, stop = (np.ascontiguousarray(column, dtype=np.int64) for column in (order, start, stop))
        query = np.empty(len(start), dtype=np.int64)
        pointers = (ctypes.c_void_p(_pointer(column)) for column in (order, start, stop))
        n = ctypes.c_int64(len(start))
        _called(loaded.choose, ctypes.byref(structure), *pointers, n, ctypes.c_void_p(_pointer(query)))
        return query

    def partition(self, order: _Ints, start: _Ints, stop: _Ints, query: _Ints) -> _Ints:
        """Divide the objects of each node in place, as `Splitter.partition`."""
        loaded = library()
        assert loaded is not None  # noqa: S101  checked by `serves`
        start, stop, query = (np.ascontiguousarray(column, dtype=np.int64) for column in (start, stop, query))
        middle = np.empty(len(start), dtype=np.int64)
        pointers = [ctypes.c_void_p(_pointer(column)) for column in (order, start, stop, query, middle)]
        n = ctypes.c_int64(len(start))
        _called(loaded.partition, ctypes.byref(self._structure), *pointers[:3], n, *pointers[3:])
        return middle


def compiled_run_sums(responses: Responses, objects: _Ints, weights: _Floats, starts: _Ints) -> _Floats:
    """As `autoprog.diagnosis.nodes.run_sums`; the library must be installed."""
    loaded = library()
    assert loaded is not None  # noqa: S101  checked by the caller
    structure, _arrays = _with_responses(responses)
    by_object = np.zeros(responses.n_objects)
    by_object[objects] = weights
    objects = np.ascontiguousarray(objects, dtype=np.int64)
    ends = np.append(starts, len(objects)).astype(np.int64)
    sums = np.empty((len(starts), responses.n_queries))
    pointers = [ctypes.c_void_p(_pointer(array)) for array in (objects, ends, by_object, sums)]
    n = ctypes.c_int64(len(starts))
    _called(loaded.run_sums, ctypes.byref(structure), *pointers[:2], n, *pointers[2:])
    return sums
