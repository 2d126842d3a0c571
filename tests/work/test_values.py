"""What calls return, as bytes and back; and what is refused of those who lie about it."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from autoprog.errors import UnreadableValueError
from autoprog.evaluation import FoldPath, FoldResult
from autoprog.jobs.ports import JobResult
from autoprog.jobs.work import WORK
from autoprog.search.tasks import evaluate_folds, fit, refit_on_resample
from autoprog.work import declared_value, read_value, write_value

MAGIC = b"autoprog value 1\n"
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
FLOATS = st.floats(allow_nan=True)
PARAMETERS = st.one_of(st.booleans(), st.integers(-(2**70), 2**70), FLOATS, TEXTS)
JSON = st.recursive(
    st.one_of(st.none(), PARAMETERS),
    lambda part: st.one_of(st.lists(part, max_size=3), st.dictionaries(TEXTS, part, max_size=3)),
    max_leaves=8,
)


def tables(dtype: type) -> st.SearchStrategy[NDArray[Any]]:
    return arrays(dtype, array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))


PATHS = st.builds(
    FoldPath,
    st.lists(PARAMETERS, max_size=3).map(tuple),
    tables(np.float64),
    tables(np.float64),
    tables(np.float32),
    st.none() | tables(np.float32),
)
RESULTS = st.builds(
    FoldResult,
    FLOATS,
    tables(np.float32),
    st.lists(TEXTS, max_size=2).map(tuple),
    st.none() | PATHS,
    st.none() | tables(np.float32),
)
FILES = st.dictionaries(st.sampled_from(["models", "diagnosis_trees"]), st.binary(max_size=20), max_size=2)


def alike(one: object, other: object) -> bool:
    """Equal in type and value, NaN in the same places."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        assert isinstance(other, np.ndarray)
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if is_dataclass(one):
        return all(alike(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))  # type: ignore[arg-type]
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(alike, one.values(), other.values()))  # type: ignore[call-overload]
    return one == other or (one != one and other != other)  # noqa: PLR0124  both NaN


def returned(function: Any, value: Any) -> Any:
    return read_value(declared_value(function), write_value(value))


@given(st.lists(RESULTS, max_size=3).map(tuple))
def test_results_of_folds_come_back(results: tuple[FoldResult, ...]) -> None:
    assert alike(returned(evaluate_folds, results), results)


@given(st.binary(max_size=100))
def test_fitted_pipelines_come_back(content: bytes) -> None:
    assert returned(fit, content) == content


@given(tables(np.float32))
def test_risks_of_resamples_come_back(risks: NDArray[np.float32]) -> None:
    read = returned(refit_on_resample, risks)
    assert alike(read, risks)
    assert read.flags.writeable


@given(st.dictionaries(TEXTS, JSON, max_size=3), FILES)
def test_results_of_jobs_come_back(document: dict[str, Any], files: dict[Any, bytes]) -> None:
    result = JobResult(document, files)
    for work in WORK.values():
        assert alike(returned(work.function, result), result)


@pytest.mark.parametrize("code", "?bBhHiIqQefd")
def test_arrays_of_numbers_come_back_whatever_their_order(code: str) -> None:
    table = np.arange(12).reshape(3, 4).astype(code)
    for array in (table, np.asfortranarray(table), table[:, ::2], table.astype(table.dtype.newbyteorder(">"))):
        read = read_value(np.ndarray, write_value(array))
        assert read.dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(read, array)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: float
    colour: Colour = Colour.RED
    label: bytes | None = None

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("negative")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (None, None),
        (Point, Point(1.5, label=b"\x00\xff")),
        (tuple[int, str], (1, "a")),
        (list[float], [1.0, float("inf")]),
        (Sequence[int], (1, 2)),
        (Mapping[str, Point], {"a": Point(2.0)}),
        (float | int | str | bool, 1),
        (float | int | str | bool, 1.0),
        (float | int | str | bool, True),
        (Literal["a", "b"], "b"),
        (dict[str, NDArray[np.floating[Any]]], {"a": np.ones(2, np.float32)}),
        (Any, {"a": [1, None, {"b": 0.5}]}),
    ],
)
def test_other_values_come_back(kind: object, value: object) -> None:
    assert alike(read_value(kind, write_value(value)), value)


