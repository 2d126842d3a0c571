"""All measures of one set of risks, and its decision curve."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation import METRICS, metric_of, net_benefit, net_benefit_of_all
from autoprog.validation.calibration import calibration_of
from autoprog.validation.smooth_calibration import smooth_calibration

# A curve is drawn at every hundredth, and at so many thresholds of the range that was asked for, however narrow.
_HUNDREDTHS = 99
_IN_RANGE = 16


@dataclass(frozen=True, slots=True)
class Performance:
    """What `MEASURES` describes, of one set of risks; None where a measure has no finite value.

    Attributes
    ----------
    auc_roc, auc_prc, brier, brier_skill, log_loss : float
        Of ranking and of the whole.
    slope, intercept, expected_observed : float or None
        Of calibration; see `calibration_of`.
    ici, e50, e90 : float or None
        Of calibration; see `smooth_calibration`.
    net_benefit : float
        Mean over `thresholds`.
    thresholds : tuple of float
        The range.
    smoothing : str or None
        How the curve behind `ici` was smoothed.
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

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "thresholds": list(self.thresholds)}


def performance_of(y: NDArray[np.integer], p: NDArray[np.floating], thresholds: tuple[float, float]) -> Performance:
    """Measure risks against outcomes.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        0 and 1, both present.
    p : ndarray, shape = (n_patients,)
        Risks in [0, 1], of patients whom the model was not fitted on.
    thresholds : tuple of float
        Range that the net benefit is a mean over, 0 < low <= high < 1.

    Returns
    -------
    Performance
        Every measure.
    """
    p = np.asarray(p, dtype=np.float64)
    calibration, smooth = calibration_of(y, p), smooth_calibration(y, p)
    return Performance(
        **{name: METRICS[name].score(y, p) for name in ("auc_roc", "auc_prc", "brier", "log_loss")},
        brier_skill=brier_skill(y, p),
        slope=None if calibration.slope is None else calibration.slope.estimate,
        intercept=calibration.intercept.estimate,
        expected_observed=calibration.expected_observed,
        ici=None if smooth is None else smooth.ici,
        e50=None if smooth is None else smooth.e50,
        e90=None if smooth is None else smooth.e90,
        net_benefit=metric_of("net_benefit", thresholds).score(y, p),
        thresholds=thresholds,
        smoothing=None if smooth is None else smooth.method,
    )


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
    treat_all, treat_none : tuple of float
        Of treating everybody, and nobody: a model below either is of no use at that threshold.
    range : tuple of float
        The thresholds that the search was asked to consider.
    """

    thresholds: tuple[float, ...]
    model: tuple[float, ...]
    baseline: tuple[float, ...] | None
    treat_all: tuple[float, ...]
    treat_none: tuple[float, ...]
    range: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {name: None if value is None else list(value) for name, value in asdict(self).items()}


def decision_curve(
    y: NDArray[np.integer],
    model: NDArray[np.floating],
    baseline: NDArray[np.floating] | None,
    thresholds: tuple[float, float],
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
    return DecisionCurve(
        thresholds=tuple(t.tolist()),
        model=tuple(net_benefit(y, model, t).tolist()),
        baseline=None if baseline is None else tuple(net_benefit(y, baseline, t).tolist()),
        treat_all=tuple(net_benefit_of_all(float(np.mean(y)), t).tolist()),
        treat_none=(0.0,) * len(t),
        range=thresholds,
    )
