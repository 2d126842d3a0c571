"""Values that calls return, as bytes: JSON, and the items of arrays beside it.

Who runs a call may lie about its value. So the content names no type: the reader goes by the type that the function
declares to return, down to the fields of dataclasses and the items of arrays, and nothing in the content is ever run.

    content   magic line, length of the JSON (8 bytes, little-endian), JSON, buffers
    buffers   of arrays (little-endian, in the order of C) and of bytes, as the JSON names them from left to right

In the JSON an array is its dtype and shape, bytes are their length, and a dataclass is an object of all its fields.
"""

from __future__ import annotations

import json
import math
import struct
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from autoprog.errors import UnreadableValueError

_MAGIC = b"autoprog value 1\n"
_LENGTH = struct.Struct("<Q")
# Numbers only: an array of objects would be a pickle.
_DTYPES = {dtype.str: dtype for code in "?bBhHiIqQefd" for dtype in [np.dtype(code).newbyteorder("<")]}
_SCALARS = (bool, int, float, str)


def write_value(value: object) -> bytes:
    """Write a value that a call returned.

    Parameters
    ----------
    value : object
        None, a bool, number, string, bytes, enumeration of strings, array of numbers, or a dataclass; or tuples, lists
        and mappings by strings of these.

    Returns
    -------
    bytes
        As `read_value` reads them.

    Raises
    ------
    TypeError
        If the value, or a part of it, is anything else.
    """
    buffers: list[bytes] = []
    text = json.dumps(_write(value, buffers), separators=(",", ":")).encode()
    return b"".join([_MAGIC, _LENGTH.pack(len(text)), text, *buffers])


def read_value(kind: object, content: bytes) -> Any:  # noqa: ANN401  a value of the kind that the caller names
    """Read a value that was written by whoever ran the call.

    Parameters
    ----------
    kind : type or generic alias
        What the value has to be, as `declared_value` returns it. `Any` is JSON: no bytes, arrays or dataclasses.
    content : bytes
        As `write_value` writes them.

    Returns
    -------
    object
        A value of this kind. Tuples, lists and mappings are what the kind says, mappings dicts; numbers that NumPy
        wrote are Python's.

    Raises
    ------
    UnreadableValueError
        If the content is damaged, or is not of this kind.
    """
    head = len(_MAGIC) + _LENGTH.size
    if not content.startswith(_MAGIC) or len(content) < head:
        raise UnreadableValueError("the value is not in the format of values")
    end = head + _LENGTH.unpack_from(content, len(_MAGIC))[0]
    if end > len(content):
        raise UnreadableValueError("the value is cut off")
    reader = _Reader(content, end)
    try:
        value = reader.read(kind, json.loads(content[head:end].decode()), "value")
    except (ValueError, RecursionError) as error:
        raise UnreadableValueError("the value is not JSON") from error
    if reader.offset != len(content):
        raise UnreadableValueError("the value has more bytes than it names")
    return value


def declared_value(function: Callable[..., object]) -> object:
    """Return what a function declares to return.

    Parameters
    ----------
    function : callable
        A function with an annotation of what it returns.

    Returns
    -------
    type or generic alias
        For `read_value`; None's type if it returns nothing.

    Raises
    ------
    TypeError
        If it has no such annotation.
    """
    hints = get_type_hints(function)
    if "return" not in hints:
        raise TypeError(f"{function!r} does not declare what it returns")
    return hints["return"]


