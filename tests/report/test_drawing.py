"""Drawings: round ticks, curves where the axes say, numbers at risk below their times; and the digits of tables."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoprog.report.chart import Axis, Band, Chart, Flow, FlowStep, Line, NumbersAtRisk, Panel
from autoprog.report.digits import bounded, decimal, percentage, significant
from autoprog.report.drawing import draw, tick_labels
from autoprog.report.scene import Path, Text
from autoprog.report.svg import write_svg
from autoprog.ticks import round_ticks


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_1_2_25_or_5_times_a_power_of_ten_apart(lower: float, width: float) -> None:
    ticks = round_ticks(lower, lower + width)
    assert 1 <= len(ticks) <= 6
    slack = 1e-6 * width + 1e-12 * abs(lower)  # floats near 10^6 are 10^-10 apart
    assert lower - slack <= ticks[0] <= ticks[-1] <= lower + width + slack
    if len(ticks) > 2 and width > 1e-3:
        step = ticks[1] - ticks[0]
        leading = step / 10 ** math.floor(math.log10(step) + 1e-9)
        assert min(abs(leading - s) for s in (1, 2, 2.5, 5, 10)) < 1e-3


@pytest.mark.parametrize(
    ("lower", "upper", "labels"),
    [
        (0, 1, ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        (0, 0.3, ["0 %", "10 %", "20 %", "30 %"]),
        (0, 0.0123, ["0.00 %", "0.25 %", "0.50 %", "0.75 %", "1.00 %"]),
    ],
)
def test_ticks_of_shares_are_written_alike(lower: float, upper: float, labels: list[str]) -> None:
    assert [label for _, label in tick_labels(Axis("", lower, upper, percent=True))] == labels


def test_bars_that_hang_down_count_without_a_sign() -> None:
    assert [label for _, label in tick_labels(Axis("", -50, 50, absolute=True))] == ["40", "20", "0", "20", "40"]


@pytest.mark.parametrize("across", [1, 2])
def test_long_titles_are_wrapped_within_their_axes(across: int) -> None:
    title = "“cause_of_death” with value “cardiovascular”, within 1,825 (unit of “follow_up_days”)"
    axis = Axis("N-terminal pro-B-type natriuretic peptide at admission (pg/ml)", 0, 1)
    panel, plain = Panel(axis, Axis("y", 0, 1), (), title), Panel(Axis("x", 0, 1), Axis("y", 0, 1), (), "Short")
    scene = draw(Chart((panel, plain, panel, panel), across))
    lines = [s for s in scene.shapes if isinstance(s, Text) and s.text in f"{title} {axis.title}" and len(s.text) > 9]
    assert len(lines) >= 6
    for line in lines:
        left = line.place[0] - (0.26 * line.size * len(line.text) if line.anchor == "middle" else 0)
        assert left >= 0
        assert left + 0.52 * line.size * len(line.text) <= scene.width
        assert 0 < line.place[1] - line.size < line.place[1] < scene.height
    clear = {(line.place[0], line.place[1]) for line in lines}
    assert len(clear) == len(lines)


def test_a_curve_lies_where_the_axes_say() -> None:
    axis = Axis("x", 0, 10)
    scene = draw(Chart((Panel(axis, Axis("y", 0, 1), (Line((0, 10), (0, 1)),)),)))
    (curve,) = (s for s in scene.shapes if isinstance(s, Path) and s.clip is not None)
    assert curve.clip is not None
    left, top, right, bottom = curve.clip
    assert curve.places == ((left, bottom), (right, top))


def test_a_gap_parts_a_curve_and_steps_hold_their_value() -> None:
    axes = Axis("x", 0, 4), Axis("y", 0, 1)
    curve = Line((0, 1, None, 3, 4), (0.0, 0.5, None, 0.5, 1.0), stepped=True)
    scene = draw(Chart((Panel(*axes, (curve, Band((0, 4), (0, 0), (1, 1)))),)))
    drawn = [s for s in scene.shapes if isinstance(s, Path) and s.clip is not None and not s.closed]
    assert len(drawn) == 2
    assert all(len(path.places) == 3 for path in drawn)
    assert all(path.places[1] == (path.places[2][0], path.places[0][1]) for path in drawn)


def test_numbers_at_risk_stand_below_their_times() -> None:
    at_risk = NumbersAtRisk((0.0, 5.0), (("high risk", (1000, 3)),))
    scene = draw(Chart((Panel(Axis("Time", 0, 10), Axis("y", 0, 1), (), at_risk=at_risk),)))
    texts = {s.text: s for s in scene.shapes if isinstance(s, Text)}
    ticks = [s for s in scene.shapes if isinstance(s, Text) and s.text == "0"]
    assert texts["1,000"].place[0] == ticks[0].place[0]
    assert texts["1,000"].place[1] > ticks[0].place[1]
    assert texts["high risk"].place[0] < texts["1,000"].place[0]


def test_a_flow_has_a_box_a_step_and_one_for_those_left_out() -> None:
    scene = draw(Flow((FlowStep("10 rows", "2 left out"), FlowStep("8 patients"))))
    boxes = [s for s in scene.shapes if isinstance(s, Path) and s.closed and len(s.places) == 4]
    assert len(boxes) == 3
    assert all(0 <= x <= scene.width and 0 <= y <= scene.height for box in boxes for x, y in box.places)


def test_svg_escapes_its_texts() -> None:
    scene = draw(Chart((Panel(Axis("<b>&", 0, 1), Axis("y", 0, 1), ()),)))
    drawn = write_svg(scene, "<i>", "a & b")
    assert "<b>" not in drawn
    assert "<i>" not in drawn
    assert "&lt;b&gt;&amp;" in drawn


def test_what_xml_cannot_hold_is_replaced() -> None:
    scene = draw(Chart((Panel(Axis("a\x01\ufffeb", 0, 1), Axis("y", 0, 1), ()),)))
    root = ET.fromstring(write_svg(scene, "a\x00", "\uffff"))  # noqa: S314  written in this line
    assert "a\ufffd\ufffdb" in list(root.itertext())


@pytest.mark.parametrize(
    ("value", "text"),
    [(12.0, "12.0"), (0.00345, "0.00345"), (1234.5, "1,234"), (-0.5, "−0.500"), (0, "0"), (None, "–"), (9.996, "10.0")],
)
def test_numbers_have_three_significant_digits(value: float | None, text: str) -> None:
    assert significant(value) == text


def test_no_number_is_minus_zero() -> None:
    assert decimal(-0.0001) == "0.000"
    assert percentage(0.4587) == "45.9 %"
    assert bounded({"estimate": -0.1, "lower": -0.2, "upper": 0.1}) == "−0.100 (−0.200 to 0.100)"
    assert bounded({"estimate": 0.1, "lower": None, "upper": None}) == "0.100"
