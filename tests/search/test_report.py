"""The report: whatever a search delivers, it is one page that loads nothing."""

from __future__ import annotations

from typing import Any

import pytest

from autoprog.search import SearchSettings
from autoprog.search.report import render_report

CONFIGURATION = {
    stage: {"algorithm": algorithm, "parameters": {}}
    for stage, algorithm in zip(
        ("imputation", "features", "prediction", "calibration"), ("median", "none", "ridge", "none"), strict=True
    )
}
SCORE = {"estimate": 0.8, "lower": 0.7, "upper": 0.9, "level": 0.95, "method": "a bootstrap"}
INTERVAL = {"estimate": 0.97, "lower": 0.7, "upper": 1.2}
RULE = {
    "conditions": [{"feature": "age", "operator": ">=", "value": 58.0}],
    "horizon": None,
    "stratum": "high",
    "stratum_probability": {"mean": 0.87, "lower": 0.8, "upper": 0.93},
    "observed_event_rate": {"estimate": 0.5, "lower": 0.4, "upper": 0.6, "n": 60},
    "support": 0.2,
    "confidence": 0.9,
    "lift": 2.7,
}


def documents(**changes: Any) -> dict[str, Any]:
    return {
        "cohort": {
            "name": "<b>hearts</b>",
            "n_patients": 1303,
            "event_rate": 0.459,
            "outcome": {"column": "died", "positive": "1", "negative": "0"},
            "features": [{"name": "age", "kind": "numeric", "unit": "years", "missing_fraction": 0.25}],
            "sample_size": {"riley_minimum": 1277, "events_per_predictor": 9.0, "verdict": "sufficient"},
            "warnings": ["of the cohort"],
        },
        "settings": SearchSettings(folds=4).model_dump(mode="json"),
        "warnings": ["of the search"],
        "leaderboard": [
            {"id": "3", "configuration": CONFIGURATION, "score": 0.81, "fold_scores": [0.7, 0.9], "duration_s": 1.25},
            {"id": "4", "configuration": CONFIGURATION, "score": None, "fold_scores": [], "duration_s": 60.0},
        ],
        "ensemble": {
            "members": [{"weight": 1.0, "configuration": CONFIGURATION, "score": 0.81}],
            "score": SCORE,
            "baseline": {"configuration": CONFIGURATION, "score": SCORE},
            "calibration": {"slope": INTERVAL, "intercept": INTERVAL, "expected_observed": 1.01, "level": 0.95},
        },
        "rules": {
            "strata": [{"name": "all", "lower": 0.0, "upper": 1.0, "fraction": 1.0}],
            "rules": [RULE],
            "note": "associations, not causes",
        },
        **changes,
    }


def test_the_page_says_what_the_documents_say() -> None:
    page = render_report(**documents())
    for text in ("of the cohort", "of the search", "0.800 (95 % interval 0.700 to 0.900)", "a bootstrap", "4-fold"):
        assert text in page
    assert "median → ridge" in page
    assert "age &gt;= 58 years -&gt; high risk (probability 0.87, 90 % interval 0.80 to 0.93)" in page
    assert "50.0 % of 60 such patients" in page


def test_what_a_client_wrote_is_text() -> None:
    page = render_report(**documents())
    assert "<b>" not in page
    assert "&lt;b&gt;hearts&lt;/b&gt;" in page


@pytest.mark.parametrize("loader", ["src=", "href=", "@import", "url(", "<script"])
def test_the_page_loads_nothing(loader: str) -> None:
    assert loader not in render_report(**documents())


def test_a_page_without_baseline_rules_and_slope_says_so() -> None:
    full = documents()
    page = render_report(
        **documents(
            ensemble={
                **full["ensemble"],
                "baseline": None,
                "calibration": {**full["ensemble"]["calibration"], "slope": None},
            },
            rules={**full["rules"], "rules": []},
        )
    )
    assert "simple pipeline" not in page
    assert "not finite" in page
    assert "No rule stands out" in page
