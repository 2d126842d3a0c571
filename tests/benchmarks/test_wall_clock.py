"""Whether the benchmark of budgets sees a model without its baseline."""

from __future__ import annotations

import pytest

from autoprog.report.building import build_report
from autoprog.report.html import write_html
from benchmarks.wall_clock import tells_baseline
from tests.report.runs import changed, stored_run


@pytest.mark.parametrize("is_there", [True, False])
def test_a_report_tells_the_simple_model_only_if_there_is_one(is_there: bool) -> None:
    run = stored_run("binary")
    report = write_html(build_report(run if is_there else changed(run, "ensemble", baseline=None)))
    assert "simple" in report
    assert tells_baseline(report) == is_there
