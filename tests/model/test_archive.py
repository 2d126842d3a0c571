"""Archives: the same bytes every time, and nothing odd is opened."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from autoprog.errors import ArtifactError
from autoprog.model import serialization
from autoprog.model.serialization import check_bounds, pack, unpack

FILES = {"b.json": b"{}", "a/0.skops": bytes(1000)}


@pytest.mark.parametrize("compress", [True, False])
def test_round_trip_and_fixed_bytes(compress: bool) -> None:
    content = pack(FILES, compress=compress)
    assert unpack(content) == FILES
    assert pack(FILES, compress=compress) == content
    assert (len(content) < 1000) == compress


def test_an_archive_that_states_too_much_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialization, "MAX_UNPACKED_BYTES", 1 << 20)
    bomb = pack({"zeros": bytes((1 << 20) + 1)}, compress=True)
    assert len(bomb) < 2000
    with pytest.raises(ArtifactError, match="unpacks to 1,048,577 bytes"):
        check_bounds(bomb)


def test_an_archive_that_states_less_than_it_holds_is_damaged() -> None:
    content = pack({"zeros": bytes(1 << 20)}, compress=True)
    lying = content.replace(struct.pack("<I", 1 << 20), struct.pack("<I", 100))
    assert lying != content
    with pytest.raises(ArtifactError, match="damaged"):
        unpack(lying)


def test_too_many_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialization, "MAX_ENTRIES", 3)
    with pytest.raises(ArtifactError, match="4 entries"):
        check_bounds(pack({str(i): b"" for i in range(4)}, compress=False))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_used_twice_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a", b"1")
        file.writestr("a", b"2")
    with pytest.raises(ArtifactError, match="twice"):
        unpack(buffer.getvalue())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", pack(FILES, compress=True)[:-30]])
def test_what_is_no_archive_is_damaged(content: bytes) -> None:
    with pytest.raises(ArtifactError, match="damaged"):
        unpack(content)
