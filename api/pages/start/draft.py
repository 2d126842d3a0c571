"""The form between a file and its search: what was guessed, what was typed, and the spec that follows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.pages.advice import put_plainly
from api.pages.forms import SentForm
from api.pages.numbers import GroupedNumberError, TypedNumbers
from autoprog.cohort import (
    ColumnDescription,
    FileDescription,
    canonical_text,
    guess_censored,
    guess_outcome,
    guess_positive,
)
from autoprog.cohort.dates import DAYS_IN, FollowUpDates
from autoprog.cohort.messages import split_pointer
from autoprog.errors import Fault


@dataclass(frozen=True)
class ModeFields:
    """The fields of the form that one mode has."""

    events: tuple[str, ...] = ()  # choices of `visit_outcome` by which the outcome is a time to an event
    takes_dates: bool = False
    visits: tuple[str, ...] = ()  # the columns of visits, the patient first
    horizons: str = ""  # the field of the horizons


MODES = {
    "classification": ModeFields(),
    "survival": ModeFields(("label", "event"), takes_dates=True, horizons="horizons"),
    "temporal": ModeFields(("event",), visits=("patient", "visit_time"), horizons="horizon"),
}
MINUTES = (1, 5, 15)
LEAVE_OUT, IDENTIFIER = "leave_out", "identifier"
SINCE = {"days": "since-", "years": "years-since-"}  # and the number of the column with the index date
INTEREST, COMPETING, CENSORED, UNKNOWN = "interest", "competing", "censored", "unknown"
MAX_EVENT_CODES = 12
MAX_EVALUATIONS = 1_000

Text = Callable[[str], str]


class Errors(dict[str, list[str]]):
    """Faults by field; none for all other fields."""

    def __missing__(self, key: str) -> list[str]:
        """Return no faults."""
        return []


@dataclass
class Draft:
    """All values of the form."""

    key: str  # of the file's columns: a choice made for another file does not count
    name: str
    proposed_name: str  # of the file; what was typed in its place stays
    mode: str
    column: str
    positive: str
    time: str  # a column of numbers or, in survival mode, of dates
    since: str  # the column of dates from which those of `time` count
    unit: str  # of the time between two dates
    event: str
    roles: dict[str, str]  # of the event column's values
    label: str  # what the outcome is called
    time_unit: str  # of times that are numbers
    horizons: str
    proposed: str  # the horizons that were proposed
    patient: str
    visit_time: str
    visit_outcome: str  # label or event
    horizon: str
    kinds: dict[str, str]  # by column
    units: dict[str, str]
    na_values: list[str]
    sheet: str
    time_s: str
    dates: tuple[str, ...]  # columns of dates
    errors: Errors = field(default_factory=Errors)

    @property
    def fields(self) -> ModeFields:
        """The fields of the mode."""
        return MODES[self.mode]

    @property
    def has_event(self) -> bool:
        """Whether the outcome is a time to an event."""
        return self.visit_outcome in self.fields.events

    @property
    def outcome_columns(self) -> dict[str, str]:
        """Columns of the outcome by the form's field."""
        names = {"time": self.time, "event": self.event} if self.has_event else {"column": self.column}
        if self.has_dates:
            names["since"] = self.since
        return names | {key: getattr(self, key) for key in self.fields.visits}

    @property
    def identifiers(self) -> list[str]:
        """Columns by which a patient can be erased; of visits, that of the patient."""
        taken = self.outcome_columns.values()
        named = [name for name, kind in self.kinds.items() if kind == IDENTIFIER and name not in taken]
        return [getattr(self, key) for key in self.fields.visits[:1]] or named

    @property
    def has_dates(self) -> bool:
        """Whether two dates give the follow-up."""
        return self.fields.takes_dates and self.time in self.dates

    @property
    def follow_up(self) -> str | FollowUpDates:
        """The column of the time, or the two dates that make it."""
        if not (self.has_dates and self.since):
            return self.time
        return FollowUpDates.model_validate({"from": self.since, "to": self.time, "unit": self.unit})

    def add_error(self, key: str, text: str) -> None:
        """Note a fault beside its field."""
        texts = self.errors.setdefault(key, [])
        if text not in texts:
            texts.append(text)


