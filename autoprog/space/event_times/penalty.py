"""Ridge penalties of proportional hazards models."""

from __future__ import annotations

EVENTS_A_COLUMN = 10.0
"""Rule of thumb: events per column (Peduzzi et al. 1995, J Clin Epidemiol 48:1503)."""


def ridge_penalty(alpha: float, n_columns: int, n_events: int) -> float:
    """Penalty on standardised columns: `alpha`, plus 1 for every column in excess of the events; 0 if `alpha` is 0."""
    # With many columns in excess, the log hazard ratios vary a priori about as a standard normal variable does
    # (penalised Cox regression: Verweij & van Houwelingen 1994, Stat Med 13:2427).
    return alpha and alpha + max(0.0, n_columns - n_events / EVENTS_A_COLUMN)
