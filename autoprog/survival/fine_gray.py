"""Fine and Gray's regression: proportional hazards of the subdistribution of a cause.

    T       time                                                                            (n,)    time
    G       censoring survival, failures before censorings at ties                          step    [0, 1]
    H0      cumulative subdistribution hazard of a patient with mean columns                step    1

A patient with a competing event never has the event of interest and stays at risk of it, with a weight at u that falls
as G(u-)/G(T-) for the censoring that might have followed. This is a factor of u times one of the patient: sums over the
risk set stay cumulative sums, and the fit costs as much as Cox's. The incidence is 1 - exp(-H0(t) exp(beta'(x - c))).
Incidences of several causes, each fitted on its own, can sum to more than 1: see `rescale_causes`.

References
----------
Fine & Gray 1999, JASA 94:496; the weights in the form of a counting process: Geskus 2011, Biometrics 67:39.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.censoring import censoring_survival
from autoprog.survival.outcomes import check_events, check_outcomes
from autoprog.survival.partial_likelihood import Subdistribution, Ties
from autoprog.survival.proportional_hazards import ProportionalHazards, checked_columns, fit
from autoprog.survival.risk_sets import check_weights


def fit_fine_gray(
    X: ArrayLike,
    time: ArrayLike,
    event: ArrayLike,
    *,
    cause: int = 1,
    ties: Ties = "breslow",
    ridge: float = 0.0,
    weights: NDArray[np.generic] | None = None,
) -> ProportionalHazards:
    """Fit Fine and Gray's model.

    Parameters
    ----------
    X : array-like, shape = (n, d), columns, none constant and none a combination of the others
    time, event : array-like, shape = (n,), times and codes, 0 for censored
    cause : int, code of the event of interest; all others compete
    ties, ridge
        As for `fit_cox`; the penalty is against the summed log pseudo likelihood.
    weights : ndarray, shape = (n,), optional, case weights, 0 or more; the censoring is learnt with them too

    Returns
    -------
    ProportionalHazards
        `risk` gives the cumulative incidence of the cause. The robust standard error takes the censoring as known; the
        other one, for comparison, takes the weights for numbers of patients.

    Raises
    ------
    OutcomeError, NoEventError, ConvergenceError
        As `fit_cox`.

    Notes
    -----
    R's `cmprsk::crr` takes censorings before failures at ties, so the fourth decimal differs if there are any;
    `survival::finegray` does not.
    """
    t, codes = check_outcomes(time, event)
    columns = checked_columns(X, len(t))
    w = np.ones(len(t)) if weights is None else check_weights(weights, len(t))
    check_events(t[w > 0], codes[w > 0], np.inf, cause)
    competing = (codes > 0) & (codes != cause)
    stay = Subdistribution(competing, censoring_survival(t, codes, w))
    return fit(columns, t, codes == cause, w, ties=ties, ridge=ridge, subdistribution=stay)