def make_draft(form: SentForm, file: FileDescription, default_name: str, numbers: TypedNumbers) -> Draft:
    """Fill in the form: what was sent, and guesses for the rest."""
    key = hashlib.sha256("\n".join(column.name for column in file.columns).encode()).hexdigest()[:16]
    sent = form if form.get("key") == key else SentForm()
    guess = guess_outcome(file.columns)
    by_name = {column.name: column for column in file.columns}

    def chosen(name: str, guessed: str | None) -> str:
        value = sent.get(name, guessed or "")
        return value if value in by_name else ""

    column, event = chosen("column", guess.column), chosen("event", guess.event)
    dates = tuple(c.name for c in file.columns if "date" in c.remarks)
    time = chosen("time", guess.time)
    since = chosen("since", next((name for name in dates if name != time), None))
    draft = Draft(
        key=key,
        name=default_name if sent.get("name") == sent.get("proposed_name") else sent.get("name"),
        proposed_name=default_name,
        mode=_one_of(sent.get("mode", guess.mode), tuple(MODES)),
        column=column,
        positive=_positive(sent, by_name.get(column)),
        time=time,
        since=since if since in dates and since != time else "",
        unit=_one_of(sent.get("unit"), tuple(DAYS_IN)),
        event=event,
        roles=_roles(sent, by_name.get(event)),
        label=sent.get("label").strip(),
        time_unit=sent.get("time_unit").strip(),
        horizons="",
        proposed="",
        patient=chosen("patient", guess.patient),
        visit_time=chosen("visit_time", guess.visit_time),
        visit_outcome=_one_of(sent.get("visit_outcome", "event" if guess.event else "label"), ("label", "event")),
        horizon=sent.get("horizon"),
        kinds={c.name: sent.get(f"kind-{i}") or default_kind(c) for i, c in enumerate(file.columns)},
        units={c.name: sent.get(f"unit-{i}") for i, c in enumerate(file.columns)},
        na_values=[canonical_text(value) for value in sent.all("na_value") if value.strip()],
        sheet=form.get("sheet") if form.get("sheet") in file.sheets else next(iter(file.sheets), ""),
        time_s=sent.get("time_s", str(60 * MINUTES[0])),
        dates=dates,
    )
    _propose_horizons(draft, sent, file, numbers)
    return draft


def default_kind(column: ColumnDescription) -> str:
    """Return the choice that stands unless another is made."""
    return LEAVE_OUT if column.is_left_out else column.kind


def _one_of(value: str, known: Sequence[str]) -> str:
    return value if value in known else known[0]


def _positive(sent: SentForm, column: ColumnDescription | None) -> str:
    if column is None or column.n_values != 2:
        return ""
    values = [value for value, _ in column.levels]
    # A value that was chosen for another column says nothing about this one.
    if sent.get("positive_of") == column.name and sent.get("positive") in values:
        return sent.get("positive")
    return guess_positive(column.levels) or ""


def _roles(sent: SentForm, column: ColumnDescription | None) -> dict[str, str]:
    if column is None or not 2 <= column.n_values == len(column.levels) <= MAX_EVENT_CODES:
        return {}
    values = [value for value, _ in column.levels]
    censored = guess_censored(column.levels)
    events = [value for value in values if value != censored]
    guessed = dict.fromkeys(events, COMPETING) | {str(censored): CENSORED, events[0]: INTEREST}
    if sent.get("roles_of") != column.name:
        return {value: guessed[value] for value in values}
    known = (INTEREST, COMPETING, CENSORED, UNKNOWN)
    return {value: _one_of(sent.get(f"role-{i}", guessed[value]), known) for i, value in enumerate(values)}


