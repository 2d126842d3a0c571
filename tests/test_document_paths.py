"""Files that the documents name in backticks exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
NAMED = re.compile(r"`([\w.]+(?:/[\w.]+)+\.(?:py|md|json|csv|toml|yml|c|html|js))`")
MADE = ("docs/_build/", "build/")  # by a command that the text gives


def _exists(name: str) -> bool:
    """Whether a file has this path in the repository, or below one of its packages."""
    return (ROOT / name).exists() or any(
        next((ROOT / package).rglob(name), None) is not None for package in ("autoprog", "api")
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_named_files_exist(page: Path) -> None:
    names = {name for name in NAMED.findall(page.read_text()) if not name.startswith(MADE)}
    assert [name for name in sorted(names) if not _exists(name)] == []


def test_architecture_names_files() -> None:
    assert len(NAMED.findall((ROOT / "docs" / "architecture.md").read_text())) > 20
