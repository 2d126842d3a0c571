"""Runs that the tests read: the stored documents, and how numbers of a text are compared with them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from autoprog.report.run import ReportedRun

KINDS = ("binary", "event_times", "competing", "visits")
SECTIONS = frozenset(("flow", "characteristics", "calibration", "performance"))

_DATA = Path(__file__).parent / "data"


@cache
def _stored(kind: str) -> str:
    return (_DATA / f"{kind}.json").read_text(encoding="utf-8")


def documents(kind: str) -> dict[str, Any]:
    """All documents of a kind, to change at will."""
    found: dict[str, Any] = json.loads(_stored(kind))
    return found


def stored_run(kind: str, *, validated: bool = False) -> ReportedRun:
    """The stored run of a kind, without its external validation unless asked for."""
    run = ReportedRun(**documents(kind))
    return run if validated else replace(run, validation=None, validation_cohort=None)


def changed(run: ReportedRun, document: str, /, **changes: Any) -> ReportedRun:
    """The run with other values in one of its documents."""
    whole: dict[str, Any] = {document: {**getattr(run, document), **changes}}
    return replace(run, **whole)


def updated_run(kind: str) -> ReportedRun:
    """The stored run of a kind, whose validation is of version 2."""
    recalibration = {"intercept": 0.4217, "slope": 0.9183}
    version = {"id": "0123abcd", "version": 2, "created_at": "2027-03-04T05:06:07+00:00", "cohort": "next door"}
    return replace(stored_run(kind, validated=True), updated={**version, "recalibration": recalibration})


def _numbers(document: Any) -> Iterator[float]:
    if isinstance(document, bool):
        return
    if isinstance(document, int | float):
        yield document
    elif isinstance(document, dict):
        for value in document.values():
            yield from _numbers(value)
    elif isinstance(document, list):
        for value in document:
            yield from _numbers(value)


def unknown_figures(text: str, run: ReportedRun) -> list[str]:
    """Figures with three decimals, and percentages with one, that no document of the run holds."""
    parts = (run.cohort, run.search, run.ensemble, run.rules, run.validation, run.validation_cohort, run.updated)
    known = [x for part in parts for x in _numbers(part)]
    text = text.replace("\u2212", "-")
    decimals = {f"{round(x, 3) + 0.0:.3f}" for x in known}
    shares = {f"{100 * x:.1f}" for x in known}
    found = [x for x in re.findall(r"(?<![\d.])-?\d+\.\d{3}(?![\d.])", text) if x not in decimals]
    return found + [x for x in re.findall(r"(?<![\d.])(\d+\.\d) %", text) if x not in shares]
