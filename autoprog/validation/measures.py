"""Table of the reported measures: direction, range and source of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from autoprog.evaluation import METRICS

Direction = Literal["greater", "smaller", "target 1", "target 0"]

_INFINITY = float("inf")
_CALIBRATION = "Cox 1958, Biometrika 45:562; Van Calster et al. 2019, BMC Medicine 17:230"
_SMOOTH = "Austin & Steyerberg 2019, Statistics in Medicine 38:4051; here by a restricted cubic spline"


@dataclass(frozen=True, slots=True)
class Measure:
    """A performance measure of a model."""

    name: str  # in the API; a field of `Performance`
    title: str  # on a page
    direction: Direction  # which values are better
    lower: float
    upper: float
    reference: str


def _optimisable(name: str, title: str) -> Measure:
    m = METRICS[name]
    return Measure(name, title, "greater" if m.greater_is_better else "smaller", m.lower, m.upper, m.reference)


MEASURES: dict[str, Measure] = {
    m.name: m
    for m in (
        _optimisable("auc_roc", "area under the ROC curve"),
        _optimisable("auc_prc", "area under the precision-recall curve"),
        _optimisable("brier", "Brier score"),
        Measure(
            "brier_skill",
            "Brier skill score",
            "greater",
            -_INFINITY,
            1.0,
            "1 - Brier / Brier of the event rate; scaled Brier score of Steyerberg et al. 2010, Epidemiology 21:128",
        ),
        _optimisable("log_loss", "logarithmic loss"),
        Measure("slope", "calibration slope", "target 1", -_INFINITY, _INFINITY, _CALIBRATION),
        Measure("intercept", "calibration intercept", "target 0", -_INFINITY, _INFINITY, _CALIBRATION),
        Measure("expected_observed", "expected / observed events", "target 1", 0.0, _INFINITY, _CALIBRATION),
        Measure("ici", "integrated calibration index", "smaller", 0.0, 1.0, _SMOOTH),
        Measure("e50", "median distance from the calibration curve, E50", "smaller", 0.0, 1.0, _SMOOTH),
        Measure("e90", "90th percentile of that distance, E90", "smaller", 0.0, 1.0, _SMOOTH),
        # Its lowest value, that of treating everybody if nobody has the outcome, depends on the thresholds.
        Measure(
            "net_benefit",
            "mean net benefit over the thresholds",
            "greater",
            -_INFINITY,
            1.0,
            METRICS["net_benefit"].reference,
        ),
    )
}
