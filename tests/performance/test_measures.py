"""The table of measures, its page and the API's document say the same."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from api.searches.score_schemas import PerformanceDocument
from autoprog.performance import EVENT_METRICS, MEASURES, METRICS, Performance
from autoprog.search.settings import MetricName

DOCS = Path(__file__).parents[2] / "docs" / "methods.md"
BOUNDS = {float("inf"): "∞", -float("inf"): "-∞"}


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_has_its_row_on_the_page(name: str) -> None:
    m = MEASURES[name]
    lower, upper = (BOUNDS.get(bound, f"{bound:g}") for bound in (m.lower, m.upper))
    optimisable = "yes" if name in METRICS else "no"
    row = f"| `{name}` | {m.title} | {m.direction} | {lower} to {upper} | {optimisable} | {m.reference} |"
    assert row in DOCS.read_text(encoding="utf-8").splitlines()


def test_the_table_the_values_and_the_document_have_the_same_names() -> None:
    beside = {"thresholds", "smoothing", "intervals", "uncorrected"}
    assert {f.name for f in fields(Performance)} == set(MEASURES) | beside
    assert set(PerformanceDocument.model_fields) == set(MEASURES) | beside


def test_every_metric_can_be_asked_for_and_is_reported() -> None:
    assert set(get_args(MetricName)) == {*METRICS, *EVENT_METRICS}
    assert set(METRICS) <= set(MEASURES)
