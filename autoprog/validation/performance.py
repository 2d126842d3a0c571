"""All measures of one set of risks, and its decision curve."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation import METRICS, make_metric, net_benefit, net_benefit_of_all
from autoprog.validation.calibration import Coefficient, compute_calibration
from autoprog.validation.estimate import Estimate, make_estimate, n_rarer
from autoprog.validation.influence import of_brier_skill, of_mean, standard_error
from autoprog.validation.measures import MEASURES
from autoprog.validation.score import estimate_score_interval, influence_on
from autoprog.validation.smooth_calibration import smooth_calibration

# A curve is drawn at every hundredth, and at so many thresholds of the range that was asked for, however narrow.
_HUNDREDTHS = 99
_IN_RANGE = 16
_SCORED = ("auc_roc", "auc_prc", "brier", "log_loss")

_Interval = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Performance:
    """What `MEASURES` describes, of one set of risks; None where a measure has no finite value.

    Attributes
    ----------
    auc_roc, auc_prc, brier, brier_skill, log_loss : float
        Of ranking and of the whole.
    slope, intercept, expected_observed : float or None
        Of calibration; see `compute_calibration`.
    ici, e50, e90 : float or None
        Of calibration; see `smooth_calibration`.
    net_benefit : float
        Mean over `thresholds`.
    thresholds : tuple of float
        The range.
    smoothing : str or None
        How the curve behind `ici` was smoothed.
    intervals : dict of str to Estimate
        Of every measure that has a value, by name; of level `LEVEL`.
    """

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
    net_benefit: float
    thresholds: tuple[float, float]
    smoothing: str | None
    intervals: dict[str, Estimate]

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON; of the intervals the ends."""
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
    y : ndarray, shape = (n_patients,)
        0 and 1, both present.
    p : ndarray, shape = (n_patients,)
        Risks in [0, 1], of patients whom the model was not fitted on.
    thresholds : tuple of float
        Range that the net benefit is a mean over, 0 < low <= high < 1.
    groups : ndarray of int, shape = (n_patients,), or None
        Patients who are alike, of whom an interval counts the groups.
    ranked : ndarray, shape = (n_patients,), optional
        The risks whose ranking counts, where it is not that of `p`: of risks that were recalibrated part by part those
        before.

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
    skill = make_estimate(
        "brier_skill", brier_skill(y, p), standard_error(of_brier_skill(y, p), groups), m, MEASURES["brier_skill"].upper
    )
    intervals = {
        **scored,
        "brier_skill": skill,
        "intercept": _as_estimate(calibration.intercept),
        "expected_observed": calibration.expected_observed,
        **({} if calibration.slope is None else {"slope": _as_estimate(calibration.slope)}),
        **({} if smooth is None else smooth.intervals),
    }
    values: dict[str, Any] = {name: found.estimate for name, found in intervals.items()}
    return Performance(
        **{**dict.fromkeys(MEASURES), **values},
        thresholds=thresholds,
        smoothing=None if smooth is None else smooth.method,
        intervals={name: intervals[name] for name in MEASURES if name in intervals},
    )


def _as_estimate(coefficient: Coefficient) -> Estimate:
    return Estimate(coefficient.estimate, coefficient.lower, coefficient.upper)


def compute_gains(
    y: NDArray[np.integer],
    model: tuple[NDArray[np.floating], NDArray[np.floating]],
    baseline: tuple[NDArray[np.floating], NDArray[np.floating]],
    thresholds: tuple[float, float],
    groups: NDArray[np.integer] | None = None,
) -> dict[str, Estimate]:
    """By how much a model is better than the simple pipeline, on the same patients.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        0 and 1; at least 2 of each.
    model, baseline : pair of ndarray, each shape = (n_patients,)
        Risks whose ranking counts, and risks whose values count.
    thresholds : tuple of float
        Range of the net benefit.
    groups : ndarray of int, shape = (n_patients,), or None
        Patients who are alike.

    Returns
    -------
    dict of str to Estimate
        Of `auc_roc`, `brier` and `net_benefit`: the model's less the baseline's, in the measure's own direction.
    """
    found: dict[str, Estimate] = {}
    for metric in (METRICS["auc_roc"], METRICS["brier"], make_metric("net_benefit", thresholds)):
        mine, its = (
            np.asarray(ranked if metric.ranks_only else valued, dtype=np.float64)
            for ranked, valued in (model, baseline)
        )
        difference = metric.score(y, mine) - metric.score(y, its)
        error = standard_error(influence_on(metric, y, mine) - influence_on(metric, y, its), groups)
        found[metric.name] = make_estimate("difference", difference, error, n_rarer(y, groups))
    return found


