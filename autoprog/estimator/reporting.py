"""The report of an estimator's search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autoprog.cohort import describe_by_outcome
from autoprog.estimator.archive import SearchArchive
from autoprog.estimator.tables import CohortTable
from autoprog.report import Report
from autoprog.report.building import build_report
from autoprog.report.run import ReportedRun


def estimator_report(
    documents: Mapping[str, Any], archive: SearchArchive | None, explanation: Mapping[str, Any] | None = None
) -> Report:
    """Build the report of the documents of a search; the archive, if any, has the patients to describe."""
    run = ReportedRun(
        cohort=documents["cohort"],
        search={
            **documents["search"],
            "settings": documents["settings"],
            "warnings": list(documents["warnings"]),
        },
        ensemble=documents["ensemble"],
        rules=documents["rules"],
        evaluations=documents["evaluations"],
        explanation=explanation,
    )
    description = None
    if archive is not None:
        description = describe_by_outcome(CohortTable.of(archive.source, archive.spec).cohort)
    return build_report(run, description)
