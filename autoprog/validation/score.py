"""How good a set of out-of-fold risks is, with an interval.

    y        outcomes, 1 for a patient with the outcome                                            (n,)
    p        out-of-fold risks                                                                     (n,)
    v        distinct values of p, ascending                                                       (n_values,)
    c1, c0   patients of a resample at each value, with and without the outcome                    (n_values,)
    n1, n0   patients of a resample with and without the outcome; both vary, as among other patients alike

A resample is no more than its counts c1 and c0, and every metric is a function of v, c1, c0:

    auc_roc    sum_k c1_k (sum_{l < k} c0_l + c0_k / 2) / (n1 n0)
    auc_prc    sum_k (c1_k / n1) T_k / (T_k + F_k),   T_k = sum_{l >= k} c1_l,   F_k = sum_{l >= k} c0_l
    brier      (sum_k c1_k (1 - v_k)^2 + c0_k v_k^2) / n
    log_loss   -(sum_k c1_k ln v_k + c0_k ln(1 - v_k)) / n
    net_benefit   (sum_k c1_k B(v_k) - c0_k H(v_k)) / n,   B and H as in `autoprog.evaluation.decision_curve`

    m        patients (or groups) with the rarer outcome
    h        t(m - 1) sd of the score over resamples, with Student's quantile

An interval of cross-validated risks is logit A +- h / (A (1 - A)) of a score A that ranks, A +- h of any other: the
percentiles of resamples are too narrow where few have the outcome. Other patients' risks, by a model that is what it
is, have percentile intervals.

The counts are multinomial over values and outcomes, so that a resample costs as many draws as there are values, not
patients. Many values are gathered into groups, half of them with as many patients with the outcome each, half with as
many without; the group's mean takes the place of its values. What that moves the score by is known, and taken off the
interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from autoprog.evaluation import Metric, benefit, harm

RESAMPLES = 1000
LEVEL = 0.95
GROUPS = 2000

INTERVAL = "the interval is Student's by the spread of their scores"
"""In words."""

NOT_CHOSEN = "right for a model that was not chosen by the same patients"

_EPSILON = 1e-15  # as the metric cuts risks

_Counts = NDArray[np.int64]
_Statistic = Callable[[NDArray[np.float64], _Counts, _Counts], float]


@dataclass(frozen=True, slots=True)
class ScoreEstimate:
    """A score and how far chance may have moved it.

    Attributes
    ----------
    estimate : float
        The score of all patients, in the metric's own direction.
    lower, upper : float
        Interval of level `level`.
    level : float
        In (0, 1).
    method : str
        What the interval covers and what it does not, in words.
    """

    estimate: float
    lower: float
    upper: float
    level: float
    method: str

    def to_json(self) -> dict[str, Any]:
        """As the API shows it."""
        return asdict(self)


def estimate_score(
    metric: Metric,
    y: NDArray[np.integer],
    p: NDArray[np.floating],
    rng: np.random.Generator,
    groups: NDArray[np.integer] | None = None,
    *,
    out_of_fold: bool = True,
) -> ScoreEstimate:
    """Score risks, with an interval by a bootstrap of the patients.

    The resamples are of patients, or of whole groups, whatever their outcomes: how many have it varies among other
    patients, too, and the Brier score, say, with it. The models are not
    fitted again, so that the interval speaks of these risks in other patients alike, not of another search. Of a model
    that was chosen by its score on the same patients this one is too good: see `corrected_score`.

    Parameters
    ----------
    metric : Metric
        The measure.
    y : ndarray, shape = (n_patients,)
        0 and 1, both present.
    p : ndarray, shape = (n_patients,)
        Risks, in [0, 1].
    rng : numpy.random.Generator
        Source of randomness.
    groups : ndarray of int, shape = (n_patients,), or None
        Rows that must be drawn together.
    out_of_fold : bool
        Whether the risks are by models of the other folds' patients, or by one model of other patients.

    Returns
    -------
    ScoreEstimate
        With `RESAMPLES` resamples and level `LEVEL`.

    References
    ----------
    Efron & Tibshirani 1993, An Introduction to the Bootstrap, chapter 13.
    """
    risks: NDArray[np.float64] = np.asarray(p, dtype=np.float64)
    v, place = _tabulated(y, risks)
    c1, c0 = (np.bincount(place[y == label], minlength=len(v)) for label in (1, 0))
    statistic = _statistic(metric)
    drawn = _resampled(c1, c0, rng) if groups is None else _resampled_groups(y, place, groups, rng)
    scores = np.array([statistic(v, *next(drawn)) for _ in range(RESAMPLES)])
    estimate = metric.score(y, risks)
    if out_of_fold:
        lower, upper = interval_of(metric, estimate, float(scores.std(ddof=1)), n_rarer(y, groups))
    else:
        ends = np.quantile(scores, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) + (estimate - statistic(v, c1, c0))
        lower, upper = np.clip(ends, metric.lower, metric.upper).tolist()
    method = _method(metric, len(np.unique(risks)), groups, out_of_fold=out_of_fold)
    return ScoreEstimate(estimate, lower, upper, LEVEL, method)


def interval_of(metric: Metric, score: float, sd: float, rarer: int) -> tuple[float, float]:
    """Interval of a cross-validated score.

    Parameters
    ----------
    metric : Metric
        Bounds the score.
    score : float
        A.
    sd : float
        Of the score over samples of so many patients, by resampling.
    rarer : int
        m, at least 2.

    Returns
    -------
    lower, upper : float
        Of level `LEVEL`, within the metric's range.
    """
    h = float(stdtrit(rarer - 1, (1 + LEVEL) / 2)) * sd
    if metric.ranks_only and metric.lower < score < metric.upper:
        reach = h / (score * (1 - score))
        return float(expit(logit(score) - reach)), float(expit(logit(score) + reach))
    lower, upper = np.clip([score - h, score + h], metric.lower, metric.upper).tolist()
    return lower, upper


def n_rarer(labels: NDArray[np.integer], groups: NDArray[np.integer] | None) -> int:
    """m: patients, or groups that hold patients, of the rarer of two outcomes."""
    counted = np.arange(len(labels)) if groups is None else groups
    return min(len(np.unique(counted[labels == label])) for label in (0, 1))


def title_of(metric: Metric) -> str:
    """The metric's name, with its range of thresholds where it has one."""
    over = "" if metric.thresholds is None else " for thresholds from {:g} to {:g}".format(*metric.thresholds)
    return metric.name + over


