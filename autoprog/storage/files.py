"""Files beside the database (cohorts, models, trees), each under the SHA-256 of its bytes."""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from autoprog.errors import ArtifactError, StorageFullError

MIN_FREE = 64 * 2**20
"""Free bytes below which a disk counts as full, so that running work can still end."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def has_room(place: Path) -> bool:
    """Check whether something can be stored at a local path, which need not exist yet."""
    return free_bytes(place) >= MIN_FREE


def free_bytes(place: Path) -> int:
    """Return the free space at a local path, or at the nearest folder above it that exists."""
    there = next(each for each in (place, *place.absolute().parents) if each.exists())
    return shutil.disk_usage(there).free


def is_full(error: BaseException) -> bool:
    """Check whether the system reports a full disk or quota."""
    return isinstance(error, OSError) and error.errno in _FULL


def full(error: BaseException) -> StorageFullError:
    """Convert an error of the system or a database to StorageFullError."""
    return StorageFullError(f"no room is left: {' '.join(str(error).split())}")


_FOLDER, _FILE = 0o700, 0o600
_OTHERS = 0o077


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents; existing ones stay as they are."""
    missing = [each for each in folder.parents if not each.exists()]
    for each in (*reversed(missing), folder):
        each.mkdir(mode=_FOLDER, exist_ok=True)


def opener(path: str, flags: int) -> int:
    """Open a file for `open`; a new file is private."""
    return os.open(path, flags, _FILE)


def make_file(path: Path) -> None:
    """Make an empty file and its folder if absent."""
    make_folder(path.parent)
    with open(path, "ab", opener=opener):
        pass


def tighten(path: Path) -> None:
    """Remove other users' rights on a file or folder of ours from an earlier version."""
    if path.exists() and path.stat().st_uid == os.getuid() and path.stat().st_mode & _OTHERS:
        path.chmod(path.stat().st_mode & ~_OTHERS & 0o777)


Kind = Literal[
    "cohorts",
    "identifiers",
    "models",
    "diagnosis_models",
    "diagnosis_trees",
    "test_selection_arms",
    "test_selection_tables",
]

# A fitted model is effectively code; the others are only data.
SIGNED: frozenset[Kind] = frozenset({"models", "test_selection_arms"})


class StoredFile(NamedTuple):
    """Kind and SHA-256 of a stored file."""

    kind: Kind
    sha256: str


