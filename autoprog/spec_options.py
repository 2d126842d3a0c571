"""A cohort's description by options of the command line, without JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoprog.cohort import ColumnDescription, FileDescription, canonical_text, describe_file
from autoprog.cohort.columns import NO, guess_censored, guess_outcome, guess_positive
from autoprog.cohort.table import ReadLimits
from autoprog.errors import Fault, InvalidInputError

_NO_LIMITS = ReadLimits()
_MAX_SUGGESTIONS = 3
_MAX_LEVELS = 6


@dataclass(frozen=True, slots=True)
class SpecOptions:
    """Values of the options; None or empty for those that were not given."""

    outcome: str | None = None
    positive: str | None = None
    time: str | None = None
    since: str | None = None
    unit: str | None = None
    event: str | None = None
    cause: str | None = None
    competing: tuple[str, ...] = ()
    censored: str | None = None
    horizons: tuple[float, ...] = ()
    patient: str | None = None
    visit_time: str | None = None
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    name: str | None = None
    sheet: str | None = None

    @property
    def are_given(self) -> bool:
        """Whether any option says what columns mean."""
        return self != SpecOptions(sheet=self.sheet)


def build_spec(options: SpecOptions, file: Path) -> dict[str, Any]:
    """Return the document of a `CohortSpec`; raises InvalidInputError with every fault of the options."""
    faults = list(_find_faults(options))
    if faults:
        raise InvalidInputError(faults)
    spec: dict[str, Any] = {"name": options.name or file.name.split(".")[0]}
    outcome = _binary(options, file) if options.time is None else _times(options, file)
    if options.visit_time is not None:
        visits = {"patient": options.patient, "visit_time": options.visit_time, "horizon": options.horizons[0]}
        spec |= {"mode": "temporal", "outcome": outcome | visits}
    elif options.time is not None:
        horizons = {"horizons": list(options.horizons)} if options.horizons else {}
        spec |= {"mode": "survival", "outcome": outcome | horizons}
    else:
        spec["outcome"] = outcome
    if options.patient is not None and options.visit_time is None:
        spec["groups"] = options.patient
    if options.sheet is not None:
        spec["sheet"] = options.sheet
    if options.ignore:
        spec["ignore"] = list(options.ignore)
    if options.missing:
        spec["na_values"] = list(options.missing)
    if options.categorical:
        spec["features"] = {name: {"kind": "categorical"} for name in options.categorical}
    return spec


def suggest(file: Path, sheet: str | None = None) -> list[str]:
    """Return lines that say how to name the outcome of a file: its likeliest columns, and the command to type."""
    described = describe_file(file, _NO_LIMITS, sheet=sheet)
    if described.faults:
        raise InvalidInputError(described.faults)
    lines = [
        f"{file} has {described.n_rows:,} rows and {len(described.columns):,} columns: say which one is the outcome"
    ]
    commands = list(_commands(described, file))
    if not commands:
        lines.append("no column looks like one: an outcome has a few different values, such as 0 and 1")
        commands = [f"autoprog search {shlex.quote(str(file))} --outcome COLUMN --positive VALUE --out result"]
    return [*lines, "for example:", *(f"  {command}" for command in commands)]


def _find_faults(options: SpecOptions) -> Iterator[Fault]:
    if (options.outcome is None) == (options.time is None):
        yield Fault("--outcome, --time", "give either --outcome, or --time and --event")
    if (options.time is None) != (options.event is None):
        yield Fault("--event", "goes with --time: the columns of times and of event codes")
    if options.outcome is None and options.positive is not None:
        yield Fault("--positive", "goes with --outcome")
    for name in ("cause", "competing", "censored", "since"):
        if options.time is None and getattr(options, name):
            yield Fault(f"--{name}", "goes with --time and --event")
    if options.unit is not None and options.since is None:
        yield Fault("--unit", "goes with --since: the unit of the time between two dates")
    if options.since is not None and options.visit_time is not None:
        yield Fault("--since", "does not go with --visit-time: times of visits are numbers")
    if options.visit_time is not None and (options.patient is None or len(options.horizons) != 1):
        yield Fault("--visit-time", "needs --patient-id and one --horizon: how far after a visit to predict")
    if options.horizons and options.time is None and options.visit_time is None:
        yield Fault("--horizon", "goes with --time and --event")


def _binary(options: SpecOptions, file: Path) -> dict[str, Any]:
    assert options.outcome is not None, "checked"  # noqa: S101
    positive = options.positive
    if positive is None:
        column = _column(file, options, options.outcome, "--outcome")
        positive = guess_positive(column.levels)
        if positive is None or not _denies(column.levels):
            raise InvalidInputError([Fault("--positive", f"say who had the outcome: {_list(column)}")])
    return {"column": options.outcome, "positive": positive}


def _times(options: SpecOptions, file: Path) -> dict[str, Any]:
    assert options.event is not None, "checked"  # noqa: S101
    time: str | dict[str, str | None] | None = options.time
    if options.since is not None:
        time = {"from": options.since, "to": options.time, "unit": options.unit or "days"}
    outcome: dict[str, Any] = {"time": time, "event": options.event}
    censored = options.censored
    if censored is None:
        column = _column(file, options, options.event, "--event")
        censored = guess_censored(column.levels)
        if censored is None or not _denies(column.levels):
            text = f"say which value means that follow-up ended without an event: {_list(column)}"
            raise InvalidInputError([Fault("--censored", text)])
    outcome["censored"] = censored
    cause = options.cause if options.cause is not None else _cause(options, file, censored)
    if cause is not None:
        outcome["event_of_interest"] = cause
    if options.competing:
        outcome["competing"] = list(options.competing)
    return outcome


def _cause(options: SpecOptions, file: Path, censored: str) -> str | None:
    """The only event that is left; None for 1 beside 0, which needs no name, and if none is."""
    assert options.event is not None, "checked"  # noqa: S101
    column = _column(file, options, options.event, "--event")
    named = set(map(canonical_text, (censored, *options.competing)))
    left = [value for value, _ in column.levels if value not in named]
    if len(left) > 1 or column.n_values > len(column.levels):
        text = f"say which event is predicted, and by --competing which others may come before it: {_list(column)}"
        raise InvalidInputError([Fault("--cause", text)])
    return left[0] if left and (left, canonical_text(censored)) != (["1"], "0") else None


def _column(file: Path, options: SpecOptions, name: str, option: str) -> ColumnDescription:
    """Describe a column; raises InvalidInputError if there is no such one."""
    described = describe_file(file, _NO_LIMITS, list(map(canonical_text, options.missing)), options.sheet)
    if described.faults:
        raise InvalidInputError(described.faults)
    found = next((each for each in described.columns if each.name == name), None)
    if found is None:
        names = ", ".join(each.name for each in described.columns[:20])
        raise InvalidInputError([Fault(option, f"there is no column {name!r}; the first columns are {names}")])
    return found


def _denies(levels: Sequence[tuple[str, int]]) -> bool:
    """Check whether one value says by itself that there was no outcome, as 0 and "no" do, but not 1 beside 2."""
    return any(value.casefold() in NO for value, _ in levels)


def _list(column: ColumnDescription) -> str:
    shown = ", ".join(f"{value} ({n:,} rows)" for value, n in column.levels[:_MAX_LEVELS])
    more = " and others" if column.n_values > min(len(column.levels), _MAX_LEVELS) else ""
    return f"{column.name} has {column.n_values:,} values" + (f", {shown}{more}" if shown else "")


def _commands(described: FileDescription, file: Path) -> Iterator[str]:
    start = f"autoprog search {shlex.quote(str(file))}"
    guess = guess_outcome(described.columns)
    columns = {each.name: each for each in described.columns}
    if guess.time is not None and guess.event is not None:
        named = " ".join(f"{option} {shlex.quote(value)}" for option, value in _events(columns[guess.event]))
        yield f"{start} --time {shlex.quote(guess.time)} --event {shlex.quote(guess.event)} {named} --out result"
    likely = [guess.column] if guess.column is not None else []
    likely += [name for name, each in columns.items() if each.n_values == 2 and name not in likely]
    for name in likely[:_MAX_SUGGESTIONS]:
        positive = guess_positive(columns[name].levels) or columns[name].levels[-1][0]
        yield f"{start} --outcome {shlex.quote(name)} --positive {shlex.quote(positive)} --out result"


def _events(column: ColumnDescription) -> Iterator[tuple[str, str]]:
    """Options that give every value of an event column a meaning, as guessed."""
    censored = guess_censored(column.levels)
    yield "--censored", str(censored)
    events = [value for value, _ in column.levels if value != censored]
    yield from zip(("--cause", *["--competing"] * len(events)), events, strict=False)


def to_json(spec: dict[str, Any]) -> bytes:
    """Return a spec as the API takes it."""
    return json.dumps(spec).encode()
