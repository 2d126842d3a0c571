"""Faults in Python's words: the argument, column or setting that is meant, for the JSON pointers of the REST API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from autoprog.errors import Fault, InvalidInputError

# Advice that a file's spec could follow, and what can be done in Python.
_ADVICE = (
    ("; declare it in features to keep it", ""),
    ("declare it in features as kind 'date', relative_to the column of an index date, to use the time between them",
     "give the time since another date to use it"),
    ("correct them, name them in na_values, or declare the column categorical", "correct them or set them to None"),
    ("name it in na_values", "set it to None"),
    ("name it in groups if they are patients", "give it as groups if they are patients"),
    ("name it in ignore to leave it out", "drop the column to leave it out"),
)  # fmt: skip
_PARAMETERS = {("metric",): "metric", ("budget", "time_s"): "time_budget_s", ("seed",): "random_state"}


class InvalidArgumentsError(InvalidInputError):
    """The data or the settings cannot be used; names the arguments and columns. `faults` has each by itself."""

    def __init__(self, faults: Sequence[Fault], roles: Mapping[str, str]) -> None:
        super().__init__(faults)
        self.args = ("; ".join(f"{_place(fault.pointer, roles)}: {advise(fault.detail)}" for fault in faults),)


@contextmanager
def python_words(roles: Mapping[str, str] | None = None) -> Iterator[None]:
    """Translate the faults that the block raises; `roles` names the arguments behind columns that `fit` has added."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidArgumentsError(error.faults, roles or {}) from None


def advise(text: str) -> str:
    """A fault or warning of reading, with advice that can be followed in Python."""
    for of_file, in_python in _ADVICE:
        text = text.replace(of_file, in_python)
    return text


def settings_error(error: ValidationError) -> ValueError:
    """The faults of settings, as an error to raise."""
    faults = (f"{_setting(fault['loc'])}: {fault['msg']}" for fault in error.errors())
    return ValueError(f"settings that cannot be used: {'; '.join(faults)}")


def _place(pointer: str, roles: Mapping[str, str]) -> str:
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    match steps:
        case ["file", "columns", name, *_] | ["spec", "features", name, *_]:
            place = roles.get(name, f"column {name!r}")
        case ["patients", row, name, *_]:
            place = f"row {row}, column {name!r}"
        case ["spec", "outcome", "horizons", *_]:
            place = "horizons"
        case ["spec", "outcome", *_]:
            place = "y"
        case ["spec", "groups", *_]:
            place = "groups"
        case ["spec", "weights", *_]:
            place = "sample_weight"
        case ["file" | "spec" | "patients", *_]:
            place = "X"
        case _:
            place = _setting([int(step) if step.isdigit() else step for step in steps])
    return place


def _setting(steps: Sequence[Any]) -> str:
    known = next((name for path, name in _PARAMETERS.items() if tuple(steps[: len(path)]) == path), None)
    return known or "settings" + "".join(f"[{step!r}]" for step in steps)
