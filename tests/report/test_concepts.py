"""Pages of concepts: what they quote is in a report or on a page, and their numbers are those of the program."""

from __future__ import annotations

import re
from functools import cache
from html import unescape

import pytest

from autoprog.diagnosis.session import CERTAINTY
from autoprog.ensemble.rules import _POOLED_MOST
from autoprog.model.prediction import N_DRAWS
from autoprog.report.building import build_report
from autoprog.report.html import write_html
from autoprog.search.clock import MAX_REFITS
from autoprog.validation import INTERVAL_LEVEL
from tests.report.complete import complete_run
from tests.system.server import ROOT

FOLDER = ROOT / "docs" / "concepts"
PAGES = sorted(path.name for path in FOLDER.glob("*.md") if path.name != "index.md")
PARTS = ("What it is.", "How autoprog does it.", "Where to see it.", "Pitfall.")
MOST_WORDS = 250
"""So that a page fits a screen."""


def text_of(name: str) -> str:
    return " ".join((FOLDER / name).read_text().split())


@cache
def shown() -> str:
    """Everything that reports of all kinds of outcome say."""
    reports = [build_report(*complete_run(kind)) for kind in ("binary", "event_times", "competing")]
    return " ".join(unescape(re.sub("<[^>]+>", " ", write_html(report))) for report in reports)


@pytest.mark.parametrize("name", PAGES)
def test_page_has_its_parts_in_order_and_is_short(name: str) -> None:
    text = text_of(name)
    places = [text.index(f"**{part}**") for part in PARTS]
    assert places == sorted(places)
    assert len(text.split()) <= MOST_WORDS


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_points_to_is_in_a_report(name: str) -> None:
    where = re.split(r"\*\*Pitfall", text_of(name).split("**Where to see it.**")[1])[0]
    quoted = re.findall("“([^”]+)”", where)
    explained = (ROOT / "docs" / "report.md").read_text() if "report.md" in where else ""
    assert [title for title in quoted if title not in shown() and title.lower() not in explained.lower()] == []
    assert quoted or "page" in where, "it names neither a section nor a page"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ensemble.md", f"the best {_POOLED_MOST} that"),
        ("missing-values.md", f"over {N_DRAWS} likely values"),
        ("patients-intervals.md", f"up to {MAX_REFITS} resamples"),
        ("patients-intervals.md", f"a {INTERVAL_LEVEL:.0%} interval".replace("%", " %")),
        ("generalised-binary-search.md", f"{CERTAINTY:.0%} by default".replace("%", " %")),
    ],
)
def test_numbers_are_those_of_the_program(name: str, says: str) -> None:
    assert says in text_of(name)
