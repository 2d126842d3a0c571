"""An object store as fsspec sees one, for tests: whole objects by URL, no folders, no renaming.

A plug-in: importing it registers the protocol. The objects lie in a folder, so that other processes find them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import fsspec

PROTOCOL = "ward7"


class ObjectStore(fsspec.AbstractFileSystem):
    protocol = PROTOCOL
    cachable = False

    def _open(self, path: str, mode: str = "rb", **_: Any) -> BinaryIO:
        if mode == "wb":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        return Path(path).open(mode)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        return {"name": path, "size": Path(path).stat().st_size, "type": "file"}

    def rm_file(self, path: str) -> None:
        Path(self._strip_protocol(path)).unlink()


fsspec.register_implementation(PROTOCOL, ObjectStore, clobber=True)
