"""The error of risks that refits do not show: boosted trees look for it in the risks out of fold.

    c       log odds of recalibrated out-of-fold risks p                                   (n,)
    y, o    outcome, and weight of the patients of whom it is known, 0 for others          (n,)
    s       p (1 - p), variance of y                                                       (n,)
    delta   what trees that begin with c add to it, learnt from other folds, less its projection on (1, c)    (n,)
    T       sum o delta (y - p) / sqrt(sum o^2 s delta^2): standard normal if the risks are right
    S       (sum o s)^2 / sum o^2 s: information of the outcomes on a shift of the log odds

    tau^2 = (max(T + 3, 0)^2 + 2) / S

(T^2 - 1) / S estimates the mean square of that part of the log odds' error that delta points to. Two margins are added:
T is about -2 where nothing is amiss, as trees also follow what chance has left to the out-of-fold risks, and they do
not find everything. Both, and kappa of `patient_intervals`, were chosen together on 40 simulated cohorts.

References
----------
Friedman 2001, Annals of Statistics 29:1189 (boosting); Rao 1948, Proceedings of the Cambridge Philosophical Society
44:50 (score test).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.model_selection import GroupKFold, KFold

from autoprog.performance import compute_logit

_TOO_LOW, _UNSEEN = 3.0, 2.0
_FOLDS, _SEED = 5, 0
_FEWEST_GROUPS = 2
_TREES, _MIN_LEAF = 50, 20
_BOOSTING = {
    "objective": "binary",
    "num_leaves": 4,
    "learning_rate": 0.05,
    "lambda_l2": 1.0,
    "boost_from_average": False,
    "feature_pre_filter": False,
    "deterministic": True,
    "num_threads": 1,
    "verbose": -1,
}

_Floats = NDArray[np.float64]


def estimate_lack_of_fit(
    X: _Floats,
    y: NDArray[np.integer],
    risks: _Floats,
    weights: _Floats,
    groups: NDArray[np.integer] | None = None,
) -> float:
    """Estimate the mean squared error of risks that the patients' features could explain.

    Parameters
    ----------
    X : ndarray, shape = (n, n_features)
        NaN is missing.
    y : ndarray, shape = (n,)
        Outcomes, 0 or 1; of patients with weight 0 they do not count.
    risks : ndarray, shape = (n,)
        Recalibrated out-of-fold risks, in [0, 1].
    weights : ndarray, shape = (n,)
        1, or the inverse probability of not being censored; 0 for patients whose outcome is unknown.
    groups : ndarray, shape = (n,), optional
        Codes of patients who belong together.

    Returns
    -------
    float
        tau^2, of the log odds, above 0.
    """
    known = np.flatnonzero(weights > 0)
    X, y, c, o = X[known], y[known], compute_logit(risks[known]), weights[known]
    p = expit(c)  # never 0 or 1, as the logit is cut
    s = p * (1 - p)
    information = float((o * s).sum() ** 2 / (o**2 * s).sum())
    delta = _projected(_corrections(X, y, c, o, None if groups is None else groups[known]), c, o * s)
    size = float(np.sqrt((o**2 * s * delta**2).sum()))
    found = float((o * delta * (y - p)).sum()) / size if size > 0 else 0.0
    return (max(found + _TOO_LOW, 0.0) ** 2 + _UNSEEN) / information


def _corrections(
    X: _Floats, y: NDArray[np.integer], c: _Floats, o: _Floats, groups: NDArray[np.integer] | None
) -> _Floats:
    import lightgbm  # noqa: PLC0415  this process needs it nowhere else

    delta = np.zeros(len(y))
    if groups is not None and len(np.unique(groups)) < _FEWEST_GROUPS:
        return delta  # nobody is left from whom to learn
    if groups is None:
        folds = KFold(min(_FOLDS, len(y)), shuffle=True, random_state=_SEED).split(X)
    else:
        folds = GroupKFold(min(_FOLDS, len(np.unique(groups)))).split(X, groups=groups)
    for train, test in folds:
        settings = {**_BOOSTING, "min_data_in_leaf": max(1, min(_MIN_LEAF, len(train) // 10))}
        data = lightgbm.Dataset(X[train], y[train], weight=o[train], init_score=c[train], params=settings)
        delta[test] = lightgbm.train(settings, data, _TREES).predict(X[test], raw_score=True)
    return delta


def _projected(delta: _Floats, c: _Floats, weight: _Floats) -> _Floats:
    """Remove what the recalibration could have done."""
    c = c - np.average(c, weights=weight)
    delta = delta - np.average(delta, weights=weight)
    spread = float(weight @ c**2)
    return delta - c * (float(weight @ (delta * c)) / spread) if spread > 0 else delta
