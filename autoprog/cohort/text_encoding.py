"""Convert texts of older programs, UTF-16 and Windows-1252, to UTF-8."""

from __future__ import annotations

from autoprog.errors import Fault, InvalidInputError

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-16."""


def to_utf_8(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return the text in UTF-8 and a warning if it was converted; what no encoding explains stays as it is."""
    if data.startswith(UTF_16):
        try:
            return data.decode("utf-16").encode(), ("the file is UTF-16 and was converted to UTF-8",)
        except UnicodeError:
            raise InvalidInputError(
                [Fault("/file", "the file begins as UTF-16 but is damaged or ends early")]
            ) from None
    try:
        data.decode()
    except UnicodeDecodeError as error:
        # Other sound characters beyond ASCII show that it is UTF-8 with a damaged place.
        if not data.decode(errors="ignore").isascii():
            return data, ()
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:
            return data, ()
        row = 1 + data[: error.start].count(b"\n")
        found = f"{text[error.start]!r} in row {row}"
        return text.encode(), (f"the file is not UTF-8 and was read as Windows-1252: check {found}",)
    return data, ()
