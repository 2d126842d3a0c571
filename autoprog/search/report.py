"""Report of a search as one self-contained page: no script, no external request.

Decision curve of the report, as points of an SVG drawing.

t    thresholds                                                      (n,)
NB   net benefit of one way to decide, at each threshold             (n,)
u, v places on the drawing: u = WIDTH t / t_end to the right, v = HEIGHT (top - NB) / (top - bottom) downwards

Calibration and instability plots of the report, as points of SVG drawings.

p        a risk, on the horizontal axis
f        what is shown at it, on the vertical one: an observed frequency, or a refit's risk
end      largest of all that is shown, at most 1: both axes go from 0 to it
u, v     places on the drawing: u = SIDE p / end to the right, v = SIDE (1 - f / end) downwards
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray

from autoprog.cohort import Feature
from autoprog.interpreter import Rule
from autoprog.validation import MEASURES

WIDTH, HEIGHT = 640, 320  # of the plot itself, in the drawing's units

_BELOW_ZERO = 0.15  # share of the height shown below 0: treating all falls without end and is of no use there
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Line:
    """Net benefit of one way to decide."""

    name: str  # key of the document of net benefit
    points: str  # for SVG's `polyline`; the drawing must clip what lies outside it


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis."""

    place: float  # distance from the left, or from above
    label: str


@dataclass(frozen=True, slots=True)
class CurveDrawing:
    """Decision curve as the template draws it."""

    lines: tuple[Line, ...]  # treat none, treat all, the simple pipeline if there is one, the model
    uncertainty: str | None  # the model's interval, for SVG's `polygon`; None in older documents
    band: tuple[float, float]  # left end and width of the thresholds that were asked for
    across: tuple[Tick, ...]  # thresholds, below
    down: tuple[Tick, ...]  # net benefits, at the left


def draw(curve: Mapping[str, Any]) -> CurveDrawing:
    """Draw the document's `net_benefit` up to the last threshold that was asked for or where the model is of use."""
    t = np.array(curve["thresholds"])
    low, high = curve["range"]
    of_use = t[_known(curve["model"]) > 0]
    t_end = max(high, of_use.max(initial=0.0))
    names = [name for name in ("treat_none", "treat_all", "baseline", "model") if curve[name] is not None]
    values = {name: _known(curve[name])[t <= t_end] for name in names}
    top = max(float(np.nanmax(NB, initial=0.0)) for NB in values.values()) or 1.0
    bottom = -_BELOW_ZERO * top
    u, v = WIDTH / t_end, HEIGHT / (top - bottom)
    ends = curve.get("model_interval")
    uncertainty = None
    if ends is not None:
        lower, upper = (_known(ends[end])[t <= t_end] for end in ("lower", "upper"))
        around = np.concatenate([t[t <= t_end], t[t <= t_end][::-1]])
        uncertainty = polyline(u * around, v * (top - np.concatenate([upper, lower[::-1]])))
    return CurveDrawing(
        lines=tuple(Line(name, polyline(u * t[t <= t_end], v * (top - NB))) for name, NB in values.items()),
        uncertainty=uncertainty,
        band=(u * low, max(u * (high - low), 1.0)),
        across=tuple(Tick(u * x, f"{100 * x:.3g} %") for x in np.linspace(0, t_end, _TICKS)),
        down=tuple(Tick(v * (top - x), f"{x:.3f}") for x in np.linspace(0, top, _TICKS)),
    )


def _known(values: Sequence[float | None]) -> NDArray[np.float64]:
    """Convert to numbers; NaN for None."""
    return np.array(values, dtype=np.float64)


def polyline(u: NDArray[np.float64], v: NDArray[np.float64]) -> str:
    """Points for SVG's `polyline` and `polygon`, to a tenth of a unit; unknown places are left out."""
    places = zip(u, v, strict=True)
    return " ".join(f"{right:.1f},{below:.1f}" for right, below in places if np.isfinite(below))


SIDE = 320
"""Side of the plots themselves, in the drawings' units."""

BARS = 60
"""Height of the histograms below a calibration plot."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Rectangle of one bin and outcome: above the histograms' middle line with the outcome, below it without."""

    left: float
    width: float
    height: float
    has_outcome: bool


@dataclass(frozen=True, slots=True)
class CalibrationDrawing:
    """Calibration as the template draws it."""

    curve: str  # points
    band: str  # points of the area of its interval
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]  # the same on both axes; places count from the left, or from below


@dataclass(frozen=True, slots=True)
class InstabilityDrawing:
    """Instability as the template draws it."""

    points: tuple[tuple[float, float], ...]  # u and v: the model's risk and a refit's
    curves: tuple[str, ...]  # points of each refit's calibration curve
    ticks: tuple[Tick, ...]