def test_numbers_of_numpy_come_back_as_numbers() -> None:
    assert alike(read_value(list[float], write_value([np.float32(0.5), 3])), [0.5, 3.0])
    assert alike(read_value(tuple[int, bool], write_value((np.int64(3), np.bool_(1)))), (3, True))


@pytest.mark.parametrize(
    "value", [{1, 2}, object(), {1: 2}, np.array([None]), np.array(["a"]), np.zeros(2, "M8[s]"), int]
)
def test_what_is_no_data_is_not_written(value: object) -> None:
    with pytest.raises(TypeError, match="return"):
        write_value(value)


def test_a_function_has_to_say_what_it_returns() -> None:
    with pytest.raises(TypeError, match="does not declare what it returns"):
        declared_value(lambda: 1)


def raw(text: str, buffers: bytes = b"") -> bytes:
    return MAGIC + struct.pack("<Q", len(text)) + text.encode() + buffers


def array(dtype: str, shape: object) -> str:
    return json.dumps({"dtype": dtype, "shape": shape})


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        (bytes, b"", "not in the format"),
        (bytes, pickle.dumps(b"a"), "not in the format"),
        (bytes, MAGIC + struct.pack("<Q", 2**63), "cut off"),
        (bytes, raw("{"), "not JSON"),
        (bytes, raw("[" * 100_000), "not JSON"),
        (bytes, raw("1" * 5_000), "not JSON"),
        (bytes, raw("4", b"abc"), "value is cut off"),
        (bytes, raw("-1", b"abc"), "value is cut off"),
        (bytes, raw("true", b"a"), "not of type int"),
        (bytes, raw("2", b"abc"), "more bytes than it names"),
        (int, raw("1.0"), "not of type int"),
        (str, raw("null"), "not of type str"),
        (None, raw("0"), "not of type NoneType"),
        (Colour, raw('"blue"'), "not one of its choices"),
        (Literal["a"], raw('["a"]'), "not one of its choices"),
        (int | str, raw("[]"), "not of a kind"),
        (tuple[int, int], raw("[1]"), "not of 2 parts"),
        (tuple[int, ...], raw('[1, "a"]'), r"value\[1\] is not of type int"),
        (dict[Literal["a"], int], raw('{"b": 1}'), "a key of value is not one of its choices"),
        (Point, raw('{"x": 1.0}'), "not a Point"),
        (Point, raw('{"x": 1.0, "colour": "red", "label": null, "more": 1}'), "not a Point"),
        (Point, raw('{"x": -1.0, "colour": "red", "label": null}'), "not a Point"),
        (Point, raw('{"x": "a", "colour": "red", "label": null}'), r"value\.x is not of type float"),
        (float, raw("1" + "0" * 400), "value is not of type float"),
        (np.ndarray, raw(array("|O", [1]), b"12345678"), "not an array"),
        (np.ndarray, raw(array("<U2", [1]), b"12345678"), "not an array"),
        (np.ndarray, raw(array("<f8", [-1]), b""), "not an array"),
        (np.ndarray, raw(array("<f8", [2**40, 2**40]), b"12345678"), "cut off"),
        (np.ndarray, raw(array("<f8", [1] * 100), b"12345678"), "not an array"),
        (np.ndarray, raw('{"dtype": "<f8"}'), "not an array"),
        (NDArray[np.float32], raw(array("<f8", [1]), b"12345678"), "not an array of float32"),
    ],
)
def test_what_is_not_of_its_kind_is_refused(kind: object, content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableValueError, match=reason):
        read_value(kind, content)


def test_bools_are_bools_whatever_the_bytes() -> None:
    read = read_value(NDArray[np.bool_], raw(array("|b1", [3]), b"\x00\x02\xff"))
    assert read.view(np.uint8).tolist() == [0, 1, 1]


@given(st.data())
def test_damaged_results_are_refused_or_are_results(data: st.DataObject) -> None:
    content = bytearray(write_value((FoldResult(0.5, np.ones((2, 2), np.float32), ("a",)),)))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        read = read_value(declared_value(evaluate_folds), cut)
    except UnreadableValueError:
        return
    assert all(isinstance(result, FoldResult) and result.risks.dtype == np.float32 for result in read)
