"""How firmly the coefficients of proportional hazards are held to 0."""

from __future__ import annotations

EVENTS_A_COLUMN = 10.0
"""Events that a column is usually asked to have."""


def ridge_penalty(alpha: float, n_columns: int, n_events: int) -> float:
    """The penalty of a fit on standardised columns.

    Parameters
    ----------
    alpha : float
        Where there are events enough; 0 for no penalty at all.
    n_columns, n_events : int
        Of the fit.

    Returns
    -------
    float
        `alpha`, and 1 more for every column that the events do not bear, one for `EVENTS_A_COLUMN` of them: with many
        such columns the log hazard ratios vary, a priori, about as much as a standard normal variable.

    References
    ----------
    Peduzzi et al. 1995, J Clin Epidemiol 48:1503 (ten events a variable); Verweij & van Houwelingen 1994, Stat Med
    13:2427 (penalised Cox regression).
    """
    return alpha and alpha + max(0.0, n_columns - n_events / EVENTS_A_COLUMN)
