"""Installed size of each extra, for the README.

python -m tools.installed_sizes       install each extra in a fresh environment, then write the table into README.md

Versions are those of requirements.lock, so torch is its CPU build only where pip finds that. A size counts the files
below the environment's site-packages, byte code included, less those of pip itself.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TABLE = re.compile(r"(?<=<!-- installed sizes -->\n).*?(?=<!-- end of installed sizes -->)", re.DOTALL)
NOT_FOR_USERS = frozenset({"dev", "bench", "docs"})
_MB = 1e6


def list_installations() -> list[str]:
    """What a user may install in this source tree: the package alone, then with each extra."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return [".", *(f".[{extra}]" for extra in extras if extra not in NOT_FOR_USERS)]


def measure(requirement: str) -> float:
    """Size of an installation of `list_installations` with its dependencies, in MB."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        _run(sys.executable, "-m", "venv", environment)
        (packages,) = environment.glob("lib/python*/site-packages")
        before = _count_bytes(packages)
        pip: list[str | Path] = [
            environment / "bin" / "python",
            "-m",
            "pip",
            "install",
            "-qq",
            "--disable-pip-version-check",
        ]
        _run(*pip, "-c", ROOT / "requirements.lock", requirement)
        return (_count_bytes(packages) - before) / _MB


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, cwd=ROOT)  # noqa: S603  pip and venv


def _count_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def render_table(sizes: dict[str, float]) -> str:
    """Markdown table of sizes in MB."""
    lines = [f"| `pip install {shlex.quote(place)}` | {_round(size):,} MB |" for place, size in sizes.items()]
    return "\n".join(["| | installed |", "| --- | ---: |", *lines, ""])


def _round(size: float) -> int:
    """Two significant digits."""
    return int(float(f"{size:.2g}"))


def main() -> None:
    """Measure every installation and write the table."""
    sizes: dict[str, float] = {}
    for requirement in list_installations():
        sizes[requirement] = measure(requirement)
        sys.stderr.write(f"{requirement}: {sizes[requirement]:.1f} MB\n")
    README.write_text(TABLE.sub(lambda _: render_table(sizes), README.read_text()))


if __name__ == "__main__":
    main()
