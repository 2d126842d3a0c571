"""JSON without repeated keys: of two values, Python's own reader silently takes the last."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from autoprog.errors import Fault, InvalidInputError

_MAX_FAULTS = 100


def load_strictly(text: str | bytes, place: str = "", **options: Callable[[str], object]) -> object:
    """Parse JSON; raises ValueError, RecursionError if nested too deeply, InvalidInputError if keys are repeated."""
    repeated: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            times = Counter(name for name, _ in pairs)
            repeated[id(found)] = found, [name for name in found if times[name] > 1]
        return found

    document: object = json.loads(text, object_pairs_hook=build_object, **options)  # type: ignore[arg-type]
    if repeated:
        raise InvalidInputError(_faults(document, place, {i: names for i, (_, names) in repeated.items()}))
    return document


def _faults(document: object, place: str, repeated: Mapping[int, list[str]]) -> list[Fault]:
    """Return a fault for each repeated key; an object that a later value replaced has no place of its own."""
    faults: list[Fault] = []
    left = [(place, document)]
    while left:
        here, value = left.pop()
        if isinstance(value, dict):
            names = repeated.get(id(value), ())
            faults += [Fault(f"{here}/{_step(name)}", "the key stands more than once in this object") for name in names]
            left += [(f"{here}/{_step(name)}", item) for name, item in reversed(value.items())]
        elif isinstance(value, list):
            left += [(f"{here}/{i}", item) for i, item in reversed(list(enumerate(value)))]
    return faults[:_MAX_FAULTS] or [Fault(place, "a key stands more than once in an object")]


def _step(name: str) -> str:
    """Escape one step of a pointer, replacing halves of surrogate pairs, which no response can hold."""
    return name.encode("utf-8", "replace").decode("utf-8").replace("~", "~0").replace("/", "~1")
