"""Influence of each patient on a measure, and standard errors from it: by patients or groups, of one model or two.

    y        outcomes, 1 for a patient with the outcome                                                    (n,)
    p        risks                                                                                         (n,)
    q, r     shares of patients with the outcome and without                                               scalar
    psi      influence of each patient: a measure of n patients is the true one + mean(psi) + o(1/sqrt n)   (n,)
    F1, F0   share of the patients with, and without, the outcome whose risk is smaller, half of the equal  (n,)
    T, F     share of all patients who have, and have not, the outcome and at least this risk              (n,)
    A, V     the area under the ROC curve; the one under the precision-recall curve                        scalar
    g        groups of patients, m of them                                                                 (n,)

    mean of a loss l             psi = l - mean(l)
    Brier skill 1 - B / (q r)    psi = -(psi_B - B (1 - 2q) (y - q) / (q r)) / (q r)
    expected / observed          psi = (p - R y) / q, R the ratio
    A                            psi = y (F0 - A) / q + (1 - y) (1 - F1 - A) / r                  (DeLong's components)
    V                            psi_i = (y_i (T_i / (T_i + F_i) - V) + sum over j with the outcome and p_j <= p_i of
                                 (y_i F_j - (1 - y_i) T_j) / (n (T_j + F_j)^2)) / q

    standard error^2             m / (m - 1) sum over g of (sum of psi in g)^2 / n^2;  each patient a group by default

The difference of two models on the same patients has the difference of their influences, so that shared chance cancels.

References
----------
van der Vaart 1998, Asymptotic Statistics, chapter 20 (the delta method); DeLong, DeLong & Clarke-Pearson 1988,
Biometrics 44:837; Liang & Zeger 1986, Biometrika 73:13 (sums within groups).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.performance.metrics import METRICS, benefit, harm
from autoprog.survival import summed_by_group

_EPSILON = 1e-15  # the metric's clipping of risks

_Floats = NDArray[np.float64]
_Risks = NDArray[np.floating[Any]]
_Outcomes = NDArray[np.integer[Any]]


def standard_error(psi: _Floats, groups: NDArray[np.integer[Any]] | None = None) -> float:
    """Standard error of a measure from its influences; groups are codes from 0, at least 2 of them."""
    sums, m = (psi, len(psi)) if groups is None else summed_by_group(psi, groups)
    return float(np.sqrt(m / (m - 1) * (sums @ sums)) / len(psi))


def of_mean(l: _Floats) -> _Floats:  # noqa: E741  the table's symbol
    """Influences on a mean, from each patient's contribution to it."""
    return np.asarray(l - l.mean())


def brier_losses(y: _Outcomes, p: _Risks) -> _Floats:
    """Contribution of each patient to the Brier score."""
    return np.asarray((p - y) ** 2, dtype=np.float64)


def log_losses(y: _Outcomes, p: _Risks) -> _Floats:
    """Contribution of each patient to the log loss."""
    cut = np.clip(p, _EPSILON, 1 - _EPSILON)
    return np.asarray(-np.where(y == 1, np.log(cut), np.log1p(-cut)), dtype=np.float64)


def net_benefits(y: _Outcomes, p: _Risks, thresholds: tuple[float, float]) -> _Floats:
    """Contribution of each patient to the mean net benefit over a range of thresholds."""
    return np.asarray(np.where(y == 1, benefit(p, *thresholds), -harm(p, *thresholds)), dtype=np.float64)


def of_brier_skill(y: _Outcomes, p: _Risks) -> _Floats:
    """Influences on the Brier skill score."""
    losses, q = brier_losses(y, p), float(np.mean(y))
    of_rate = q * (1 - q)
    moved: _Floats = of_mean(losses) - losses.mean() * (1 - 2 * q) * (y - q) / of_rate
    return -moved / of_rate


def of_expected_observed(y: _Outcomes, p: _Risks) -> _Floats:
    """Influences on the ratio of expected to observed events."""
    q = float(np.mean(y))
    influences: _Floats = (p - p.mean() / q * y) / q
    return influences


def of_auc_roc(y: _Outcomes, p: _Risks) -> _Floats:
    """Influences on the area under the ROC curve."""
    ones, zeros = np.sort(p[y == 1]), np.sort(p[y == 0])
    psi = np.empty(len(y))
    F0, F1 = _shares_below(zeros, p[y == 1]), _shares_below(ones, p[y == 0])
    A, q = F0.mean(), len(ones) / len(y)
    psi[y == 1] = (F0 - A) / q
    psi[y == 0] = (1 - F1 - A) / (1 - q)
    return psi


def _shares_below(values: _Floats, p: _Risks) -> _Floats:
    """Share of the ascending values below each p; ties count half."""
    both = np.searchsorted(values, p, "left") + np.searchsorted(values, p, "right")
    shares: _Floats = both / (2 * len(values))
    return shares


def of_auc_prc(y: _Outcomes, p: _Risks) -> _Floats:
    """Influences on the area under the precision-recall curve."""
    n = len(y)
    order = np.argsort(-p, kind="stable")
    ranked, label = p[order], (y[order] == 1).astype(np.float64)
    # Equal risks share a rank.
    last = np.searchsorted(-ranked, -ranked, "right") - 1
    first = np.searchsorted(-ranked, -ranked, "left")
    T, F = np.cumsum(label)[last] / n, np.cumsum(1 - label)[last] / n
    precision, q = T / (T + F), label.mean()
    V = float(label @ precision) / label.sum()
    # For each rank, the sum over the patients with the outcome at this risk or below.
    below_F, below_T = (
        np.append(np.cumsum((label * part / (T + F) ** 2)[::-1])[::-1], 0.0)[first] / n for part in (F, T)
    )
    psi = np.empty(n)
    psi[order] = (label * (precision - V) + label * below_F - (1 - label) * below_T) / q
    return psi


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
