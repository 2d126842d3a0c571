"""Turn the form that describes a file into the documents of a search."""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.datastructures import FormData, UploadFile

from api.uploads import Upload
from autoprog.errors import Fault

MINUTES = (1, 5, 15, 60)
_EVALUATIONS_A_MINUTE = 100
_KINDS = frozenset({"numeric", "categorical"})
_SEPARATOR = re.compile(r"[;,\s]+")


async def read_upload_form(form: FormData) -> tuple[str, bytes | None]:
    """Return the name and content of the form's file; no content if none was chosen."""
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        return "", None
    return file.filename, await file.read()


def build_upload(form: FormData, filename: str, content: bytes | None) -> Upload:
    """Return what the REST API would have been sent."""
    faults: list[Fault] = []
    spec = _build_spec(form, filename, faults)
    minutes = _text(form, "minutes") or "1"
    if minutes not in map(str, MINUTES):
        faults.append(Fault("/search/budget", f"choose one of {', '.join(map(str, MINUTES))} minutes"))
        minutes = "1"
    budget = {"time_s": 60 * int(minutes), "evaluations": min(2_000, _EVALUATIONS_A_MINUTE * int(minutes))}
    parts = {"spec": json.dumps(spec).encode(), "search": json.dumps({"budget": budget}).encode()}
    return Upload(parts, content, tuple(faults))


def _build_spec(form: FormData, filename: str, faults: list[Fault]) -> dict[str, Any]:
    stem = re.split(r"[/\\]", filename)[-1].split(".")[0]
    spec: dict[str, Any] = {"name": _text(form, "name") or stem or "cohort"}
    kind = _text(form, "kind")
    if kind == "times":
        spec |= {"mode": "survival", "outcome": _build_times(form, faults)}
        horizons = _numbers(form, "horizons", faults)
        if horizons:
            spec["outcome"]["horizons"] = horizons
    elif kind == "visits":
        outcome = _build_times(form, faults) if _text(form, "time") else _build_binary(form, faults)
        horizon = _numbers(form, "visit_horizon", faults)
        if len(horizon) != 1:
            faults.append(Fault("/spec/outcome/horizon", "give one number: how far after a visit to predict"))
        visits = {"patient": _text(form, "patient"), "visit_time": _text(form, "visit_time")}
        spec |= {"mode": "temporal", "outcome": {**outcome, **visits, "horizon": horizon[0] if horizon else 1}}
    else:
        spec["outcome"] = _build_binary(form, faults)
    return spec | _build_columns(form, spec["outcome"])


def _build_binary(form: FormData, faults: list[Fault]) -> dict[str, Any]:
    column, value = _pair(form, "positive")
    if column is None:
        faults.append(Fault("/spec/outcome", "choose the column and the value of those who had the outcome"))
    return {"column": column or "", "positive": value}


def _build_times(form: FormData, faults: list[Fault]) -> dict[str, Any]:
    column, value = _pair(form, "event")
    if column is None or not _text(form, "time"):
        faults.append(Fault("/spec/outcome", "choose the column of times, and the column and value of the event"))
    of_censored, censored = _pair(form, "censored")
    codes = _codes(form).get(column or "", [])
    if of_censored != column or censored == value:
        censored = next((code for code in codes if code != value), "0")
    outcome = {"time": _text(form, "time"), "event": column or "", "event_of_interest": value, "censored": censored}
    competing = [code for code in codes if code not in {value, censored}]
    return outcome | ({"competing": competing} if competing else {})


def _build_columns(form: FormData, outcome: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of the spec that say what columns are and which are left out."""
    used = {value for key, value in outcome.items() if key in {"column", "time", "event", "patient", "visit_time"}}
    features: dict[str, dict[str, str]] = {}
    ignore: list[str] = []
    for key, name in form.multi_items():
        if not key.startswith("column-") or not isinstance(name, str) or name in used:
            continue
        number = key.removeprefix("column-")
        choice, unit = _text(form, f"use-{number}"), _text(form, f"unit-{number}")
        if choice == "leave":
            ignore.append(name)
        elif choice in _KINDS or unit:
            features[name] = ({"kind": choice} if choice in _KINDS else {}) | ({"unit": unit} if unit else {})
    groups = _text(form, "groups")
    return {
        **({"features": features} if features else {}),
        **({"ignore": ignore} if ignore else {}),
        **({"groups": groups} if groups and groups not in used else {}),
    }


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def _pair(form: FormData, name: str) -> tuple[str | None, str]:
    """Return the column and the value of a choice, which is a JSON list of both."""
    try:
        column, value = json.loads(_text(form, name))
    except (TypeError, ValueError):
        return None, ""
    return (column, value) if isinstance(column, str) and isinstance(value, str) else (None, "")


def _codes(form: FormData) -> dict[str, list[str]]:
    """Return the values of each column that may hold an event."""
    try:
        found = json.loads(_text(form, "codes"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _numbers(form: FormData, name: str, faults: list[Fault]) -> list[float]:
    texts = [text for text in _SEPARATOR.split(_text(form, name)) if text]
    try:
        return [float(text) for text in texts]
    except ValueError:
        faults.append(Fault(f"/spec/outcome/{name}", "give numbers, such as 12, 24, 60"))
        return []
