"""A release says the same everywhere: changelog, citation, and what is built without Git."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def released() -> tuple[str, str]:
    """Number and date of the newest release, as the changelog has them."""
    found = re.search(
        r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert found is not None
    return found[1], found[2]


def test_citation_names_the_newest_release(released: tuple[str, str]) -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["date-released"]) == released


def test_a_build_without_git_is_called_by_the_newest_release(released: tuple[str, str], tmp_path: Path) -> None:
    for name in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"][
        "include"
    ]:
        place = ROOT / name.lstrip("/")
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(place, tmp_path / place.name, ignore=ignored) if place.is_dir() else shutil.copy(
            place, tmp_path
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    command = [sys.executable, "-m", "hatchling", "version"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert built.stdout.strip() == released[0]
