"""The report: whatever a search delivers, it is one page that loads nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autoprog.search import SearchSettings
from autoprog.search.report import render_report
from autoprog.validation import (
    MEASURES,
    calibration_curve,
    compute_instability,
    compute_performance,
    decision_curve,
    frequency_curves,
    risk_distribution,
)

CONFIGURATION = {
    stage: {"algorithm": algorithm, "parameters": {}}
    for stage, algorithm in zip(
        ("imputation", "features", "prediction", "calibration"), ("median", "none", "ridge", "none"), strict=True
    )
}
SCORE = {"estimate": 0.8, "lower": 0.7, "upper": 0.9, "level": 0.95, "method": "a bootstrap"}
INTERVAL = {"estimate": 0.97, "lower": 0.7, "upper": 1.2}
Y = np.repeat([0, 1, 0, 1], [60, 20, 20, 60])
RISKS = np.concatenate([np.linspace(0.1, 0.6, 80), np.linspace(0.4, 0.9, 80)])
PERFORMANCE = compute_performance(Y, RISKS, (0.1, 0.3)).to_json()
NET_BENEFIT = decision_curve(Y, RISKS, RISKS**2, (0.1, 0.3)).to_json()
CURVE = calibration_curve(Y, RISKS)
INSTABILITY = compute_instability(RISKS, [RISKS, RISKS**2], frequency_curves(Y), np.random.default_rng(0)).to_json()
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


ESTIMATE = {"estimate": 0.75, "lower": 0.6, "upper": 0.85}
SUBGROUPS = [
    {"feature": "sex", "label": "f", "n": 60, "events": 20, **dict.fromkeys(("auc_roc", "brier"), ESTIMATE)},
    {"feature": "sex", "label": "m", "n": None, "events": None, **dict.fromkeys(("auc_roc", "brier"))},
]
SUBGROUPS[0]["expected_observed"], SUBGROUPS[1]["expected_observed"] = ESTIMATE, None


def documents(**changes: Any) -> dict[str, Any]:
    return {
        "cohort": {
            "name": "<b>hearts</b>",
            "n_patients": 1303,
            "event_rate": 0.459,
            "outcome": {"column": "died", "positive": "1", "negative": "0"},
            "features": [{"name": "age", "kind": "numeric", "unit": "years", "missing_fraction": 0.25}],
            "sample_size": {
                "n_parameters": 20,
                "riley_minimum": 1277,
                "flexible_minimum": 12770,
                "validation_minimum": 4242,
                "events_per_predictor": 9.0,
                "verdict": "sufficient_for_regression",
            },
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
            "baseline": {"configuration": CONFIGURATION, "score": SCORE, "performance": PERFORMANCE},
            "calibration": {"slope": INTERVAL, "intercept": INTERVAL, "expected_observed": 1.01, "level": 0.95},
            "performance": PERFORMANCE,
            "net_benefit": NET_BENEFIT,
            "subgroups": SUBGROUPS,
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
    unknown = {**RULE, "observed_event_rate": {"estimate": None, "lower": None, "upper": None, "n": 60}}
    page = render_report(**documents(rules={**documents()["rules"], "rules": [unknown]}))
    assert "an unknown share of 60 such patients" in page


def test_of_visits_patients_are_counted() -> None:
    cohort = documents()["cohort"]
    cohort |= {"n_rows": 5000, "outcome": {**cohort["outcome"], "patient": "id"}}
    fidelity = {"kappa": 0.72, "lower": 0.6, "upper": 0.8, "agreement": 0.815, "n": 1200, "default": "low"}
    page = render_report(**documents(cohort=cohort, rules={**documents()["rules"], "fidelity": fidelity}))
    assert "50.0 % of such visits of 60 patients" in page
    assert "in 81.5 % of the visits of 1,200 patients" in page


def test_how_well_the_rules_tell_the_strata_is_told() -> None:
    fidelity = {"kappa": 0.72, "lower": 0.6, "upper": 0.8, "agreement": 0.815, "n": 1200, "default": "low"}
    rules = documents()["rules"]
    page = render_report(**documents(rules={**rules, "fidelity": fidelity}))
    assert "in 81.5 % of 1,200 patients" in page
    assert "kappa 0.72" in page
    of_horizons = [{"horizon": h, "note": "", "fidelity": f} for h, f in ((30.0, fidelity), (365.0, None))]
    page = render_report(**documents(rules={**rules, "fidelity": None, "horizons": of_horizons}))
    assert "until 30: in 81.5 %" in page
    assert page.count("kappa 0.72") == 1
    assert "kappa" not in render_report(**documents())


def test_subgroups_are_shown_and_small_ones_are_not_told() -> None:
    page = render_report(**documents())
    assert "<td>sex: f</td>" in page
    assert "0.750 (0.600 to 0.850)" in page
    assert page.count("too few") == 2
    assert "fewer than 10</td>" in page


def test_calibration_and_instability_are_drawn() -> None:
    assert CURVE is not None
    told = {
        **documents()["ensemble"],
        "calibration_curve": CURVE.to_json(),
        "risk_distribution": risk_distribution(Y, RISKS).to_json(),
        "instability": INSTABILITY,
        "interval": {"level": 0.9, "method": "a spread of refits"},
    }
    page = render_report(**documents(ensemble=told))
    assert page.count('<polygon class="band"') == 2  # of calibration and of the decision curve
    assert page.count('class="refit"') == len(INSTABILITY["curves"])
    assert page.count("<circle") == len(INSTABILITY["points"])
    assert f"{INSTABILITY['mape']:.3f} from the model" in page
    assert "90 % intervals of patients' risks: a spread of refits." in page
    assert "Whether the risks mean what they say" not in render_report(**documents())
    assert "<circle" not in render_report(**documents())


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
                "performance": {**PERFORMANCE, "slope": None, "ici": None},
                "net_benefit": {**NET_BENEFIT, "baseline": None},
                "calibration": {**full["ensemble"]["calibration"], "slope": None},
            },
            rules={**full["rules"], "rules": []},
        )
    )
    assert "simple pipeline" not in page
    assert page.count("not finite") == 3
    assert "No rule stands out" in page


def test_every_measure_and_the_decision_curves_are_shown() -> None:
    page = render_report(**documents())
    for measure in MEASURES.values():
        assert f"<td>{measure.title}</td>" in page
        assert f"{PERFORMANCE[measure.name]:.3f}" in page
    assert page.count("<polyline") == 8  # four lines, and their legend
    assert "thresholds 10.0 % to 30.0 %" in page


def test_a_search_that_ended_before_measures_were_told_has_a_page() -> None:
    full = documents()["ensemble"]
    kept = ("members", "score", "calibration")
    page = render_report(
        **documents(
            ensemble={
                **{key: full[key] for key in kept},
                "baseline": {"configuration": CONFIGURATION, "score": SCORE},
            }
        )
    )
    assert "<polyline" not in page
    assert "Brier skill" not in page
    assert "0.800 (95 % interval 0.700 to 0.900)" in page
