"""Connections of Dask's client on which nothing can be unpickled, whatever scheduler and workers send.

Dask unpickles in many places: parts of messages as they are read, and bytes within them later, such as exceptions. Here
a message is MessagePack alone. All bytes in it, and all that was serialised beside it, reach Dask as `PeerBytes`, which
no reader of pickles takes: in a newer version of Dask, too, a message that is to be unpickled is an error.
"""

from __future__ import annotations

import struct
from collections.abc import MutableSet, Sequence
from ssl import SSLError
from typing import Any, NoReturn

import msgpack
from distributed.comm import registry
from distributed.comm.core import CommClosedError
from distributed.comm.tcp import (
    TCP,
    TLS,
    BaseTCPConnector,
    TCPBackend,
    TCPConnector,
    TLSBackend,
    TLSConnector,
    convert_stream_closed_error,
    read_bytes_rw,
)
from tornado.iostream import StreamClosedError

MAX_MESSAGE_BYTES = 2**31
"""Most bytes of a message that are read; a fitted pipeline is within them."""

_MAX_FRAMES = 10_000
_NUMBER = struct.Struct("Q")
_REASON_LENGTH = 300
_PREFIX = "autoprog+"
# Dask's marks in a message: a part serialised beside it, one pickled beside it, an enumeration to import, a set.
_SERIALIZED, _PICKLED, _ENUM, _SET = "__Serialized__", "__Pickled__", "__Enum__", "__Set__"


class RefusedMessageError(CommClosedError):  # type: ignore[misc]
    """A message was not read, as it is damaged, too large, or would have to be unpickled; its connection is closed."""


class RemoteError(OSError):
    """A scheduler answers that it failed; the text is its own."""


class PeerBytes:
    """Bytes that a scheduler or worker sent. They are no buffer, so that nothing reads them by accident."""

    __slots__ = ("_frames", "_is_compressed")

    def __init__(self, frames: Sequence[bytes | memoryview], *, is_compressed: bool = False) -> None:
        self._frames = tuple(frames)
        self._is_compressed = is_compressed

    def open(self) -> bytes:
        """Return the bytes, for a reader that trusts nothing in them; raises RefusedMessageError if compressed."""
        if self._is_compressed:
            raise RefusedMessageError("compressed data are not read")
        return b"".join(self._frames)


def guarded_address(address: str) -> str:
    """Return the address under which a client reaches a scheduler by connections of this module."""
    return _PREFIX + address


def read_message(frames: Sequence[bytes | memoryview]) -> Any:  # noqa: ANN401  any message
    """Read a message of Dask's protocol from its frames; raises RefusedMessageError and RemoteError."""
    if not frames:
        raise RefusedMessageError("an empty message")
    message = _seal(_unpack(frames[0]), frames)
    if isinstance(message, dict) and message.get("status") == "uncaught-error":
        raise RemoteError(str(message.get("exception_text"))[:_REASON_LENGTH])
    return message


def _unpack(frame: bytes | memoryview) -> Any:  # noqa: ANN401  any message
    """Read MessagePack; its own limits hold, so that no more is allocated than was sent."""
    try:
        return msgpack.unpackb(frame, use_list=False, strict_map_key=True, ext_hook=_refuse_extension)
    except (ValueError, msgpack.UnpackException) as error:
        raise RefusedMessageError("a message that is not MessagePack") from error


def _refuse_extension(code: int, _content: bytes) -> NoReturn:
    msg = f"extension {code}"
    raise ValueError(msg)


def _seal(part: object, frames: Sequence[bytes | memoryview]) -> object:
    """Return a part of a message, with all bytes in it as `PeerBytes`."""
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, bytes):
        return PeerBytes([part])
    if isinstance(part, tuple):
        return tuple(_seal(item, frames) for item in part)
    if not isinstance(part, dict) or not all(isinstance(key, str) for key in part):
        raise RefusedMessageError("a message with a type of MessagePack that no message needs")
    if _PICKLED in part or _ENUM in part:
        raise RefusedMessageError("a message that would have to be unpickled or imported")
    if _SERIALIZED in part:
        return _seal_frames(part[_SERIALIZED], frames)
    if _SET in part:
        return _seal_set(part.get("as-list"), frames)
    return {key: _seal(item, frames) for key, item in part.items()}


