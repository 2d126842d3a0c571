"""What the report calls features, outcomes, horizons and pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autoprog.report.phrases import algorithm_name, number, quoted, upper_first
from autoprog.report.run import ReportedRun

_STAGES = ("imputation", "features", "prediction", "calibration")


def outcome_name(run: ReportedRun) -> str:
    """The outcome as its author calls it, or by its column and value."""
    label = run.outcome.get("label")
    if label:
        return str(label)
    column, value = run.outcome[run.kind.column], run.outcome[run.kind.value]
    return f"Outcome {quoted(column)} with value {quoted(value)}"


def horizon_text(run: ReportedRun, horizon: float) -> str:
    """`5 years`, or `1,825 (unit of “time”)`."""
    return run.with_unit(number(horizon))


def within(run: ReportedRun, horizon: float | None) -> str:
    """` within 5 years`; empty without a horizon."""
    return "" if horizon is None else f" within {horizon_text(run, horizon)}"


def at(run: ReportedRun, horizon: float | None, before: str = "") -> str:
    """`at 365 days`, for the middle of a sentence; empty without a horizon."""
    return "" if horizon is None else f"{before}at {run.time_text(horizon)}"


def band_limits(band: Mapping[str, Any]) -> str:
    """Risks of a stratum in per cent: `11 to 31`."""
    return f"{100 * band['lower']:.3g} to {100 * band['upper']:.3g}"


def outcome_within(run: ReportedRun, horizon: float | None = None) -> str:
    """`Death within 5 years`; with no horizon given, the last one."""
    times = run.horizons[-1:] if horizon is None else (horizon,)
    return outcome_name(run) + "".join(f"{within(run, time)}{run.words.after}" for time in times)


def at_horizon(run: ReportedRun, horizon: float | None) -> str:
    """`5 years`, for the title of a panel; empty without a horizon."""
    return upper_first(within(run, horizon).lstrip())


def feature_name(feature: Mapping[str, Any]) -> str:
    """A feature's label with its unit: `Age (years)`."""
    name = str(feature.get("label") or feature["name"])
    return f"{name} ({feature['unit']})" if feature.get("unit") else name


def input_name(run: ReportedRun, name: str) -> str:
    """An input of the model by its label and unit; of visits, which have no single feature, by its name."""
    known = {str(each["name"]): each for each in run.features}
    return feature_name(known[name]) if name in known else name


def cause_name(run: ReportedRun, cause: str) -> str:
    """A competing cause by its value in the file."""
    return f"{quoted(run.outcome['event'])} with value {quoted(cause)}"


def pipeline_name(configuration: Mapping[str, Any]) -> str:
    """A pipeline by its algorithms, without the stages that do nothing."""
    steps = (configuration[stage]["algorithm"] for stage in _STAGES)
    return " → ".join(algorithm_name(step) for step in steps if step != "none")


def rows_name(run: ReportedRun) -> str:
    """What a row is, in the plural."""
    return run.words.rows
