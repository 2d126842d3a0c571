"""What a search of some seconds stores suffices for all four texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoprog.report.methods import write_methods
from autoprog.report.model_card import fill_model_card
from autoprog.report.probast import fill_probast
from autoprog.report.run import ReportedRun
from autoprog.report.tripod import Status, fill_tripod
from tests.report.runs import SECTIONS, unknown_figures
from tests.report.searching import search

_SLOW = (pytest.mark.slow, pytest.mark.ci)


@pytest.mark.parametrize(
    "kind", ["binary", pytest.param("event_times", marks=_SLOW), pytest.param("visits", marks=_SLOW)]
)
def test_real_search_fills_all_texts(kind: str, tmp_path: Path) -> None:
    run = ReportedRun(**search(kind, tmp_path, seconds=6))
    checklist = fill_tripod(run, SECTIONS)
    assert checklist.count(Status.ANSWERED) >= 90
    answered = [e.text for item in checklist.items for e in item.elements if e.status is Status.ANSWERED]
    methods = [paragraph.text for paragraph in write_methods(run).paragraphs]
    card = [entry.text for part in fill_model_card(run) for entry in part.entries]
    reasons = [question.reason for question in fill_probast(run)]
    assert unknown_figures(" ".join([*answered, *methods, *card, *reasons]), run) == []
    origin = run.ensemble["run"]
    assert origin["n_opening"] + origin["n_proposed"] + origin["n_finalists"] == run.begun
    assert origin["n_rows"] == run.n_rows
    assert origin["n_groups"] == (run.n_patients if run.words.row == "visit" else None)
    assert origin["software"]["autoprog"]