def brier_skill(y: NDArray[np.integer], p: NDArray[np.floating]) -> float:
    """How much of the event rate's Brier score risks take away.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        0 and 1, both present.
    p : ndarray, shape = (n_patients,)
        Risks in [0, 1].

    Returns
    -------
    float
        At most 1, that of risks that are 0 and 1 and right; 0 is that of giving every patient the event rate, below 0
        is worse than that.

    References
    ----------
    Steyerberg et al. 2010, Epidemiology 21:128, there the scaled Brier score.
    """
    rate = float(np.mean(y))
    return 1 - METRICS["brier"].score(y, np.asarray(p, dtype=np.float64)) / (rate * (1 - rate))


@dataclass(frozen=True, slots=True)
class DecisionCurve:
    """Net benefit of deciding by risks, threshold by threshold; all in true positives a patient.

    Attributes
    ----------
    thresholds : tuple of float
        Ascending, in (0, 1).
    model : tuple of float
        Of treating where the model's risk reaches the threshold.
    baseline : tuple of float or None
        Of treating where the simple pipeline's does.
    model_interval, baseline_interval : pair of tuple of float, or None
        Lower and upper ends at each threshold, of level `LEVEL`, pointwise.
    gain_interval : pair of tuple of float, or None
        Of the model's net benefit less the baseline's, paired.
    treat_all, treat_none : tuple of float
        Of treating everybody, and nobody: a model below either is of no use at that threshold.
    range : tuple of float
        The thresholds that the search was asked to consider.
    """

    thresholds: tuple[float, ...]
    model: tuple[float, ...]
    baseline: tuple[float, ...] | None
    model_interval: tuple[tuple[float, ...], tuple[float, ...]]
    baseline_interval: tuple[tuple[float, ...], tuple[float, ...]] | None
    gain_interval: tuple[tuple[float, ...], tuple[float, ...]] | None
    treat_all: tuple[float, ...]
    treat_none: tuple[float, ...]
    range: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        document: dict[str, Any] = {}
        for name, value in asdict(self).items():
            if name.endswith("_interval"):
                document[name] = None if value is None else {"lower": list(value[0]), "upper": list(value[1])}
            else:
                document[name] = None if value is None else list(value)
        return document


def decision_curve(
    y: NDArray[np.integer],
    model: NDArray[np.floating],
    baseline: NDArray[np.floating] | None,
    thresholds: tuple[float, float],
    groups: NDArray[np.integer] | None = None,
) -> DecisionCurve:
    """Decision curves of a model and of the simple pipeline.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        0 and 1.
    model, baseline : ndarray, shape = (n_patients,)
        Risks in [0, 1], of patients whom the models were not fitted on; no baseline where it could not be evaluated.
    thresholds : tuple of float
        The range of thresholds of interest.
    groups : ndarray of int, shape = (n_patients,), or None
        Patients who are alike.

    Returns
    -------
    DecisionCurve
        At every hundredth and, more closely if that is narrow, over the range.

    References
    ----------
    Vickers & Elkin 2006, Medical Decision Making 26:565.
    """
    everywhere = np.arange(1, _HUNDREDTHS + 1) / (_HUNDREDTHS + 1)
    t = np.unique(np.concatenate([everywhere, np.linspace(*thresholds, _IN_RANGE)]).round(6))
    t = t[(t > 0) & (t < 1)]
    m = n_rarer(y, groups)

    def interval(p: NDArray[np.floating], other: NDArray[np.floating] | None = None) -> _Interval:
        ends = []
        for threshold in t:
            gained = _decided(y, p, threshold) - (0.0 if other is None else _decided(y, other, threshold))
            error = standard_error(of_mean(gained), groups)
            found = make_estimate("net_benefit", float(gained.mean()), error, m)
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
    """What each patient adds to the net benefit of treating where the risk reaches t."""
    return np.where(np.asarray(p) >= t, y - (1 - y) * t / (1 - t), 0.0)
