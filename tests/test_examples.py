"""The notebooks: `make docs` executes them; here, what it would not notice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def test_every_notebook_has_its_place_in_the_documentation() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    assert NOTEBOOKS
    assert [path.stem for path in NOTEBOOKS if f"examples/{path.stem}" not in index] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_what_they_printed(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    assert [cell["id"] for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []
