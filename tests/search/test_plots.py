"""The plots of calibration and of instability have their points where the numbers say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from autoprog.search.report import BARS, SIDE, draw_calibration, draw_instability
from autoprog.validation import calibration_curve, compute_instability, frequency_curves, risk_distribution


def _points(line: str) -> np.ndarray:
    return np.array([[float(part) for part in point.split(",")] for point in line.split()])


def simulated() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = expit(rng.normal(-1, 1, 300))
    return (rng.random(300) < p).astype(int), p


def test_the_curve_its_band_and_the_bars_are_to_scale() -> None:
    y, p = simulated()
    curve, distribution = calibration_curve(y, p), risk_distribution(y, p)
    assert curve is not None
    drawing = draw_calibration(curve.to_json(), distribution.to_json())
    end = max(*curve.risks, *curve.upper)
    places = _points(drawing.curve)
    np.testing.assert_allclose(places[:, 0], SIDE * np.array(curve.risks) / end, atol=0.051)
    np.testing.assert_allclose(places[:, 1], SIDE * (1 - np.array(curve.observed) / end), atol=0.051)
    band = _points(drawing.band)
    n = len(curve.risks)
    np.testing.assert_allclose(band[:n, 1], SIDE * (1 - np.array(curve.upper) / end), atol=0.051)
    np.testing.assert_allclose(band[n:, 1][::-1], SIDE * (1 - np.array(curve.lower) / end), atol=0.051)
    most = max(*distribution.with_outcome, *distribution.without_outcome)
    assert max(bar.height for bar in drawing.bars) == pytest.approx(BARS / 2)
    heights = sum(bar.height for bar in drawing.bars if bar.has_outcome)
    assert heights == pytest.approx(BARS / 2 * y.sum() / most)
    assert [tick.place for tick in drawing.ticks] == pytest.approx(np.linspace(0, SIDE, 5))
    assert drawing.ticks[-1].label == f"{100 * end:.3g} %"


def test_refits_are_to_scale() -> None:
    y, p = simulated()
    instability = compute_instability(p, [p, np.sqrt(p)], frequency_curves(y), np.random.default_rng(0))
    drawing = draw_instability(instability.to_json())
    shown = [*instability.points, instability.risks, *instability.curves]
    end = max(number for part in shown for number in part)
    (u, v), (risk, refit) = drawing.points[0], instability.points[0]
    assert (u, v) == pytest.approx((SIDE * risk / end, SIDE * (1 - refit / end)))
    assert len(drawing.curves) == 2
    places = _points(drawing.curves[1])
    np.testing.assert_allclose(places[:, 0], SIDE * np.array(instability.risks) / end, atol=0.051)


def test_without_any_curve_the_points_are_drawn_alone() -> None:
    y, p = simulated()
    document = {**compute_instability(p, [p], frequency_curves(y), np.random.default_rng(0)).to_json(), "curves": []}
    assert draw_instability(document).curves == ()