class Files:
    """Content-addressed files in a folder or an object store.

    Parameters
    ----------
    url : str
        fsspec URL of the folder, which the first file creates.
    signing_key : bytes or None
        Key for storage that others can write to: models are signed with HMAC-SHA256, and unsigned ones refused.
    accepted_keys : sequence of bytes
        Further keys whose signatures are accepted, while keys are rotated.
    """

    def __init__(self, url: str, signing_key: bytes | None = None, accepted_keys: Sequence[bytes] = ()) -> None:
        self._filesystem, root = url_to_fs(url)
        self._root = root.rstrip("/")
        self._signing_key = signing_key
        self._accepted_keys = tuple(accepted_keys)

    @staticmethod
    def digest(content: bytes) -> str:
        """SHA-256 under which a file is stored."""
        return hashlib.sha256(content).hexdigest()

    def put(self, kind: Kind, content: bytes) -> str:
        """Store a file atomically and return its SHA-256; raises StorageFullError if the disk is full."""
        # For files that rows refer to, call `stored_files.store_files` instead.
        sha256 = self.digest(content)
        path = self._path(kind, sha256)
        if self._signing_key is not None and kind in SIGNED:
            self._write(_signature_path(path), self._sign(self._signing_key, sha256))
        self._write(path, content)
        return sha256

    def get(self, kind: Kind, sha256: str) -> bytes:
        """Read a file; raises ArtifactError if it is missing, altered, or not signed with our key."""
        path = self._path(kind, sha256)
        content = self._read(path, f"the file {sha256} of {kind} is missing from the storage")
        if not hmac.compare_digest(self.digest(content), sha256):
            msg = f"the file {sha256} of {kind} has been altered: its digest is another one"
            raise ArtifactError(msg)
        if self._signing_key is not None and kind in SIGNED:
            signature = self._read(_signature_path(path), f"the file {sha256} of {kind} is not signed")
            keys = (self._signing_key, *self._accepted_keys)
            if not any(hmac.compare_digest(signature, self._sign(key, sha256)) for key in keys):
                msg = f"the signature of the file {sha256} of {kind} was made with another key"
                raise ArtifactError(msg)
        return content

    def sign_again(self, file: StoredFile) -> bool:
        """Sign a file with the signing key if an accepted key signed it; whether that was so. Raises as `get`."""
        if self._signing_key is None or file.kind not in SIGNED:
            return False
        self.get(file.kind, file.sha256)
        path, signature = _signature_path(self._path(*file)), self._sign(self._signing_key, file.sha256)
        if hmac.compare_digest(self._read(path, f"the file {file.sha256} of {file.kind} is not signed"), signature):
            return False
        self._write(path, signature)
        return True

    def url(self, kind: Kind, sha256: str) -> str:
        """fsspec URL of a file, for workers."""
        return str(self._filesystem.unstrip_protocol(self._path(kind, sha256)))

    def has_room(self) -> bool:
        """Check whether a file can be stored, as far as visible from here: only in a folder."""
        free = self.free_bytes()
        return free is None or free >= MIN_FREE

    def free_bytes(self) -> int | None:
        """Return the free space, if it is visible from here: only of a folder."""
        return free_bytes(Path(self._root)) if isinstance(self._filesystem, LocalFileSystem) else None

    def has(self, file: StoredFile) -> bool:
        """Check whether a file and any signature that it needs exist, without reading them."""
        path = self._path(file.kind, file.sha256)
        is_signed = self._signing_key is not None and file.kind in SIGNED
        return all(self._filesystem.exists(each) for each in ([path, _signature_path(path)] if is_signed else [path]))

    def delete(self, file: StoredFile, *, unfinished: bool = False) -> None:
        """Remove a file if it exists; the caller knows that nothing refers to it."""
        path = self._path(file.kind, file.sha256)
        for each in (path, _signature_path(path)):
            if self._filesystem.exists(each):
                self._filesystem.rm_file(each)
        # Left by processes that died while they wrote the file; nobody may be writing it now.
        if unfinished and isinstance(self._filesystem, LocalFileSystem):
            for left in Path(path).parent.glob(f".{file.sha256}.*"):
                left.unlink(missing_ok=True)

    def _path(self, kind: Kind, sha256: str) -> str:
        return f"{self._root}/{kind}/{sha256[:2]}/{sha256}"

    def _sign(self, key: bytes, sha256: str) -> bytes:
        return hmac.new(key, sha256.encode(), "sha256").hexdigest().encode()

    def _read(self, path: str, missing: str) -> bytes:
        try:
            return bytes(self._filesystem.cat_file(path))
        except FileNotFoundError:
            raise ArtifactError(missing) from None

    def _write(self, path: str, content: bytes) -> None:
        try:
            if isinstance(self._filesystem, LocalFileSystem):
                _write_durably(Path(path), content)
            else:
                self._filesystem.pipe_file(path, content)  # an object appears whole or not at all
        except OSError as error:
            if is_full(error):
                raise full(error) from error
            raise


def _signature_path(path: str) -> str:
    return f"{path}.hmac"


def _write_durably(path: Path, content: bytes) -> None:
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "wb", opener=opener) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # the row that names the file must not outlive it in a power failure
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    for folder in path.parents[:3]:  # each of the three may be new
        _make_names_durable(folder)


def _make_names_durable(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # the file system cannot sync folders
            raise
    finally:
        os.close(descriptor)
