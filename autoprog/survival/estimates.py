"""Estimates with their standard errors and intervals."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimates of probabilities at H horizons.

    Attributes
    ----------
    estimate, standard_error : ndarray, shape = (H,)
        In [0, 1], and 0 or more.
    lower, upper : ndarray, shape = (H,)
        Pointwise interval in [0, 1]; nan where the estimate is 0 or 1, as its transformation has no value there.
    """

    estimate: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the lower and upper limit of its interval."""

    estimate: float
    lower: float
    upper: float

    def to_json(self) -> dict[str, float]:
        """JSON document."""
        return asdict(self)


def log_log_limits(
    survival: NDArray[np.float64], standard_error: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Limits in (0, 1) of survival probabilities, symmetric on the scale of log(-log S); nan where S is 0 or 1."""
    # Kalbfleisch & Prentice 2002, The Statistical Analysis of Failure Time Data, 2nd ed., section 1.4.
    inside = (survival > _ROUNDING) & (survival < 1 - _ROUNDING)
    S = np.where(inside, survival, 0.5)
    reach = normal_quantile(level) * standard_error / np.abs(S * np.log(S))
    lower, upper = S ** np.exp(reach), S ** np.exp(-reach)
    return np.where(inside, lower, np.nan), np.where(inside, upper, np.nan)


def normal_quantile(level: float) -> float:
    """Distance in standard errors from an estimate to the limits of its two-sided interval."""
    return float(ndtri((1 + level) / 2))


def grouped_quantile(level: float, groups: NDArray[np.integer] | None) -> float:
    """As `normal_quantile`; with groups, whose spread tells the standard error, Student's for m - 1 of m groups."""
    return normal_quantile(level) if groups is None else student_quantile(level, len(np.unique(groups)))


def student_quantile(level: float, m: int) -> float:
    """As `grouped_quantile`, of m groups."""
    # A single group has the quantile of two, and so a wide interval.
    return float(stdtrit(max(1, m - 1), (1 + level) / 2))
