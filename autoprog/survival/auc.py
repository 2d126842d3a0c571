"""Area under the ROC curve at a horizon: cumulative cases against dynamic controls.

    h       horizon                                                                         scalar  time
    m       risk by h, or any marker that is higher where the event is expected earlier     (n,)    real
    w       inverse probability of censoring weights at h                                   (n,)    0 up
    cases   patients with the event by h                                                    (n,)    bool

    AUC(h) = sum_{i case, j control} w_i w_j [1{m_i > m_j} + 1{m_i = m_j}/2] / (sum_{i case} w_i  sum_{j control} w_j)

References
----------
Heagerty & Zheng 2005, Biometrics 61:92; Uno, Cai, Tian & Wei 2007, JASA 102:527; Blanche, Dartigues &
Jacqmin-Gadda 2013, Stat Med 32:5381 (definitions 1 and 2 of controls).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.kaplan_meier import InverseCensoring
from autoprog.survival.outcomes import NoPairError, check_outcomes, risk_columns
from autoprog.survival.step import StepFunction

_Floats = NDArray[np.float64]


def cumulative_dynamic_auc(
    time: ArrayLike,
    event: ArrayLike,
    risk: ArrayLike,
    horizons: ArrayLike,
    G: StepFunction | None = None,
    *,
    cause: int = 1,
    controls: Literal["all", "event_free"] = "all",
) -> NDArray[np.float64]:
    """AUC at horizons; higher is better, 1/2 is chance.

    Parameters
    ----------
    time, event : array-like, shape = (n,), times and codes, 0 for censored
    risk : array-like, shape = (n, H) or (n,), risk by each horizon, or one marker for all; turn a survival round
    horizons : array-like, shape = (H,)
    G : StepFunction, optional, censoring survival; learnt from these patients by default
    cause : int
        Code of the event.
    controls : {"all", "event_free"}
        Those without the event by the horizon, a competing event included, or those without any event by it.

    Returns
    -------
    ndarray, shape = (H,)
        In [0, 1].

    Raises
    ------
    OutcomeError, HorizonError, NoPairError
        If times, codes or risks are invalid; if G is 0 at a horizon; if there is no case or no control at a horizon.
    """
    t, codes = check_outcomes(time, event)
    h = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    columns = risk_columns(risk, len(t), len(h))
    inverse = InverseCensoring(t, codes, G)
    scores = np.empty(len(h))
    for j, (horizon, m) in enumerate(zip(h, columns, strict=True)):
        w = inverse.weights(float(horizon))
        is_case = (t <= horizon) & (codes == cause)
        is_control = ~is_case if controls == "all" else t > horizon
        scores[j] = _auc(m, np.where(is_case, w, 0.0), np.where(is_control, w, 0.0), float(horizon))
    return scores


def _auc(m: _Floats, case: _Floats, control: _Floats, horizon: float) -> float:
    """AUC of weighted cases against weighted controls."""
    if not (case.any() and control.any()):
        who = "control" if case.any() else "case"
        msg = f"there is no {who} at horizon {horizon:g} who is not censored"
        raise NoPairError(msg)
    _, rank = np.unique(m, return_inverse=True)
    cases, controls = np.bincount(rank, case), np.bincount(rank, control)
    below = np.cumsum(controls) - controls
    return float(cases @ (below + controls / 2) / (case.sum() * control.sum()))