def _propose_horizons(draft: Draft, sent: SentForm, file: FileDescription, numbers: TypedNumbers) -> None:
    """Propose horizons; what was typed instead of the earlier proposal stays."""
    interest = next((value for value, role in draft.roles.items() if role == INTEREST), None)
    has_time = bool(draft.time) and (bool(draft.since) or not draft.has_dates)
    if draft.has_event and has_time and draft.event and interest is not None:
        proposed = file.propose_horizons(draft.follow_up, draft.event, interest)
        draft.proposed = "; ".join(numbers.write(h, 12) for h in proposed)
    typed = sent.get("horizons")
    draft.horizons = typed if typed and typed != sent.get("proposed") else draft.proposed
    if not draft.horizon and draft.proposed:
        draft.horizon = draft.proposed.split("; ")[0]


def build_spec(draft: Draft, file: FileDescription, numbers: TypedNumbers, text: Text) -> dict[str, Any] | None:
    """Return the spec as the REST API takes it; None if something is still to be chosen, which becomes an error."""
    columns = draft.outcome_columns
    missing = {
        "column": text("Choose the column that says who had the outcome."),
        "time": text("Choose the column with the time to the event or to the last contact."),
        "since": text("Choose the column with the date from which the time counts."),
        "event": text("Choose the column that says how the follow-up ended."),
        "patient": text("Choose the column that says which patient a visit belongs to."),
        "visit_time": text("Choose the column with the time of the visit."),
    }
    for key, name in columns.items():
        if not name:
            draft.add_error(key, missing[key])
    outcome: dict[str, Any] = dict(columns)
    if draft.has_dates:
        outcome["time"] = {"from": outcome.pop("since"), "to": draft.time, "unit": draft.unit}
    if draft.has_event:
        outcome |= _event_codes(draft, text)
    elif draft.column and not draft.positive:
        draft.add_error("column", text("The outcome needs a column with exactly two values."))
    else:
        outcome["positive"] = draft.positive
    outcome |= _horizons(draft, numbers, text)
    for name in draft.identifiers[1:]:
        place = [column.name for column in file.columns].index(name)
        draft.add_error(f"column-{place}", text("Another column identifies the patient already."))
    if draft.label:
        outcome["label"] = draft.label
    if draft.time_unit and draft.fields.horizons and not draft.has_dates:
        outcome["time_unit"] = draft.time_unit
    if draft.errors:
        return None
    features, ignore = _features(draft, file, set(columns.values()))
    unknown = [value for value, role in draft.roles.items() if draft.has_event and role == UNKNOWN]
    return {
        "name": draft.name or text("Cohort"),
        "mode": draft.mode,
        "outcome": outcome,
        "features": features,
        "ignore": ignore,
        **({"identifier": draft.identifiers[0]} if draft.identifiers else {}),
        **({"sheet": draft.sheet} if draft.sheet else {}),
        "na_values": [*draft.na_values, *(value for value in unknown if value not in draft.na_values)],
    }


def _event_codes(draft: Draft, text: Text) -> dict[str, Any]:
    if draft.event and not draft.roles:
        draft.add_error("event", text("Choose a column with 2 to 12 different values."))
        return {}
    by_role: dict[str, list[str]] = {}
    for value, role in draft.roles.items():
        by_role.setdefault(role, []).append(value)
    if draft.event and len(by_role.get(INTEREST, [])) != 1:
        draft.add_error("roles", text("Mark exactly one value as the event to predict."))
    if len(by_role.get(CENSORED, [])) > 1:
        draft.add_error("roles", text("Mark at most one value as “no event seen”."))
    # Without such a value everybody had an event; the code that no row has then stands for it.
    censored = by_role.get(CENSORED) or [next(v for v in ("0", "censored") if v not in draft.roles)]
    interest = by_role.get(INTEREST, [""])[0]
    return {"event_of_interest": interest, "competing": by_role.get(COMPETING, []), "censored": censored[0]}


