"""Locks of what the image installs, with the digest of every file that may be installed, in the folder `locks`.

python -m tools.image_locks UV       write them anew from pyproject.toml, with the program `uv`

Versions are those of requirements.lock. `image.txt` has what `autoprog` needs on Linux with the Python of the
Dockerfile, but torch, which is in two: `torch-cpu.txt`, and `torch.txt` with the CUDA libraries that the default build
needs. `build.txt` has what makes the wheel. pip accepts nothing else (`--require-hashes`).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"
EXTRAS = ("search", "server", "distributed", "files", "plots", "report")
_MACHINES = ("x86_64", "aarch64")
_TORCH = re.compile(r"(torch|cuda|nvidia|triton)\b")
# The index of CPU builds is another than uv asks: these are its wheels for the Dockerfile's Python.
_CPU_BUILDS: Mapping[str, tuple[str, ...]] = {
    "2.13.0": (
        "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",  # x86-64
        "84453b69508ec79902f899c5ed9495acb9e2bbe9fda5f1d5d6f19e3c3842e1a7",  # aarch64
    ),
}


class Pin(NamedTuple):
    """A version, and the digests of its files."""

    requirement: Requirement
    digests: tuple[str, ...]

    @property
    def version(self) -> str:
        """The only version that is allowed."""
        return str(self.requirement.specifier).removeprefix("==")

    def render(self) -> str:
        """The pin as pip reads it."""
        return " \\\n    ".join([str(self.requirement), *(f"--hash=sha256:{digest}" for digest in self.digests)])


def read_pins(text: str) -> Iterator[Pin]:
    """Read a lock; raises ValueError at a line without version or digest."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if not line.strip():
            continue
        requirement, *digests = (part.strip() for part in line.split("--hash=sha256:"))
        pin = Pin(Requirement(requirement), tuple(digests))
        if not re.fullmatch(r"==[^*,]+", str(pin.requirement.specifier)) or not digests:
            msg = f"no version or no digest: {requirement}"
            raise ValueError(msg)
        yield pin


def image_python() -> str:
    """The Python of the Dockerfile, as 3.11."""
    (found,) = set(re.findall(r"^FROM python:(\d+\.\d+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    return str(found)


def needed() -> list[str]:
    """What `autoprog` needs in the image."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in EXTRAS for line in project["optional-dependencies"][extra])]
    return [line for line in lines if canonicalize_name(Requirement(line).name) != "autoprog"]


def for_image(requirement: Requirement) -> bool:
    """Whether a requirement counts in the image on one of the machines that it is made for."""
    full = f"{image_python()}.99"
    environments = (
        {"python_version": image_python(), "python_full_version": full, "sys_platform": "linux",
         "platform_system": "Linux", "platform_machine": machine, "platform_python_implementation": "CPython"}
        for machine in _MACHINES
    )  # fmt: skip
    return requirement.marker is None or any(requirement.marker.evaluate(each) for each in environments)


def _resolve(uv: str, lines: list[str]) -> list[Pin]:
    with tempfile.TemporaryDirectory() as folder:
        asked, locked = Path(folder) / "asked.txt", Path(folder) / "locked.txt"
        asked.write_text("\n".join(lines) + "\n")
        command = [
            uv, "pip", "compile", "--quiet", "--universal", "--python-version", image_python(), "--generate-hashes",
            "--no-header", "--no-annotate", "--constraint", str(ROOT / "requirements.lock"), str(asked),
            "--output-file", str(locked),
        ]  # fmt: skip
        subprocess.run(command, check=True, cwd=folder)  # noqa: S603  written here
        return [pin for pin in read_pins(locked.read_text()) if for_image(pin.requirement)]


def _cpu_build(torch: Pin) -> Pin:
    """The CPU build of a version of torch; raises KeyError if its digest is unknown."""
    return Pin(Requirement(f"torch=={torch.version}+cpu"), _CPU_BUILDS[torch.version])


def main() -> None:
    """Write the locks."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pins = _resolve(sys.argv[1], needed())
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    files = {
        "image": [pin for pin in pins if not _TORCH.match(pin.requirement.name)],
        "torch": [pin for pin in pins if _TORCH.match(pin.requirement.name)],
        "torch-cpu": [_cpu_build(pin) for pin in pins if pin.requirement.name == "torch"],
        "build": _resolve(sys.argv[1], build),
    }
    LOCKS.mkdir(exist_ok=True)
    for name, found in files.items():
        (LOCKS / f"{name}.txt").write_text("".join(f"{pin.render()}\n" for pin in found))
        print(f"locks/{name}.txt: {len(found)} packages")


if __name__ == "__main__":
    main()
