"""D-calibration: whether the survival predicted at each patient's own time is uniform, as it is for a right model.

    u       predicted survival of each patient at the patient's own time, S_i(T_i)          (n,)    [0, 1]
    B       number of bins of equal width                                                   scalar  -
    N_b     patients in the bin [(b - 1)/B, b/B), b = 1, ..., B; the last includes 1        (B,)    [0, n]

A patient with the event counts in the bin of u. For a censored one the survival at the event is anywhere below u: every
bin counts by its overlap with [0, u), over u.

    X^2 = sum_b (N_b - n/B)^2 / (n/B),   chi-squared with B - 1 degrees of freedom without censoring

With censoring X^2 is smaller, and the p-value too large.

References
----------
Haider, Hoehn, Davis & Greiner 2020, JMLR 21(85), section 3.4 and appendix B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from autoprog.survival.errors import OutcomeError
from autoprog.survival.risks import check_probabilities


@dataclass(frozen=True, slots=True, eq=False)
class DCalibration:
    """Distance from uniform of the survival at the patients' own times.

    Attributes
    ----------
    statistic : float, X^2, 0 or more; lower is better
    p_value : float in [0, 1], probability of a larger X^2 if the model is right; small speaks against it
    proportions : ndarray, shape = (B,), shares of the patients by bin; 1/B each is ideal
    """

    statistic: float
    p_value: float
    proportions: NDArray[np.float64]


def d_calibration(survival_at_time: ArrayLike, event: ArrayLike, bins: int = 10) -> DCalibration:
    """Test the whole predicted distribution of the time to the event.

    Parameters
    ----------
    survival_at_time : array-like, shape = (n,)
        Survival free of any event that the model predicts for each patient at the patient's own time.
    event : array-like, shape = (n,), 0 for censored; every other code is the event
    bins : int, at least 2

    Returns
    -------
    DCalibration
        Statistic, p-value, proportions. With censoring the p-value is too large.

    Raises
    ------
    OutcomeError
        If the lengths differ, a survival is missing or outside [0, 1], or there are fewer than two bins.
    """
    u, failed = np.asarray(survival_at_time, dtype=np.float64), np.asarray(event) != 0
    if u.ndim != 1 or failed.shape != u.shape or len(u) == 0 or np.isnan(u).any():
        msg = f"one survival and one event code a patient are needed: got shapes {u.shape} and {failed.shape}"
        raise OutcomeError(msg)
    if bins < 2:
        msg = f"two bins or more are needed, not {bins}"
        raise OutcomeError(msg)
    check_probabilities(u)
    bin_of = np.minimum((u * bins).astype(np.int64), bins - 1)
    counts = np.bincount(bin_of[failed], minlength=bins) + _spread(u[~failed], bin_of[~failed], bins)
    expected = len(u) / bins
    statistic = float(((counts - expected) ** 2).sum() / expected)
    return DCalibration(statistic, float(chdtrc(bins - 1, statistic)), counts / len(u))


def _spread(u: NDArray[np.float64], bin_of: NDArray[np.int64], bins: int) -> NDArray[np.float64]:
    """Censored patients by bin: the bins below that of u in full, and the part of the own bin below u."""
    positive = u > 0
    # A patient with a survival of 0 is surely in the first bin.
    whole = np.divide(1 / bins, u, out=np.zeros_like(u), where=positive)
    own = np.where(positive, 1 - bin_of * whole, 1.0)
    ends = np.bincount(bin_of, whole, minlength=bins)
    below = np.cumsum(ends[::-1])[::-1] - ends
    return np.asarray(below + np.bincount(bin_of, own, minlength=bins))