def _horizons(draft: Draft, numbers: TypedNumbers, text: Text) -> dict[str, Any]:
    if not (key := draft.fields.horizons):
        return {}
    typed: str = getattr(draft, key)
    try:
        found = parse_numbers(typed, numbers)
    except GroupedNumberError as error:
        draft.add_error(key, str(error))
        return {}
    except ValueError:
        draft.add_error(key, text("Give numbers, separated by semicolons."))
        return {}
    if not draft.fields.visits:
        return {key: sorted(set(found))} if found else {}
    if len(found) != 1:
        draft.add_error(key, text("Give one number."))
        return {}
    return {key: found[0]}


def parse_numbers(typed: str, numbers: TypedNumbers) -> list[float]:
    """Read numbers separated by semicolons or blanks; raises ValueError.

    A comma without a blank separates numbers or is a decimal sign. So it is taken only where the language writes it.
    """
    parts = [part for part in re.split(r"[;\s]+|,\s+", typed.strip(" ;,")) if part]
    found = [numbers.parse(part) for part in parts]
    if any("," in part for part in parts) and numbers.decimal_sign != ",":
        raise ValueError(typed)
    return found


def _features(draft: Draft, file: FileDescription, taken: set[str]) -> tuple[dict[str, Any], list[str]]:
    features: dict[str, Any] = {}
    ignore: list[str] = []
    for column in file.columns:
        kind, unit = draft.kinds[column.name], draft.units[column.name]
        if column.name in taken:
            continue
        if column.name in draft.identifiers:
            continue
        if kind in {LEAVE_OUT, IDENTIFIER}:
            ignore.append(column.name)
            continue
        date_unit = next((name for name, mark in SINCE.items() if kind.startswith(mark)), None)
        if date_unit is not None:
            index = _column_at(kind.removeprefix(SINCE[date_unit]), file)
            features[column.name] = {"kind": "date", "relative_to": index, "unit": date_unit}
            continue
        declared = {} if kind == column.kind and not column.is_left_out else {"kind": kind}
        if unit:
            declared["unit"] = unit
        if declared:
            features[column.name] = declared
    return features, ignore


def _column_at(number: str, file: FileDescription) -> str:
    known = {str(i): column.name for i, column in enumerate(file.columns)}
    return known.get(number, number)


_PLACES = {
    "name": "name", "column": "column", "positive": "column", "time": "time", "event": "event",
    "event_of_interest": "roles", "competing": "roles", "censored": "roles", "horizons": "horizons", "sheet": "sheet",
    "label": "label", "time_unit": "time_unit",
    "horizon": "horizon", "patient": "patient", "visit_time": "visit_time",
}  # fmt: skip


def place_faults(draft: Draft, faults: Sequence[Fault], file: FileDescription) -> None:
    """Put the faults of the services beside the fields that they are about."""
    roles = {name: key for key, name in draft.outcome_columns.items() if name}
    indices = {column.name: i for i, column in enumerate(file.columns)}
    for fault in faults:
        place = _place(fault.pointer, roles, indices)
        draft.add_error(place, put_plainly(fault.detail))
        if fault.values:
            draft.add_error(place, f"(found there: {', '.join(fault.values)})")


def _place(pointer: str, roles: Mapping[str, str], indices: Mapping[str, int]) -> str:
    steps = split_pointer(pointer)
    if steps[:2] in (["file", "columns"], ["spec", "features"]) and len(steps) > 2:
        name = steps[2]
        if name in roles:
            return roles[name]
        return f"column-{indices[name]}" if name in indices else "top"
    if steps[:1] == ["search"]:
        return "time_s"
    if steps[:2] == ["spec", "outcome"] and len(steps) > 2:
        return _PLACES.get(steps[2], "top")
    return _PLACES.get(steps[1], "top") if steps[:1] == ["spec"] and len(steps) > 1 else "top"
