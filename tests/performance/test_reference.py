"""Measures against statsmodels and dcurves, whose values `tests.performance.reference` has written down."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logit

from autoprog.performance import (
    calibration_curve,
    compute_calibration,
    net_benefit,
    net_benefit_of_all,
    smooth_calibration,
)
from autoprog.validation import fit_recalibration, recalibration_covariance

# What is asked of calibration; net benefits are sums of a few numbers.
CLOSE, CLOSER = 1e-8, 1e-12


@cache
def reference() -> dict[str, Any]:
    path = Path(__file__).parents[1] / "data" / "measures_reference.json"
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def patients() -> tuple[np.ndarray, np.ndarray]:
    return np.array(reference()["y"]), np.array(reference()["p"])


def test_slope_intercept_and_their_intervals_are_those_of_statsmodels() -> None:
    found = compute_calibration(*patients())
    assert found.slope is not None
    for ours, theirs in ((found.slope, reference()["slope"]), (found.intercept, reference()["intercept"])):
        assert [ours.estimate, ours.lower, ours.upper] == pytest.approx(theirs, abs=CLOSE)
    y, p = patients()
    assert found.expected_observed.estimate == pytest.approx(p.sum() / y.sum(), abs=CLOSER)


def test_the_recalibrations_covariance_is_that_of_statsmodels() -> None:
    y, p = patients()
    covariance = recalibration_covariance(p, fit_recalibration(y, p))
    np.testing.assert_allclose(covariance, reference()["recalibration_covariance"], atol=CLOSE)


def test_the_smooth_curve_and_its_distances_are_those_of_statsmodels() -> None:
    y, p = patients()
    smooth = smooth_calibration(y, p)
    assert smooth is not None
    for name in ("ici", "e50", "e90"):
        assert getattr(smooth, name) == pytest.approx(reference()[name], abs=CLOSE), name
    order = np.argsort(p)
    curve = calibration_curve(y, p, p[order])
    assert curve is not None
    ours = np.column_stack([curve.observed, curve.lower, curve.upper])
    np.testing.assert_allclose(ours, np.array(reference()["curve"])[order], atol=CLOSE)


def test_net_benefit_is_that_of_dcurves() -> None:
    y, p = patients()
    t = np.array(reference()["thresholds"])
    theirs = reference()["net_benefit"]
    np.testing.assert_allclose(net_benefit(y, p, t), theirs["p"], atol=CLOSER)
    np.testing.assert_allclose(net_benefit_of_all(float(y.mean()), t), theirs["all"], atol=CLOSER)
    assert set(theirs["none"]) == {0.0}


def test_the_reference_is_of_risks_that_a_spline_of_five_knots_serves() -> None:
    y, p = patients()
    found = calibration_curve(y, p)
    assert found is not None
    assert "5 knots" in found.method
    assert len(np.unique(logit(p))) > 300