def draw_calibration(curve: Mapping[str, Any], distribution: Mapping[str, Any]) -> CalibrationDrawing:
    """Draw the document's `calibration_curve` and `risk_distribution`, up to the largest value shown."""
    p, f, lower, upper = (np.array(curve[name]) for name in ("risks", "observed", "lower", "upper"))
    end = max(float(p.max()), float(f.max()), float(upper.max()))
    u = SIDE * p / end
    band = polyline(np.concatenate([u, u[::-1]]), _down(np.concatenate([upper, lower[::-1]]), end))
    return CalibrationDrawing(polyline(u, _down(f, end)), band, _bars(distribution, end), _ticks(end))


def draw_instability(instability: Mapping[str, Any]) -> InstabilityDrawing:
    """Draw the risks and calibration curves of the document's `instability`, in two drawings on one scale."""
    points = np.array(instability["points"]).reshape(-1, 2)
    curves: Sequence[Sequence[float]] = instability["curves"]
    p = np.array(instability["risks"])
    end = max(float(points.max()), float(p.max()), *(max(curve) for curve in curves))
    places = zip((SIDE * points[:, 0] / end).tolist(), _down(points[:, 1], end).tolist(), strict=True)
    lines = tuple(polyline(SIDE * p / end, _down(np.array(curve), end)) for curve in curves)
    return InstabilityDrawing(tuple(places), lines, _ticks(end))


def _down(f: NDArray[np.float64], end: float) -> NDArray[np.float64]:
    return SIDE * (1 - f / end)


def _ticks(end: float) -> tuple[Tick, ...]:
    return tuple(Tick(SIDE * x / end, f"{100 * x:.3g} %") for x in np.linspace(0, end, _TICKS))


def _bars(distribution: Mapping[str, Any], end: float) -> tuple[Bar, ...]:
    edges = np.array(distribution["edges"])
    counts = {True: distribution["with_outcome"], False: distribution["without_outcome"]}
    most = max(*counts[True], *counts[False])
    return tuple(
        Bar(SIDE * float(edges[k]) / end, SIDE * float(edges[k + 1] - edges[k]) / end, BARS / 2 * n / most, has)
        for has, of_bins in counts.items()
        for k, n in enumerate(of_bins)
        if n > 0
    )


_SHOWN = 20  # evaluations on the leaderboard

_environment = Environment(
    loader=PackageLoader("autoprog.search"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render_report(
    *,
    cohort: Mapping[str, Any],  # name, n_patients, event_rate, outcome, features, sample_size and warnings
    settings: Mapping[str, Any],
    warnings: Sequence[str],  # the search's own
    leaderboard: Sequence[Mapping[str, Any]],  # evaluations, best first
    ensemble: Mapping[str, Any],
    rules: Mapping[str, Any],
) -> str:
    """Render the report as HTML; all documents are as the API shows them."""
    performance, net_benefit = ensemble.get("performance"), ensemble.get("net_benefit")
    horizons = ensemble.get("horizons", ())
    if horizons:
        net_benefit = horizons[-1]["net_benefit"]
    curve, instability = ensemble.get("calibration_curve"), ensemble.get("instability")
    if horizons:
        instability = horizons[-1].get("instability")
    features = [Feature(name=f["name"], kind=f["kind"], unit=f["unit"]) for f in cohort["features"]]
    return _environment.get_template("report.html").render(
        cohort=cohort,
        what=_what(cohort["outcome"]),
        visits=f" at {cohort['n_rows']:,} visits" if cohort["outcome"].get("patient") else "",
        horizons=horizons,
        decided_by=horizons[-1]["horizon"] if horizons else None,
        settings=settings,
        warnings=[*cohort["warnings"], *warnings],
        leaderboard=leaderboard[:_SHOWN],
        ensemble=ensemble,
        performance=performance,  # absent in older searches
        measures=tuple(MEASURES.values()),
        subgroups=ensemble.get("subgroups", ()),
        drawing=None if net_benefit is None else draw(net_benefit),
        plot={"width": WIDTH, "height": HEIGHT, "side": SIDE, "bars": BARS},
        calibration=None if curve is None else draw_calibration(curve, ensemble["risk_distribution"]),
        instability=instability,
        patient_interval=ensemble.get("interval"),
        refits=None if instability is None else draw_instability(instability),
        rules=rules,
        fidelities=_fidelities(rules),
        d_calibration=ensemble.get("d_calibration"),
        sentences=[(rule.in_words(features), rule) for rule in map(Rule.from_json, rules["rules"])],
    )


def _fidelities(rules: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Fidelity of the rules alone to the strata, at every horizon, where it could be measured."""
    if not rules.get("horizons"):
        found = [("", rules.get("fidelity"))]
    else:
        found = [(f"until {each['horizon']:g}: ", each["fidelity"]) for each in rules["horizons"]]
    return [(where, fidelity) for where, fidelity in found if fidelity is not None]


def _what(outcome: Mapping[str, Any]) -> str:
    """The predicted outcome in words."""
    if outcome.get("column"):
        return f"{outcome['column']} = {outcome['positive']}"
    within = "within" if outcome.get("patient") else "until"
    horizons = ", ".join(f"{horizon:g}" for horizon in outcome.get("horizons") or [outcome["horizon"]])
    return f"{outcome['event']} = {outcome['event_of_interest']} {within} {horizons} (unit of {outcome['time']})"
