"""The drawn decision curve has its points where the numbers say."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.search.report import HEIGHT, WIDTH, draw
from autoprog.validation import decision_curve

Y = np.array([1, 0, 1, 0, 0, 1, 0, 0, 0, 1])
P = np.array([0.9, 0.8, 0.5, 0.4, 0.3, 0.25, 0.2, 0.1, 0.05, 0.02])


def _points(line: str) -> np.ndarray:
    return np.array([[float(part) for part in point.split(",")] for point in line.split()])


def test_points_are_thresholds_and_net_benefits_to_scale() -> None:
    curve = decision_curve(Y, P, P / 2, (0.1, 0.3))
    drawing = draw(curve.to_json())
    assert [line.name for line in drawing.lines] == ["treat_none", "treat_all", "baseline", "model"]
    zero, model = _points(drawing.lines[0].points), _points(drawing.lines[3].points)
    t = np.array(curve.thresholds)[: len(model)]
    # 0.89 is the last threshold at which the model is of use: one true positive, none false.
    assert t[-1] == 0.9
    np.testing.assert_allclose(model[:, 0], WIDTH * t / 0.9, atol=0.051)
    level = zero[0, 1]
    assert (zero[:, 1] == level).all()
    assert 0 < level < HEIGHT
    top = max(*curve.model, *curve.treat_all)
    np.testing.assert_allclose((level - model[:, 1]) / level, np.array(curve.model[: len(t)]) / top, atol=0.001)
    assert drawing.band == pytest.approx((WIDTH * 0.1 / 0.9, WIDTH * 0.2 / 0.9))


def test_the_models_interval_is_drawn_around_it() -> None:
    curve = decision_curve(Y, P, None, (0.1, 0.3))
    drawing = draw(curve.to_json())
    assert drawing.uncertainty is not None
    around, model = _points(drawing.uncertainty), _points(drawing.lines[-1].points)
    n = len(model)
    assert len(around) == 2 * n
    np.testing.assert_allclose(around[:n, 0], model[:, 0])
    assert (around[:n, 1] <= model[:, 1]).all()
    assert (around[n:, 1][::-1] >= model[:, 1]).all()
    without = {**curve.to_json(), "model_interval": None}
    assert draw(without).uncertainty is None


def test_axes_are_labelled_to_scale() -> None:
    drawing = draw(decision_curve(Y, P, None, (0.1, 0.3)).to_json())
    assert [line.name for line in drawing.lines] == ["treat_none", "treat_all", "model"]
    assert (drawing.across[0].place, drawing.across[0].label) == (0.0, "0 %")
    assert (drawing.across[-1].place, drawing.across[-1].label) == (pytest.approx(WIDTH), "90 %")
    assert drawing.down[-1].place == pytest.approx(0)
    assert drawing.down[0].label == "0.000"
    assert drawing.down[0].place == pytest.approx(_points(drawing.lines[0].points)[0, 1], abs=0.051)


def test_a_useless_model_is_drawn_up_to_the_range() -> None:
    drawing = draw(decision_curve(Y, np.zeros(10), None, (0.1, 0.3)).to_json())
    assert drawing.across[-1].label == "30 %"


def test_a_single_threshold_has_a_band_that_can_be_seen() -> None:
    assert draw(decision_curve(Y, P, None, (0.2, 0.2)).to_json()).band[1] == 1.0


def test_what_is_not_known_is_not_drawn() -> None:
    """With censoring nobody who would be treated may have been followed long enough."""
    curve = decision_curve(Y, P, P / 2, (0.1, 0.3)).to_json()
    model: list[float | None] = [*curve["model"]]
    model[20] = None
    points = _points(draw({**curve, "model": model}).lines[3].points)
    np.testing.assert_array_equal(points, np.delete(_points(draw(curve).lines[3].points), 20, axis=0))
