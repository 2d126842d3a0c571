"""Report of a search as one self-contained page: no script, no external request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from autoprog.cohort import Feature
from autoprog.interpreter import Rule
from autoprog.search.curve import HEIGHT, WIDTH, draw
from autoprog.search.plots import BARS, SIDE, draw_calibration, draw_instability
from autoprog.validation import MEASURES

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
