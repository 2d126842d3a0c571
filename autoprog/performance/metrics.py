"""Measures of risks that a search can optimise.

The Brier skill score is left out: in stratified folds it ranks pipelines as the Brier score does.

Net benefit: the value of decisions by risk, in true positives per patient.

    y          outcomes, 1 for a patient with the outcome                                 (n,)
    p          risks                                                                      (n,)
    t          threshold: a patient is treated where p >= t; in (0, 1)                    (n_thresholds,)
    t/(1 - t)  harm of treating a patient without the outcome, in units of the benefit of treating one with it
    rate       share of patients with the outcome
    a, b       range of thresholds, 0 < a <= b < 1

    NB(t)  =  (1/n) sum_i 1[p_i >= t] (y_i - (1 - y_i) t/(1 - t))

Its mean over thresholds in [a, b] has a closed form, which needs no grid:

    (1/n) sum_i y_i B(p_i) - (1 - y_i) H(p_i)
    B(p)  =  (c - a) / (b - a),   c = p cut to [a, b]           benefit of a risk
    H(p)  =  (G(c) - G(a)) / (b - a),   G(u) = -u - ln(1 - u)   harm of a risk

References
----------
Vickers & Elkin 2006, Medical Decision Making 26:565; the mean over a range: Talluri & Shete 2016, BMC Medical
Informatics and Decision Making 16:94, there the standard area under the curve, unweighted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

EPSILON = 1e-6  # a risk of 0 or 1 has no logit


def compute_logit(p: NDArray[np.floating]) -> NDArray[np.float64]:
    """Log odds of risks in [0, 1], which are clipped to [1e-6, 1 - 1e-6]; same shape."""
    x: NDArray[np.float64] = logit(np.clip(np.asarray(p, dtype=np.float64), EPSILON, 1 - EPSILON))
    return x


_Floats = NDArray[np.float64]


def net_benefit(y: NDArray[Any], p: NDArray[np.floating[Any]], t: _Floats) -> _Floats:
    """Net benefit of treating the patients whose risk reaches each threshold t, in (0, 1); at most the event rate."""
    with_outcome, without = np.sort(p[y == 1]), np.sort(p[y == 0])
    true_positives = len(with_outcome) - np.searchsorted(with_outcome, t)
    false_positives = len(without) - np.searchsorted(without, t)
    benefit: _Floats = (true_positives - false_positives * t / (1 - t)) / len(y)
    return benefit


def net_benefit_of_all(rate: float, t: _Floats) -> _Floats:
    """Net benefit of treating everybody at thresholds t in (0, 1): 0 at the event rate, and negative above it."""
    return rate - (1 - rate) * t / (1 - t)


def mean_net_benefit(y: NDArray[Any], p: NDArray[np.floating[Any]], a: float, b: float) -> float:
    """Mean net benefit over thresholds in [a, b]: a proper score, but blind to differences outside the range."""
    return float((benefit(p[y == 1], a, b).sum() - harm(p[y == 0], a, b).sum()) / len(y))


def benefit(p: NDArray[np.floating[Any]], a: float, b: float) -> _Floats:
    """B(p), in [0, 1]: the share of the thresholds in [a, b] that a risk reaches."""
    if a == b:
        return (np.asarray(p) >= a).astype(np.float64)
    return (np.clip(np.asarray(p, dtype=np.float64), a, b) - a) / (b - a)


def harm(p: NDArray[np.floating[Any]], a: float, b: float) -> _Floats:
    """H(p), at least 0: the harm of treating a patient without the outcome at the thresholds that the risk reaches."""
    if a == b:
        return benefit(p, a, b) * a / (1 - a)
    c = np.clip(np.asarray(p, dtype=np.float64), a, b)
    at_least_0: _Floats = (a - c - np.log1p(-c) + np.log1p(-a)) / (b - a)
    return at_least_0


Score = Callable[[NDArray[Any], NDArray[np.floating[Any]]], float]

THRESHOLDS = (0.05, 0.2)  # risks at which a preventive treatment is commonly weighed

_EPSILON = 1e-15


@dataclass(frozen=True, slots=True)
class Metric:
    """Measure of risks against outcomes."""

    name: str  # in the settings
    score: Score  # of y, 0 and 1, and risks in [0, 1], both (n_patients,)
    greater_is_better: bool
    lower: float
    upper: float
    reference: str
    ranks_only: bool = False  # whether the score depends on the risks' order alone, so that it ignores calibration
    thresholds: tuple[float, float] | None = None  # range that the score is a mean over

    @property
    def identity(self) -> str:
        """Name with the range of thresholds, if any: scores of one identity are comparable."""
        if self.thresholds is None:
            return self.name
        low, high = self.thresholds
        return f"{self.name} {low:g} to {high:g}"

    def gain(self, score: float) -> float:
        """Score with the sign that makes more better."""
        return score if self.greater_is_better else -score


def _log_loss(y: NDArray[Any], risks: NDArray[np.floating[Any]]) -> float:
    return float(log_loss(y, np.clip(risks.astype(np.float64), _EPSILON, 1 - _EPSILON), labels=[0, 1]))


def _net_benefit(thresholds: tuple[float, float]) -> Metric:
    a, b = thresholds
    return Metric(
        "net_benefit",
        lambda y, p: mean_net_benefit(y, p, a, b),
        greater_is_better=True,
        lower=-float(harm(np.ones(1), a, b)[0]),
        upper=1.0,
        reference="Vickers & Elkin 2006, Medical Decision Making 26:565; mean over a range of thresholds",
        thresholds=thresholds,
    )


METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        Metric(
            "auc_roc",
            lambda y, p: float(roc_auc_score(y, p)),
            greater_is_better=True,
            lower=0.0,
            upper=1.0,
            reference="Hanley & McNeil 1982, Radiology 143:29",
            ranks_only=True,
        ),
        Metric(
            "auc_prc",
            lambda y, p: float(average_precision_score(y, p)),
            greater_is_better=True,
            lower=0.0,
            upper=1.0,
            reference="Davis & Goadrich 2006, ICML; average precision, no interpolation",
            ranks_only=True,
        ),
        Metric(
            "brier",
            lambda y, p: float(brier_score_loss(y, p)),
            greater_is_better=False,
            lower=0.0,
            upper=1.0,
            reference="Brier 1950, Monthly Weather Review 78:1",
        ),
        Metric(
            "log_loss",
            _log_loss,
            greater_is_better=False,
            lower=0.0,
            upper=float("inf"),
            reference="Good 1952, JRSS B 14:107; risks clipped to [1e-15, 1 - 1e-15]",
        ),
        _net_benefit(THRESHOLDS),
    )
}


def make_metric(name: str, thresholds: tuple[float, float] | None = None) -> Metric:
    """Make the metric of a search.

    Parameters
    ----------
    name : str
        Key of `METRICS`.
    thresholds : tuple of float, optional
        Range, 0 < low <= high < 1, for a metric that has one; `THRESHOLDS` by default.

    Returns
    -------
    Metric
        Entry of `METRICS`, over the requested range.

    Raises
    ------
    KeyError
        If the name is unknown.
    ValueError
        If the range is invalid.
    """
    metric = METRICS[name]
    if metric.thresholds is None or thresholds is None:
        return metric
    low, high = thresholds
    if not 0 < low <= high < 1:
        msg = f"thresholds must satisfy 0 < low <= high < 1, not {low} and {high}"
        raise ValueError(msg)
    return _net_benefit((low, high))
