"""The result of a search as its page shows it: every outcome is a list of horizons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from api.pages.searches.plots import HEIGHT, WIDTH, Axis, axis_over, band, points
from autoprog.endpoints import curve_risks, list_parts
from autoprog.report.verdict import knows_nothing, reasons_for_doubt

_SIDE = 270.0
_BELOW_ZERO = 0.15


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve with its band on a pair of axes."""

    across: Axis
    down: Axis
    line: str
    band: str | None
    others: tuple[tuple[str, str], ...] = ()  # name and points of further curves


@dataclass(frozen=True, slots=True)
class Horizon:
    """Performance at one horizon; a binary outcome has one without a time.

    `measures` and `baseline` hold the estimates by name, `intervals` their ends.
    """

    time: float | None
    measures: dict[str, Any]
    baseline: dict[str, Any] | None
    gain: dict[str, Any] | None
    calibration: Curve | None
    decisions: Curve | None


def list_horizons(ensemble: dict[str, Any]) -> list[Horizon]:
    """Return the horizons of a stored ensemble document, ascending."""
    return [
        Horizon(
            time,
            part.get("performance") or {},
            _measures_of_baseline(part.get("baseline")),
            part.get("gain_over_baseline"),
            _draw_calibration(part.get("calibration_curve")),
            _draw_decisions(part.get("net_benefit")),
        )
        for time, part in list_parts(ensemble)
    ]


def _measures_of_baseline(baseline: dict[str, Any] | None) -> dict[str, Any] | None:
    """Measures of the simple pipeline, which at a horizon has no document of its own."""
    return baseline and baseline.get("performance", baseline)


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a model knows no more than the average, until a time; an outcome without times has None."""

    time: float | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The horizons at which a model knows nothing."""

    doubts: tuple[Doubt, ...]
    is_nothing: bool  # at every horizon

    def withholds(self, time: float | None) -> bool:
        """Check whether strata and rules at this horizon mean nothing."""
        return any(doubt.time == time for doubt in self.doubts)


def find_doubts(ensemble: dict[str, Any] | None) -> Verdict:
    """Return the horizons at which the model of a stored ensemble document knows nothing; none without a document."""
    if ensemble is None:
        return Verdict((), is_nothing=False)
    times = [time for time, _ in list_parts(ensemble)]
    doubts = tuple(Doubt(time, reasons) for time in times if (reasons := reasons_for_doubt(ensemble, time)))
    return Verdict(doubts, knows_nothing(ensemble))


def choose_rules(rules: dict[str, Any] | None, verdict: Verdict) -> list[dict[str, Any]]:
    """Return the rules of the last horizon that has some; none of a horizon at which the model knows nothing."""
    found = [rule for rule in (rules or {}).get("rules", ()) if not verdict.withholds(rule.get("horizon"))]
    return [rule for rule in found if rule.get("horizon") == found[-1].get("horizon")]


def _draw_calibration(curve: dict[str, Any] | None) -> Curve | None:
    if not curve or not curve_risks(curve):
        return None
    x, y = curve_risks(curve), curve["observed"]
    lower, upper = curve.get("lower"), curve.get("upper")
    known = [value for value in (*x, *y, *(upper or ())) if value is not None]
    end = min(1.0, max(known) * 1.05) or 1.0
    across, down = Axis(0.0, end, _SIDE), Axis(0.0, end, _SIDE, downwards=True)
    area = None if lower is None or upper is None else band(x, lower, upper, across, down)
    return Curve(across, down, points(x, y, across, down), area)


def _draw_decisions(curve: dict[str, Any] | None) -> Curve | None:
    if not curve:
        return None
    t = curve["thresholds"]
    low, high = curve["range"]
    shown = [i for i, threshold in enumerate(t) if low <= threshold <= high]
    if not shown:
        return None

    def cut(values: list[float | None] | None) -> list[float | None]:
        return [] if values is None else [values[i] for i in shown]

    x, model = cut(t), cut(curve["model"])
    lines = {name: cut(curve.get(name)) for name in ("baseline", "treat_all")}
    ends = curve.get("model_interval")
    upper = [] if ends is None else cut(ends["upper"])
    known = [value for values in (model, upper, *lines.values()) for value in values if value is not None]
    top = max([*known, 0.0]) or 1.0
    across = Axis(low, high, WIDTH)
    down = axis_over([-_BELOW_ZERO * top, top], HEIGHT, downwards=True)
    area = None if ends is None else band([*map(float, x)], cut(ends["lower"]), upper, across, down)  # type: ignore[arg-type]
    others = tuple((name, points(x, values, across, down)) for name, values in lines.items() if values)
    return Curve(across, down, points(x, model, across, down), area, others)
