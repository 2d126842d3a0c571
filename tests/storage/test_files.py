from __future__ import annotations

import errno
import hashlib
import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from autoprog.errors import ArtifactError, StorageFullError
from autoprog.storage.files import Files, StoredFile

CONTENT = b"303 patients"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
# printf %s $SHA256 | openssl dgst -sha256 -hmac key
SIGNATURE = b"1d47d2fd870adec24ec70301d2193129c75637cd4a043efa2aa7e992408065f3"


@pytest.fixture(params=["folder", "object store"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "folder":
        yield str(tmp_path / "not" / "yet there")
        return
    place = f"memory://{uuid.uuid4().hex}"
    yield place
    filesystem, root = fsspec.core.url_to_fs(place)
    if filesystem.exists(root):
        filesystem.rm(root, recursive=True)


def overwrite(files: Files, sha256: str, content: bytes, suffix: str = "") -> None:
    with fsspec.open(files.url("models", sha256) + suffix, "wb") as file:
        file.write(content)


def test_what_is_put_is_got(url: str) -> None:
    files = Files(url)
    assert files.put("cohorts", CONTENT) == SHA256
    assert files.put("cohorts", CONTENT) == SHA256
    assert files.get("cohorts", SHA256) == CONTENT
    assert Files(url).get("cohorts", SHA256) == CONTENT


def test_the_url_leads_any_process_to_the_bytes(url: str) -> None:
    files = Files(url)
    files.put("cohorts", CONTENT)
    with fsspec.open(files.url("cohorts", SHA256), "rb") as file:
        assert file.read() == CONTENT


def test_a_missing_file_is_named_without_its_path(url: str, tmp_path: Path) -> None:
    files = Files(url)
    files.put("cohorts", CONTENT)
    with pytest.raises(ArtifactError, match=f"{SHA256} of models is missing") as caught:
        files.get("models", SHA256)
    assert str(tmp_path) not in str(caught.value)


def test_an_altered_file_is_refused_and_healed_by_storing_it_again(url: str) -> None:
    files = Files(url)
    files.put("models", CONTENT)
    overwrite(files, SHA256, b"304 patients")
    with pytest.raises(ArtifactError, match="altered"):
        files.get("models", SHA256)
    files.put("models", CONTENT)
    assert files.get("models", SHA256) == CONTENT


def test_a_deleted_file_is_gone_with_its_signature(url: str) -> None:
    files = Files(url, b"key")
    files.put("models", CONTENT)
    files.delete(StoredFile("models", SHA256))
    files.delete(StoredFile("models", SHA256))
    with pytest.raises(ArtifactError, match="missing"):
        files.get("models", SHA256)
    filesystem, root = fsspec.core.url_to_fs(url)
    assert filesystem.find(root) == []


def test_a_model_put_there_by_someone_without_the_key_is_refused(url: str) -> None:
    ours = Files(url, b"key")
    Files(url).put("models", CONTENT)
    with pytest.raises(ArtifactError, match="not signed"):
        ours.get("models", SHA256)
    Files(url, b"another key").put("models", CONTENT)
    with pytest.raises(ArtifactError, match="another key"):
        ours.get("models", SHA256)
    overwrite(ours, SHA256, b"", ".hmac")
    with pytest.raises(ArtifactError, match="another key"):
        ours.get("models", SHA256)
    ours.put("models", CONTENT)
    assert ours.get("models", SHA256) == CONTENT


def test_models_of_an_accepted_key_are_read_and_signed_again(url: str) -> None:
    old, new = Files(url, b"old"), Files(url, b"new", [b"next", b"old"])
    old.put("models", CONTENT)
    assert new.get("models", SHA256) == CONTENT
    with pytest.raises(ArtifactError, match="another key"):
        Files(url, b"new", [b"next"]).get("models", SHA256)
    assert new.sign_again(StoredFile("models", SHA256))
    assert not new.sign_again(StoredFile("models", SHA256))
    assert Files(url, b"new").get("models", SHA256) == CONTENT
    with pytest.raises(ArtifactError, match="another key"):
        old.get("models", SHA256)


def test_what_an_unknown_key_has_signed_is_not_signed_again(url: str) -> None:
    Files(url, b"unknown").put("models", CONTENT)
    new = Files(url, b"new", [b"old"])
    with pytest.raises(ArtifactError, match="another key"):
        new.sign_again(StoredFile("models", SHA256))
    Files(url, b"old").put("models", CONTENT)
    overwrite(new, SHA256, b"304 patients")
    with pytest.raises(ArtifactError, match="altered"):
        new.sign_again(StoredFile("models", SHA256))


def test_new_models_are_signed_with_the_signing_key_alone(url: str) -> None:
    Files(url, b"new", [b"old"]).put("models", CONTENT)
    assert Files(url, b"new").get("models", SHA256) == CONTENT
    with pytest.raises(ArtifactError, match="another key"):
        Files(url, b"old").get("models", SHA256)


def test_cohorts_need_no_signature(url: str) -> None:
    Files(url).put("cohorts", CONTENT)
    assert Files(url, b"key").get("cohorts", SHA256) == CONTENT


def test_the_signature_is_an_hmac_of_the_digest(url: str) -> None:
    files = Files(url, b"key")
    files.put("models", CONTENT)
    with fsspec.open(files.url("models", SHA256) + ".hmac", "rb") as file:
        assert file.read() == SIGNATURE


def test_a_file_and_its_name_survive_a_power_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[Path, bool]] = []
    fsync, root = os.fsync, tmp_path / "files"
    path = root / "models" / SHA256[:2] / SHA256

    def watch(descriptor: int) -> None:
        synced.append((Path(f"/proc/self/fd/{descriptor}").readlink(), path.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    Files(str(root)).put("models", CONTENT)
    (first, *then) = synced
    assert first[0].parent == path.parent
    assert then == [(path.parent, True), (path.parents[1], True), (root, True)]
    assert not first[1]


def test_a_folder_that_cannot_be_synced_takes_files_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def refuse_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    files = Files(str(tmp_path))
    files.put("models", CONTENT)
    assert files.get("models", SHA256) == CONTENT


def test_a_model_without_its_signature_is_not_there(url: str) -> None:
    Files(url).put("models", CONTENT)
    assert Files(url).has(StoredFile("models", SHA256))
    assert not Files(url, b"key").has(StoredFile("models", SHA256))
    Files(url, b"key").put("models", CONTENT)
    assert Files(url, b"key").has(StoredFile("models", SHA256))


def test_a_write_that_breaks_off_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = Files(str(tmp_path))
    files.put("models", CONTENT)

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    for content in (CONTENT, b"another model"):
        with pytest.raises(StorageFullError, match="no space"):
            files.put("models", content)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [SHA256]
    assert files.get("models", SHA256) == CONTENT