def _write(value: object, buffers: list[bytes]) -> object:
    """Return the JSON of a value; its bytes and arrays join the buffers."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, _SCALARS):
        return value
    if isinstance(value, bytes):
        buffers.append(value)
        return len(value)
    if isinstance(value, np.ndarray):
        return _write_array(value, buffers)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _write(getattr(value, field.name), buffers) for field in fields(value)}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("a mapping that is returned must have strings as keys")
        return {str(key): _write(item, buffers) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_write(item, buffers) for item in value]
    raise TypeError(f"{type(value).__name__} is not data that a call can return")


def _write_array(array: NDArray[Any], buffers: list[bytes]) -> object:
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in _DTYPES:
        raise TypeError(f"an array of {array.dtype} is not data that a call can return")
    buffers.append(array.astype(dtype, copy=False).tobytes())
    return {"dtype": dtype.str, "shape": list(array.shape)}


class _Reader:
    """Reader of values; `offset` is where the next buffer begins."""

    def __init__(self, content: bytes, offset: int) -> None:
        self._content = memoryview(content)
        self.offset = offset

    def read(self, kind: Any, document: Any, place: str) -> Any:  # noqa: ANN401  see `read_value`
        """Return what the document says, as a value of this kind."""
        origin = get_origin(kind) or kind
        form = self._forms.get(origin)
        if form is None and is_dataclass(origin):
            form = _Reader._dataclass
        if form is None and isinstance(origin, type) and issubclass(origin, Enum):
            form = _Reader._choice
        return (form or _Reader._scalar)(self, kind, document, place)

    def _union(self, kind: Any, document: object, place: str) -> object:  # noqa: ANN401  see `read_value`
        """Return a value of the first kind that fits, tried after those that it already is."""
        kinds = [kind for kind in get_args(kind) if (kind is type(None)) == (document is None)]
        if len(kinds) == 1:
            return self.read(kinds[0], document, place)
        begun = self.offset
        for one in sorted(kinds, key=lambda one: type(document) is not one):
            try:
                return self.read(one, document, place)
            except UnreadableValueError:
                self.offset = begun
        raise _unlike(place, "of a kind that it may have")

    def _choice(self, kind: Any, document: object, place: str) -> object:  # noqa: ANN401  see `read_value`
        for choice in get_args(kind) or kind:
            if (choice.value if isinstance(choice, Enum) else choice) == document:
                return choice
        raise _unlike(place, "one of its choices")

    def _bytes(self, _kind: Any, document: object, place: str) -> bytes:  # noqa: ANN401  see `read_value`
        return bytes(self._take(_expect(int, document, place), place))

    def _array(self, kind: Any, document: object, place: str) -> NDArray[Any]:  # noqa: ANN401  see `read_value`
        head = _expect(dict, document, place)
        if head.keys() != {"dtype", "shape"}:
            raise _unlike(place, "an array")
        dtype = _DTYPES.get(_expect(str, head["dtype"], place))
        shape = [_expect(int, n, place) for n in _expect(list, head["shape"], place)]
        if dtype is None or not issubclass(dtype.type, _item(kind)) or min(shape, default=0) < 0:
            raise _unlike(place, f"an array of {_item(kind).__name__}")
        content = self._take(math.prod(shape) * dtype.itemsize, place)
        # NumPy takes for granted that a bool is 0 or 1.
        items = np.frombuffer(content, np.uint8) != 0 if dtype.kind == "b" else np.frombuffer(content, dtype)
        try:
            return items.reshape(shape).astype(dtype.newbyteorder("="))
        except ValueError as error:  # more axes than NumPy has
            raise _unlike(place, "an array") from error

    def _dataclass(self, kind: Any, document: object, place: str) -> object:  # noqa: ANN401  see `read_value`
        declared = _fields(kind)
        given = _expect(dict, document, place)
        if list(given) != list(declared):
            raise _unlike(place, f"a {kind.__name__}")
        values = {name: self.read(of, given[name], f"{place}.{name}") for name, of in declared.items()}
        try:
            return kind(**values)
        except (TypeError, ValueError) as error:
            raise _unlike(place, f"a {kind.__name__}") from error

    def _sequence(self, kind: Any, document: object, place: str) -> object:  # noqa: ANN401  see `read_value`
        items, kinds = _expect(list, document, place), get_args(kind)
        if (get_origin(kind) or kind) is tuple and kinds and kinds[-1] is not Ellipsis:
            if len(items) != len(kinds):
                raise _unlike(place, f"of {len(kinds)} parts")
        else:
            kinds = (kinds[0] if kinds else Any,) * len(items)
        read = (self.read(of, item, f"{place}[{i}]") for i, (of, item) in enumerate(zip(kinds, items, strict=True)))
        return list(read) if (get_origin(kind) or kind) is list else tuple(read)

    def _mapping(self, kind: Any, document: object, place: str) -> dict[Any, Any]:  # noqa: ANN401  see `read_value`
        items = _expect(dict, document, place).items()
        of_key, of_item = get_args(kind) or (str, Any)
        return {
            self.read(of_key, key, f"a key of {place}"): self.read(of_item, item, f"{place}[{key!r:.40}]")
            for key, item in items
        }

    def _take(self, size: int, place: str) -> memoryview:
        if not 0 <= size <= len(self._content) - self.offset:
            raise UnreadableValueError(f"{place} is cut off")
        self.offset += size
        return self._content[self.offset - size : self.offset]

    def _scalar(self, kind: Any, document: object, place: str) -> object:  # noqa: ANN401  see `read_value`
        """Return what is in the JSON itself: a scalar, or all of it where anything may come."""
        if kind in {Any, object}:
            return document
        if kind in {None, type(None)}:
            return _expect(type(None), document, place)
        if kind is float and type(document) is int:
            try:
                return float(document)
            except OverflowError as error:
                raise _unlike(place, "of type float") from error
        if kind not in _SCALARS:
            raise TypeError(f"no call can return a {kind}")
        return _expect(kind, document, place)

    _forms: ClassVar[Mapping[Any, Callable[..., object]]] = {
        Union: _union,
        types.UnionType: _union,
        Literal: _choice,
        bytes: _bytes,
        np.ndarray: _array,
        tuple: _sequence,
        list: _sequence,
        Sequence: _sequence,
        dict: _mapping,
        Mapping: _mapping,
    }


def _expect(kind: type, document: object, place: str) -> Any:  # noqa: ANN401  of this kind
    """Return the document; a bool is no number."""
    if type(document) is not kind:
        raise _unlike(place, f"of type {kind.__name__}")
    return document


def _item(kind: Any) -> type:  # noqa: ANN401  see `read_value`
    """Return the scalar type of an array's items: of `NDArray[np.float32]`, np.float32."""
    of = get_args(get_args(kind)[1])[0] if get_args(kind) else np.generic
    return np.generic if of is Any else get_origin(of) or of


@lru_cache
def _fields(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _unlike(place: str, expected: str) -> UnreadableValueError:
    return UnreadableValueError(f"{place} is not {expected}")