def _method(metric: Metric, n_risks: int, groups: NDArray[np.integer] | None, *, out_of_fold: bool) -> str:
    how = f"{RESAMPLES} bootstrap resamples of the {'patients' if groups is None else 'groups of patients'}"
    how += f", risks in about {GROUPS} groups" if n_risks > GROUPS else ""
    if not out_of_fold:
        return f"{title_of(metric)} of other patients; percentile interval of {how}"
    return f"{title_of(metric)} of out-of-fold risks, {how}; {INTERVAL}; {NOT_CHOSEN}"


def _tabulated(y: NDArray[np.integer], p: NDArray[np.float64]) -> tuple[NDArray[np.float64], _Counts]:
    """v, and the place of every patient's risk in it."""
    v, place = np.unique(p, return_inverse=True)
    if len(v) > GROUPS:
        shares = np.linspace(0, 1, GROUPS // 2 + 1)[1:-1]
        edges = np.unique([np.quantile(p[y == label], shares) for label in (0, 1)])
        _, place = np.unique(np.searchsorted(edges, p), return_inverse=True)
        v = np.bincount(place, weights=p) / np.bincount(place)
    return v, place


def _resampled(c1: _Counts, c0: _Counts, rng: np.random.Generator) -> Iterator[tuple[_Counts, _Counts]]:
    """c1 and c0 of one resample of the patients after another; each holds both outcomes."""
    both = np.concatenate([c1, c0])
    n = both.sum()
    while True:
        drawn1, drawn0 = np.split(rng.multinomial(n, both / n), 2)
        if drawn1.any() and drawn0.any():
            yield drawn1, drawn0


def _resampled_groups(
    y: NDArray[np.integer], place: _Counts, groups: NDArray[np.integer], rng: np.random.Generator
) -> Iterator[tuple[_Counts, _Counts]]:
    """c1 and c0 of one resample of the groups after another; each holds both outcomes."""
    distinct, of_row = np.unique(groups, return_inverse=True)
    n, n_values = len(distinct), int(place.max()) + 1
    while True:
        times = rng.multinomial(n, np.full(n, 1 / n))[of_row]
        c1, c0 = (np.bincount(np.repeat(place, times * (y == k)), minlength=n_values) for k in (1, 0))
        if c1.any() and c0.any():
            yield c1, c0


def _auc_roc(_v: NDArray[np.float64], c1: _Counts, c0: _Counts) -> float:
    return float(c1 @ (np.cumsum(c0) - c0 / 2) / (c1.sum() * c0.sum()))


def _auc_prc(_v: NDArray[np.float64], c1: _Counts, c0: _Counts) -> float:
    T, F = np.cumsum(c1[::-1]), np.cumsum(c0[::-1])
    return float(c1[::-1] @ (T / np.maximum(T + F, 1)) / c1.sum())


def _brier(v: NDArray[np.float64], c1: _Counts, c0: _Counts) -> float:
    return float((c1 @ (1 - v) ** 2 + c0 @ v**2) / (c1.sum() + c0.sum()))


def _log_loss(v: NDArray[np.float64], c1: _Counts, c0: _Counts) -> float:
    v = np.clip(v, _EPSILON, 1 - _EPSILON)
    return float(-(c1 @ np.log(v) + c0 @ np.log1p(-v)) / (c1.sum() + c0.sum()))


_FROM_COUNTS: dict[str, _Statistic] = {
    "auc_roc": _auc_roc,
    "auc_prc": _auc_prc,
    "brier": _brier,
    "log_loss": _log_loss,
}


def _statistic(metric: Metric) -> _Statistic:
    """The metric as a function of counts."""
    if metric.thresholds is not None:
        return _net_benefit(*metric.thresholds)
    return _FROM_COUNTS.get(metric.name) or _unrolled(metric)


def _net_benefit(a: float, b: float) -> _Statistic:
    def statistic(v: NDArray[np.float64], c1: _Counts, c0: _Counts) -> float:
        return float((c1 @ benefit(v, a, b) - c0 @ harm(v, a, b)) / (c1.sum() + c0.sum()))

    return statistic


def _unrolled(metric: Metric) -> _Statistic:
    """Any metric as a function of counts."""

    def statistic(v: NDArray[np.float64], c1: _Counts, c0: _Counts) -> float:
        y = np.repeat([1, 0], [c1.sum(), c0.sum()])
        return metric.score(y, np.concatenate([np.repeat(v, c1), np.repeat(v, c0)]))

    return statistic
