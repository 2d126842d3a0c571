"""Brier score with censored patients: at horizons, over an interval, and relative to the null model.

    h       horizon                                                                         scalar  time
    p       risk of the cause by h                                                          (n,)    [0, 1]
    y       1{T <= h, event is the cause}; a competing event by h is a known 0              (n,)    0, 1
    w       inverse probability of censoring weights at h                                   (n,)    0 up
    t       grid of an integral, ascending                                                  (k,)    time

    BS(h)  = (1/n) sum_i w_i (y_i - p_i)^2
    scaled = 1 - BS(h) / BS_0(h),   BS_0 that of the Aalen-Johansen estimate F(h) as everyone's risk

    integrated Brier score, over [t_1, t_k]:
        trapezoid   sum_j (t_{j+1} - t_j) (BS(t_j) + BS(t_{j+1}))/2  / (t_k - t_1)
        left_step   sum_j (t_{j+1} - t_j) BS(t_j)                    / (t_k - t_1)

References
----------
Graf, Schmoor, Sauerbrei & Schumacher 1999, Stat Med 18:2529; with competing risks: Schoop, Beyersmann, Schumacher &
Binder 2011, Biometrical Journal 53:88; scaled: Kattan & Gerds 2018, Diagn Progn Res 2:7.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.aalen_johansen import aalen_johansen
from autoprog.survival.kaplan_meier import InverseCensoring
from autoprog.survival.outcomes import HorizonError, check_outcomes, check_probabilities, risk_columns
from autoprog.survival.step import StepFunction

_Floats = NDArray[np.float64]


def brier_score(
    time: ArrayLike,
    event: ArrayLike,
    risk: ArrayLike,
    horizons: ArrayLike,
    G: StepFunction | None = None,
    cause: int = 1,
) -> NDArray[np.float64]:
    """Brier score at horizons; lower is better.

    Parameters
    ----------
    time, event : array-like, shape = (n,), times and codes, 0 for censored
    risk : array-like, shape = (n, H) or (n,), risk of the cause by each horizon, or one for all; not a survival
    horizons : array-like, shape = (H,)
    G : StepFunction, optional, censoring survival; learnt from these patients by default
    cause : int
        Code of the event.

    Returns
    -------
    ndarray, shape = (H,)
        0 or more; a constant risk of 1/2 has 1/4.

    Raises
    ------
    OutcomeError, HorizonError
        If times, codes or risks are invalid; if G is 0 at a horizon.
    """
    t, codes = check_outcomes(time, event)
    h = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    columns = check_probabilities(risk_columns(risk, len(t), len(h)))
    inverse = InverseCensoring(t, codes, G)
    scores = np.empty(len(h))
    for j, (horizon, p) in enumerate(zip(h, columns, strict=True)):
        y = (t <= horizon) & (codes == cause)
        scores[j] = inverse.weights(float(horizon)) @ (y - p) ** 2 / len(t)
    return scores


def scaled_brier(
    time: ArrayLike,
    event: ArrayLike,
    risk: ArrayLike,
    horizons: ArrayLike,
    G: StepFunction | None = None,
    cause: int = 1,
) -> NDArray[np.float64]:
    """Share of the null model's Brier score that is saved at horizons; higher is better.

    Parameters
    ----------
    time, event, risk, horizons, G, cause
        As for `brier_score`; somebody must have had the event by each horizon.

    Returns
    -------
    ndarray, shape = (H,)
        At most 1; 0 for these patients' Aalen-Johansen estimate, below 0 if worse, nan where that estimate is 0 or 1.

    Raises
    ------
    OutcomeError, HorizonError
        As `brier_score`.
    """
    t, codes = check_outcomes(time, event)
    h = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    F = aalen_johansen(t, codes, causes=max(cause, int(codes.max()))).incidence(cause)(h)
    null = brier_score(t, codes, np.broadcast_to(F, (len(t), len(h))), h, G, cause)
    scores = brier_score(t, codes, risk, h, G, cause)
    return np.asarray(1 - np.divide(scores, null, out=np.full(len(h), np.nan), where=null > 0))


def integrated_brier(
    time: ArrayLike,
    event: ArrayLike,
    risk: ArrayLike,
    grid: ArrayLike,
    G: StepFunction | None = None,
    *,
    cause: int = 1,
    rule: Literal["trapezoid", "left_step"] = "trapezoid",
) -> float:
    """Mean Brier score from the first to the last time of a grid; lower is better.

    Parameters
    ----------
    time, event, risk, grid, G, cause
        As for `brier_score`, with the grid's k >= 2 ascending times, 0 or more, in place of the horizons. The score
        depends far more on the grid's interval than on the rule: report both.
    rule : {"trapezoid", "left_step"}, rule of integration

    Returns
    -------
    float
        0 or more.

    Raises
    ------
    OutcomeError, HorizonError
        If times, codes or risks are invalid; if the grid is invalid, or G is 0 at its last time.
    """
    t_grid = np.asarray(grid, dtype=np.float64)
    if t_grid.ndim != 1 or len(t_grid) < 2 or (np.diff(t_grid) <= 0).any():
        msg = f"a grid needs two or more ascending times: got {np.array2string(t_grid, threshold=5)}"
        raise HorizonError(msg, float(np.max(np.asarray(time))))
    scores = brier_score(time, event, risk, t_grid, G, cause)
    return mean_over_grid(scores, t_grid, rule)


def mean_over_grid(scores: _Floats, grid: _Floats, rule: Literal["trapezoid", "left_step"] = "trapezoid") -> float:
    """Mean of a score (k,) from the first to the last time of an ascending grid (k,), by a rule of integration."""
    heights = (scores[:-1] + scores[1:]) / 2 if rule == "trapezoid" else scores[:-1]
    return float(heights @ np.diff(grid) / (grid[-1] - grid[0]))
