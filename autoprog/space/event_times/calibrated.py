"""The calibration stage for curves: risks of held-out patients at several times, with censored patients weighed out.

=======  =========================================================================  ==================
symbol   meaning                                                                    shape
=======  =========================================================================  ==================
t        times                                                                      (T,)
F        risk of the event of interest until t, of patients held out                (n, T)
e        whether the event of interest was seen until t                             (n, T)
w        weights of inverse probability of censoring                                (n, T)
a, b     of the sigmoid: log odds of the risk are a + b times those of F, b >= 0     scalars
=======  =========================================================================  ==================

The sigmoid is one map for all times, the likeliest under the weights, so that it changes neither the order of patients
nor that of times. The isotonic map is one for each time, which are then made not to decrease with it. The incidence of
competing causes is scaled to what the event of interest leaves. Maps are applied at the times of the fit along with
those asked for: a risk does not depend on what else is asked.

References
----------
Platt (1999), Advances in Large Margin Classifiers; Zadrozny & Elkan (2002), KDD; weights: Vock et al. (2016), J Biomed
Inform 61:119-131.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from autoprog.space.event_times.curves import scaled_to_leave_room
from autoprog.space.event_times.outcomes import event_strata
from autoprog.survival import ipcw_weights

_EPSILON = 1e-6
# A slope that the patients do not determine stays finite.
_WEAK_PENALTY = 1e3

Splits = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]


class CalibratedIncidence(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A learner of cumulative incidence, and a map of its risks fitted on inner held-out risks.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with `cumulative_incidence`; one clone is fitted to all patients, one to each inner training fold.
    method : {"sigmoid", "isotonic"}
        The map.
    times : sequence of float
        Ascending; where risks are compared with outcomes.
    cv : int or sequence of (train, test)
        Inner folds: how many, or rows.
    seed : int
        Of the inner folds.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all patients.
    sigmoid_ : tuple of (float, float)
        a and b; of no effect where the map is isotonic.
    isotonic_ : list of IsotonicRegression or None
        One a time.
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        method: Literal["sigmoid", "isotonic"] = "sigmoid",
        times: ArrayLike = (),
        cv: int | Splits = 3,
        seed: int = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.times = times
        self.cv = cv
        self.seed = seed

    def fit(self, X: ArrayLike, y: NDArray[np.void]) -> Self:
        """Fit the pipeline and its calibration.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_features)
            What the pipeline takes.
        y : structured ndarray, shape = (n_patients,)
            See `event_times`.

        Returns
        -------
        CalibratedIncidence
            Itself.
        """
        columns, t = np.asarray(X, dtype=np.float64), np.asarray(self.times, dtype=np.float64)
        F = np.empty((len(columns), len(t)))
        for train, test in self._splits(y):
            part = clone(self.estimator).fit(columns[train], y[train])
            F[test] = part.cumulative_incidence(columns[test], t)[:, 0]
        e = (y["event"] == 1)[:, None] & (y["time"][:, None] <= t)
        w = ipcw_weights(y["time"], y["event"], t)
        self.sigmoid_ = _sigmoid(F, e, w) if self.method == "sigmoid" else (0.0, 1.0)
        self.isotonic_ = _isotonic(F, e, w) if self.method == "isotonic" else None
        self.estimator_ = clone(self.estimator).fit(columns, y)
        return self

    def _splits(self, y: NDArray[np.void]) -> Splits:
        if not isinstance(self.cv, int):
            return self.cv
        inner = StratifiedKFold(self.cv, shuffle=True, random_state=self.seed)
        return list(inner.split(np.zeros(len(y)), event_strata(y["event"], self.cv)))

    def cumulative_incidence(self, X: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
        """P(cause k until t | x).

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_features)
            As in `fit`.
        times : array-like, shape = (n_times,)
            0 or more. The isotonic map of a time that is none of those of the fit is that of the nearest.

        Returns
        -------
        ndarray, shape = (n_patients, n_causes, n_times)
            Not decreasing with time, the sum over causes at most 1.
        """
        check_is_fitted(self)
        wanted = np.asarray(times, dtype=np.float64)
        t = np.union1d(wanted, np.asarray(self.times, dtype=np.float64))
        F: NDArray[np.float64] = self.estimator_.cumulative_incidence(X, t)
        return scaled_to_leave_room(F, self._mapped(F[:, 0], t))[:, :, np.searchsorted(t, wanted)]

    def _mapped(self, F: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.isotonic_ is None:
            a, b = self.sigmoid_
            mapped: NDArray[np.float64] = expit(a + b * logit(np.clip(F, _EPSILON, 1 - _EPSILON)))
        else:
            known = np.asarray(self.times, dtype=np.float64)
            nearest = np.abs(t[:, None] - known).argmin(axis=1)
            mapped = np.column_stack([self.isotonic_[k].predict(F[:, j]) for j, k in enumerate(nearest)])
        mapped = np.where(t > 0, mapped, 0.0)
        return np.asarray(np.maximum.accumulate(mapped, axis=1))


def _sigmoid(F: NDArray[np.float64], e: NDArray[np.bool_], w: NDArray[np.float64]) -> tuple[float, float]:
    """The likeliest a and b with b >= 0; where it is 0, a gives everyone the weighted share of events."""
    known = w > 0
    x, label, weight = logit(np.clip(F[known], _EPSILON, 1 - _EPSILON)), e[known], w[known]
    if label.any() and not label.all() and np.ptp(x) > 0:
        fitted = LogisticRegression(C=_WEAK_PENALTY, max_iter=1000).fit(x[:, None], label, sample_weight=weight)
        if fitted.coef_[0, 0] > 0:
            return float(fitted.intercept_[0]), float(fitted.coef_[0, 0])
    share = float(np.clip(np.average(label, weights=weight), _EPSILON, 1 - _EPSILON))
    return float(logit(share)), 0.0


def _isotonic(F: NDArray[np.float64], e: NDArray[np.bool_], w: NDArray[np.float64]) -> list[IsotonicRegression]:
    maps = []
    for j in range(F.shape[1]):
        known = w[:, j] > 0
        isotonic = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        maps.append(isotonic.fit(F[known, j], e[known, j].astype(np.float64), w[known, j]))
    return maps