def _seal_frames(place: object, frames: Sequence[bytes | memoryview]) -> PeerBytes:
    """Return what was serialised beside the message, by whatever means."""
    if type(place) is not int or not 0 < place < len(frames):
        raise RefusedMessageError("a message that refers to a part that is not there")
    header = _unpack(frames[place])
    number = header.get("num-sub-frames") if isinstance(header, dict) else None
    if type(number) is not int or not 0 <= number < len(frames) - place:
        raise RefusedMessageError("a message with parts that are not there")
    compression = header.get("compression") or ()
    is_compressed = not isinstance(compression, tuple) or any(name is not None for name in compression)
    return PeerBytes(frames[place + 1 : place + 1 + number], is_compressed=is_compressed)


def _seal_set(items: object, frames: Sequence[bytes | memoryview]) -> set[object]:
    try:
        return {_seal(item, frames) for item in items}  # type: ignore[attr-defined]
    except TypeError as error:
        raise RefusedMessageError("a message with a set that is none") from error


class _Guarded(TCP):  # type: ignore[misc]
    """A connection that reads messages by `read_message`."""

    stream: Any  # of Tornado; None once it is closed

    async def read(self, deserializers: object = None) -> Any:  # noqa: ANN401, ARG002  any message, by Dask's signature
        stream = self.stream
        if stream is None:
            raise CommClosedError
        try:
            return read_message(await self._read_frames(stream))
        except (StreamClosedError, SSLError) as error:
            self.stream, self._closed = None, True
            convert_stream_closed_error(self, error)
        except RemoteError:
            raise
        except RecursionError as error:
            self.abort()
            raise RefusedMessageError("a message that is nested too deeply") from error
        except BaseException:
            self.abort()
            raise

    @staticmethod
    async def _read_frames(stream: Any) -> list[memoryview]:  # noqa: ANN401  of Tornado
        """Read the frames of a message: a length that nobody needs, their number, their lengths, and themselves."""
        await stream.read_bytes(_NUMBER.size)
        (number,) = _NUMBER.unpack(await stream.read_bytes(_NUMBER.size))
        if number > _MAX_FRAMES:
            raise RefusedMessageError(f"a message of {number:,} parts; at most {_MAX_FRAMES:,} are read")
        lengths = struct.unpack(f"{number}Q", await stream.read_bytes(number * _NUMBER.size)) if number else ()
        if (size := sum(lengths)) > MAX_MESSAGE_BYTES:
            raise RefusedMessageError(f"a message of {size:,} bytes; at most {MAX_MESSAGE_BYTES:,} are read")
        return [await read_bytes_rw(stream, length) if length else memoryview(b"") for length in lengths]


class _GuardedTCP(_Guarded):
    pass


class _GuardedTLS(_Guarded, TLS):  # type: ignore[misc]
    pass


class _GuardedConnector(BaseTCPConnector):  # type: ignore[misc]
    async def connect(
        self,
        address: str,
        deserialize: bool = True,  # noqa: FBT001, FBT002  Dask's signature
        *,
        opened: MutableSet[TCP],
        **options: object,
    ) -> _Guarded:
        connection = await super().connect(address, deserialize, **options)
        opened.add(connection)
        if not isinstance(connection, _Guarded):  # a version of Dask that makes its connections in another way
            connection.abort()
            raise RefusedMessageError("a connection on which messages would be unpickled")
        return connection


class _GuardedTCPConnector(_GuardedConnector, TCPConnector):  # type: ignore[misc]
    comm_class = _GuardedTCP


class _GuardedTLSConnector(_GuardedConnector, TLSConnector):  # type: ignore[misc]
    comm_class = _GuardedTLS

    async def connect(self, address: str, deserialize: bool = True, **options: Any) -> _Guarded:  # noqa: ANN401, FBT001, FBT002
        try:
            return await super().connect(address, deserialize, **options)
        except ValueError as error:
            # Tornado's, of a connection that the other end has closed before the handshake.
            raise CommClosedError(f"{address} closed the connection: {error}") from error


class _GuardedTCPBackend(TCPBackend):  # type: ignore[misc]
    _connector_class = _GuardedTCPConnector


class _GuardedTLSBackend(TLSBackend):  # type: ignore[misc]
    _connector_class = _GuardedTLSConnector


registry.backends[f"{_PREFIX}tcp"] = _GuardedTCPBackend()
registry.backends[f"{_PREFIX}tls"] = _GuardedTLSBackend()
