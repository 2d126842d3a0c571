"""All measures of a set of risks, and its decision curve."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.performance.calibration import compute_calibration, smooth_calibration
from autoprog.performance.influence import MEASURES, of_brier_skill, of_mean, standard_error
from autoprog.performance.metrics import METRICS, make_metric, net_benefit, net_benefit_of_all
from autoprog.performance.score import estimate_score_interval, make_interval, n_rarer
from autoprog.survival import Interval

# A curve has a point at every hundredth, and so many points within the range of interest, however narrow.
_HUNDREDTHS = 99
_IN_RANGE = 16
_SCORED = ("auc_roc", "auc_prc", "brier", "log_loss")

_Band = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Performance:
    """The measures described by `MEASURES`; None if a measure has no finite value."""

    auc_roc: float
    auc_prc: float
    brier: float
    brier_skill: float
    log_loss: float
    slope: float | None
    intercept: float
    expected_observed: float
    ici: float | None
    e50: float | None
    e90: float | None
    net_benefit: float  # mean over `thresholds`
    thresholds: tuple[float, float]
    smoothing: str | None  # how the curve behind `ici` was smoothed
    intervals: dict[str, Interval]  # of level `LEVEL`, by name of the measures that have a value
    uncorrected: dict[str, float] | None = None  # values before `correct_performance`, of the measures that it changed

    def to_json(self) -> dict[str, Any]:
        """JSON document, with the ends of the intervals."""
        ends = {name: {"lower": found.lower, "upper": found.upper} for name, found in self.intervals.items()}
        return {**asdict(self), "thresholds": list(self.thresholds), "intervals": ends}


def compute_performance(
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    thresholds: tuple[float, float],
    groups: NDArray[np.integer] | None = None,
    *,
    ranked: NDArray[np.floating] | None = None,
) -> Performance:
    """Measure risks against outcomes.

    Parameters
    ----------
    y, p : ndarray, shape = (n_patients,)
        Outcomes 0 and 1, both present; risks in [0, 1] of patients on whom the model was not fitted.
    thresholds : tuple of float
        Range of the mean net benefit, 0 < low <= high < 1.
    groups : ndarray of int, shape = (n_patients,), or None
        Groups of correlated patients; intervals then count groups.
    ranked : ndarray, shape = (n_patients,), optional
        Risks for the rank measures, if they differ from `p`: those before a recalibration by parts.

    Returns
    -------
    Performance
        Every measure.
    """
    p = np.asarray(p, dtype=np.float64)
    of_ranks = p if ranked is None else np.asarray(ranked, dtype=np.float64)
    calibration, smooth, m = compute_calibration(y, p, groups), smooth_calibration(y, p, groups), n_rarer(y, groups)
    scored = {
        metric.name: estimate_score_interval(metric, y, of_ranks if metric.ranks_only else p, groups)
        for metric in (*map(METRICS.__getitem__, _SCORED), make_metric("net_benefit", thresholds))
    }
    skill = make_interval(
        "brier_skill", brier_skill(y, p), standard_error(of_brier_skill(y, p), groups), m, MEASURES["brier_skill"].upper
    )
    intervals = {
        **scored,
        "brier_skill": skill,
        "intercept": calibration.intercept,
        "expected_observed": calibration.expected_observed,
        **({} if calibration.slope is None else {"slope": calibration.slope}),
        **({} if smooth is None else smooth.intervals),
    }
    values: dict[str, Any] = {name: found.estimate for name, found in intervals.items()}
    return Performance(
        **{**dict.fromkeys(MEASURES), **values},
        thresholds=thresholds,
        smoothing=None if smooth is None else smooth.method,
        intervals={name: intervals[name] for name in MEASURES if name in intervals},
    )


def brier_skill(y: NDArray[np.integer], p: NDArray[np.floating]) -> float:
    """Scaled Brier score (Steyerberg et al. 2010, Epidemiology 21:128): 1 is perfect, 0 is the event rate for all."""
    rate = float(np.mean(y))
    return 1 - METRICS["brier"].score(y, np.asarray(p, dtype=np.float64)) / (rate * (1 - rate))


@dataclass(frozen=True, slots=True)
class DecisionCurve:
    """Net benefit of decisions by risk at each threshold, in true positives per patient."""

    thresholds: tuple[float, ...]  # ascending, in (0, 1)
    model: tuple[float, ...]  # treat if the model's risk reaches the threshold
    baseline: tuple[float, ...] | None  # treat if the simple pipeline's risk does
    model_interval: _Band  # lower and upper ends, pointwise, of level `LEVEL`
    baseline_interval: _Band | None
    gain_interval: _Band | None  # of model less baseline, paired
    treat_all: tuple[float, ...]  # a model below this or `treat_none` is useless at the threshold
    treat_none: tuple[float, ...]
    range: tuple[float, float]  # thresholds of interest to the search

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        document: dict[str, Any] = {}
        for name, value in asdict(self).items():
            if name.endswith("_interval"):
                document[name] = None if value is None else {"lower": list(value[0]), "upper": list(value[1])}
            else:
                document[name] = None if value is None else list(value)
        return document


def curve_thresholds(range_: tuple[float, float]) -> NDArray[np.float64]:
    """Thresholds of a decision curve, ascending: every hundredth, and 16 of the range of interest."""
    everywhere = np.arange(1, _HUNDREDTHS + 1) / (_HUNDREDTHS + 1)
    t = np.unique(np.concatenate([everywhere, np.linspace(*range_, _IN_RANGE)]).round(6))
    return t[(t > 0) & (t < 1)]


def decision_curve(
    y: NDArray[np.integer],
    model: NDArray[np.floating],
    baseline: NDArray[np.floating] | None,
    thresholds: tuple[float, float],
    groups: NDArray[np.integer] | None = None,
) -> DecisionCurve:
    """Compute the decision curves of a model and of the simple pipeline (Vickers & Elkin 2006, Med Decis Mak 26:565).

    Parameters
    ----------
    y, model, baseline
        Outcomes 0 and 1; out-of-sample risks in [0, 1], with no baseline if it could not be evaluated.
    thresholds, groups
        As `compute_performance` takes them.

    Returns
    -------
    DecisionCurve
        At every hundredth, and at 16 thresholds of the range.
    """
    t = curve_thresholds(thresholds)
    m = n_rarer(y, groups)

    def interval(p: NDArray[np.floating], other: NDArray[np.floating] | None = None) -> _Band:
        ends = []
        for threshold in t:
            gained = _decided(y, p, threshold) - (0.0 if other is None else _decided(y, other, threshold))
            error = standard_error(of_mean(gained), groups)
            found = make_interval("net_benefit", float(gained.mean()), error, m)
            ends.append((found.lower, found.upper))
        lower, upper = zip(*ends, strict=True)
        return lower, upper

    return DecisionCurve(
        thresholds=tuple(t.tolist()),
        model=tuple(net_benefit(y, model, t).tolist()),
        baseline=None if baseline is None else tuple(net_benefit(y, baseline, t).tolist()),
        model_interval=interval(model),
        baseline_interval=None if baseline is None else interval(baseline),
        gain_interval=None if baseline is None else interval(model, baseline),
        treat_all=tuple(net_benefit_of_all(float(np.mean(y)), t).tolist()),
        treat_none=(0.0,) * len(t),
        range=thresholds,
    )


def _decided(y: NDArray[np.integer], p: NDArray[np.floating], t: float) -> NDArray[np.float64]:
    """Contribution of each patient to the net benefit of treating at threshold t."""
    return np.where(np.asarray(p) >= t, y - (1 - y) * t / (1 - t), 0.0)


_BINS = 20
_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class RiskDistribution:
    """Histogram of risks, by outcome."""

    edges: tuple[float, ...]  # 0 to 1, one more than there are bins; a bin includes its lower edge, the last one both
    with_outcome: tuple[int, ...]
    without_outcome: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return {name: list(value) for name, value in asdict(self).items()}


def risk_distribution(y: NDArray[np.integer], p: NDArray[np.floating]) -> RiskDistribution:
    """Count patients by outcome, 0 or 1, and by risk in [0, 1], in twenty bins of equal width."""
    edges = np.linspace(0, 1, _BINS + 1)
    with_outcome, without = (tuple(np.histogram(p[y == label], edges)[0].tolist()) for label in (1, 0))
    return RiskDistribution(tuple(edges.round(_DECIMALS).tolist()), with_outcome, without)
