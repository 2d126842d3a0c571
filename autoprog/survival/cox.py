"""Cox's regression for large cohorts: the partial likelihood of `partial_likelihood`, without competing events.

scikit-survival loops over the patients, in minutes instead of seconds, and combines a Breslow baseline with Efron's
coefficients. Here the baseline follows the ties, as in R's survival.

References
----------
Cox 1972, J R Stat Soc B 34:187.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.outcomes import check_events, check_outcomes
from autoprog.survival.partial_likelihood import Ties
from autoprog.survival.proportional_hazards import ProportionalHazards, checked_columns, fit
from autoprog.survival.risk_sets import check_weights


def fit_cox(
    X: ArrayLike,
    time: ArrayLike,
    event: ArrayLike,
    *,
    ties: Ties = "efron",
    ridge: float = 0.0,
    weights: NDArray[np.generic] | None = None,
) -> ProportionalHazards:
    """Fit Cox's model.

    Parameters
    ----------
    X : array-like, shape = (n, d), columns, none constant and none a combination of the others
    time : array-like, shape = (n,)
    event : array-like, shape = (n,)
        Codes: 1 is the event, all others are censored. For the hazard of another cause pass `event == cause`.
    ties : {"efron", "breslow"}, how tied events are counted, in the coefficients and in the baseline
    ridge : float, 0 or more
        Penalty `ridge / 2` times the sum of squared coefficients of the standardised columns, against the summed log
        partial likelihood. Above 0 every estimate is finite and unique.
    weights : ndarray, shape = (n,), optional, case weights, 0 or more
        With Breslow's ties a weight counts as copies of the patient; Efron's take the copies as one event of that
        weight.

    Returns
    -------
    ProportionalHazards
        `risk` gives 1 - S.

    Raises
    ------
    OutcomeError, NoEventError, ConvergenceError
        If times, codes, columns or weights are invalid; if nobody had the event; if there is no finite or unique
        estimate.
    """
    t, codes = check_outcomes(time, event)
    columns = checked_columns(X, len(t))
    w = np.ones(len(t)) if weights is None else check_weights(weights, len(t))
    check_events(t[w > 0], codes[w > 0], np.inf, 1)
    return fit(columns, t, codes == 1, w, ties=ties, ridge=ridge)
