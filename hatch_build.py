"""Compiles `autoprog/diagnosis/kernel.c` into the wheel; without a C compiler the wheel is pure Python.

python hatch_build.py builds the library into the source tree, which `pip install -e .` does too.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zlib
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # run by hand, where nothing is built but the library
    BuildHookInterface = object

FOLDER = Path("autoprog/diagnosis")
LIBRARY = FOLDER / f"libkernel{ {'win32': '.dll', 'darwin': '.dylib'}.get(sys.platform, '.so') }"
FLAGS = ("-O3", "-std=gnu11", "-fPIC", "-shared", "-fvisibility=hidden", "-Wno-psabi", "-fno-math-errno",
         "-fno-trapping-math")  # fmt: skip


def compiler() -> list[str] | None:
    """The command of $CC, or the system's compiler; None where there is none."""
    named = shlex.split(os.environ.get("CC", ""))
    found = named or [name for name in ("cc", "gcc", "clang") if shutil.which(name)][:1]
    return found if found and shutil.which(found[0]) else None


def compile_kernel(source: Path, library: Path) -> bool:
    """Compile the kernel; False where there is no compiler."""
    command = compiler()
    if command is None:
        return False
    crc = zlib.crc32(source.read_bytes())
    part = library.with_name(f"{library.name}.{os.getpid()}")
    subprocess.run([*command, *FLAGS, f"-DSOURCE_CRC={crc}u", "-o", part, source], check=True)
    part.replace(library)
    return True


def build_library(root: Path) -> bool:
    """Compile the kernel beside its source; where that cannot be, leave no older one there."""
    (root / LIBRARY).unlink(missing_ok=True)
    return compile_kernel(root / FOLDER / "kernel.c", root / LIBRARY)


class KernelBuildHook(BuildHookInterface):
    """Adds the library to a wheel, whose tag then names the platform and any Python 3."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, or say what is missing."""
        if not build_library(Path(self.root)):
            self.app.display_warning(
                "no C compiler: trees of a diagnosis will be grown by NumPy, ten times slower or more"
            )
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        build_data["artifacts"].append(f"/{LIBRARY.as_posix()}")


if __name__ == "__main__":
    print(LIBRARY if build_library(Path(__file__).parent) else "no C compiler")
