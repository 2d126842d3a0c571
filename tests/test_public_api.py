"""The public Python API is what was agreed on: a change of it is meant, and written down."""

from __future__ import annotations

import difflib
from importlib import import_module

import pytest

from tools.public_api import PUBLIC, SURFACE, entries_of, surface


def test_public_api_changes_only_on_purpose() -> None:
    kept, found = SURFACE.read_text(), surface()
    changes = difflib.unified_diff(kept.splitlines(), found.splitlines(), "agreed on", "found", n=0, lineterm="")
    told = "if this is meant, run `python -m tools.public_api` and tell of it in CHANGELOG.md:"
    assert kept == found, "\n".join([told, *changes])


@pytest.mark.parametrize("path", PUBLIC)
def test_public_names_can_be_imported_and_are_documented(path: str) -> None:
    module, entries = import_module(path), entries_of(path)
    assert entries
    assert [name for name in entries if not hasattr(module, name)] == []
    assert [name for name, entry in entries.items() if entry.docstring is None] == []
