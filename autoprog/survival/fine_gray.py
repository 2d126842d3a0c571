"""Fine and Gray's regression: proportional hazards of the subdistribution of a cause.

======  ====================================================================================  ======  ==========
symbol  meaning                                                                               shape   unit
======  ====================================================================================  ======  ==========
T       time                                                                                  (n,)    time
G       censoring survival, failures before censorings at ties                                step    [0, 1]
H0      cumulative subdistribution hazard of a patient with mean columns                      step    1
======  ====================================================================================  ======  ==========

Who has a competing event never has the event of interest, and so stays at risk of it. As he might have been censored
later, his weight at u falls as G(u-)/G(T-). This is a factor of u and one of the patient: sums over the risk set stay
cumulative sums, and the fit costs what Cox's does. The incidence of the cause is 1 - exp(-H0(t) exp(beta'(x - c))).

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
    X : array-like, shape = (n, d)
        Columns, none constant and none a combination of the others.
    time : array-like, shape = (n,)
        Times.
    event : array-like, shape = (n,)
        Codes, 0 for censored.
    cause : int
        Code of the event of interest; all others compete.
    ties : {"breslow", "efron"}
        How tied events are counted, in the coefficients and in the baseline.
    ridge : float
        Penalty `ridge / 2` times the square of the coefficients of the standardised columns, against the summed log
        pseudo likelihood; 0 or more. Above 0 every estimate is finite and unique.
    weights : ndarray, shape = (n,), optional
        Case weights, 0 or more; the censoring is learnt with them too.

    Returns
    -------
    ProportionalHazards
        `risk` gives the cumulative incidence of the cause. The robust standard error takes the censoring as known; the
        other one takes the weights for numbers of patients, and is meant for comparison.

    Raises
    ------
    OutcomeError
        If times, codes, columns or weights are none.
    NoEventError
        If nobody had the event.
    ConvergenceError
        If there is no finite or no unique estimate.

    Notes
    -----
    R's `cmprsk::crr` takes censorings before failures at ties and so differs in the fourth decimal where there are
    any; `survival::finegray` does not.
    """
    t, codes = check_outcomes(time, event)
    columns = checked_columns(X, len(t))
    w = np.ones(len(t)) if weights is None else check_weights(weights, len(t))
    check_events(t[w > 0], codes[w > 0], np.inf, cause)
    competing = (codes > 0) & (codes != cause)
    stay = Subdistribution(competing, censoring_survival(t, codes, w))
    return fit(columns, t, codes == cause, w, ties=ties, ridge=ridge, subdistribution=stay)
