"""The public Python API: its names, and how they are called.

    python -m tools.public_api       write tests/public_api.txt anew

What `PUBLIC` lists keeps its signature within a minor version: a test compares it with the file, and the documentation
site has a page for each name. Everything else may change at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe

ROOT = Path(__file__).parents[1]
SURFACE = ROOT / "tests" / "public_api.txt"

# Public names by module; an empty tuple stands for the module's `__all__`.
PUBLIC: dict[str, tuple[str, ...]] = {
    "autoprog": (),
    "autoprog.client": (
        "Cohort",
        "Search",
        "Model",
        "Validation",
        "Frontier",
        "Catalogue",
        "SelectionProblem",
        "SelectionRound",
        "DiagnosisModel",
        "DiagnosisSession",
    ),
    "autoprog.model": ("PrognosticModel", "PatientRisk", "HorizonRisk"),
    "autoprog.errors": ("AutoprogError", "InvalidInputError", "Fault", "SearchFailedError", "ArtifactError"),
    "autoprog.survival": (),
    "autoprog.space": ("register", "Algorithm", "Choice", "Float", "Integer", "Cost", "Input", "TableShape"),
}

Entry = griffe.Object | griffe.Alias


def surface() -> str:
    """Signatures of all public names, one per line.

    Returns
    -------
    str
        In the order of `PUBLIC`. A class is followed by its constructor and its public members.
    """
    found = ((f"{path}.{name}", entry) for path in PUBLIC for name, entry in entries_of(path).items())
    return "".join(f"{line}\n" for path, entry in found for line in _lines(path, entry))


def entries_of(path: str) -> dict[str, Entry]:
    """Public names of a module and what they stand for, read from the source without an import."""
    module = _package() if path == "autoprog" else _package()[path.removeprefix("autoprog.")]
    found = {name: module[name] for name in PUBLIC[path] or sorted(map(str, module.exports or ()))}
    # A module and its function may share a name: importing the package gives the function.
    return {name: entry[name] if entry.is_module else entry for name, entry in found.items()}


@cache
def _package() -> Entry:
    return griffe.load("autoprog", search_paths=[str(ROOT)], allow_inspection=False)


def _lines(path: str, entry: Entry) -> Iterator[str]:
    if entry.is_class:
        yield f"class {path}({', '.join(map(str, entry.bases))})"
        for name, member in sorted(entry.all_members.items()):
            if name == "__init__" or not name.startswith("_"):
                yield from _lines(f"{path}.{name}", member)
        for name, annotation in _documented_attributes(entry):
            if name not in entry.all_members:
                yield f"{path}.{name}: {annotation}"
    elif entry.is_function:
        yield entry.signature(return_type=True, name=path)
    else:
        yield path if entry.annotation is None else f"{path}: {entry.annotation}"


def _documented_attributes(entry: Entry) -> Iterator[tuple[str, str]]:
    """Of a class: those that `fit` sets are known from the docstring alone."""
    for section in entry.docstring.parse("numpy") if entry.docstring else ():
        if section.kind is griffe.DocstringSectionKind.attributes:
            yield from ((attribute.name, str(attribute.annotation)) for attribute in section.value)


if __name__ == "__main__":
    SURFACE.write_text(surface())
