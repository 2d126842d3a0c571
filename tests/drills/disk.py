"""A small disk of its own for the data of an installation, which can be filled to its last byte. Needs root."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MIB = 512
_REFILL_S = 0.2


class Disk:
    """A file system in memory, mounted at a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self._folder = folder
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_MIB}m,mode=700", "tmpfs", str(folder)]
        subprocess.run(mount, check=True, capture_output=True)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Leave no byte free during the block, also of what others free meanwhile."""
        ballast, ended = self._folder / "ballast", threading.Event()

        def fill() -> None:
            with ballast.open("wb", buffering=0) as file:
                while not ended.wait(_REFILL_S):
                    with suppress(OSError):
                        while not ended.is_set():
                            file.write(bytes(4096))

        filling = threading.Thread(target=fill)
        filling.start()
        try:
            yield
        finally:
            ended.set()
            filling.join()
            ballast.unlink()

    def close(self) -> None:
        """Remove it; its processes must have ended."""
        subprocess.run(["umount", "-l", str(self._folder)], check=True, capture_output=True)
