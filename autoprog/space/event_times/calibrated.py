"""The calibration stage for curves: held-out risks at several times, weighted for censoring.

=======  =========================================================================  ==================
symbol   meaning                                                                    shape
=======  =========================================================================  ==================
t        times                                                                      (T,)
F        held-out risk of the event of interest until t                             (n, T)
e        whether the event of interest was observed until t                         (n, T)
w        inverse probability of censoring weights                                   (n, T)
a, b     sigmoid: the log odds of the risk are a + b times those of F, b >= 0       scalars
=======  =========================================================================  ==================

The sigmoid is one weighted maximum-likelihood map for all times: it keeps the order of patients and of times. There is
one isotonic map per time; their risks are then made nondecreasing in time. The incidence of competing causes is scaled
to the rest. Isotonic risks, and competing causes, are computed at the times of the fit alone and rise between them as
the curves of the learner do, so that a risk does not depend on the other requested times. After the last time of the
fit all curves are constant.

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

from autoprog.cohort import event_strata
from autoprog.space.event_times.curves import rising_alike, scaled_to_leave_room
from autoprog.space.groups import Groups, with_groups
from autoprog.survival import ipcw_weights

_EPSILON = 1e-6
# Keeps a slope finite that the patients do not determine.
_WEAK_PENALTY = 1e3

Splits = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]


class CalibratedIncidence(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A learner of cumulative incidence and a map of its risks that is fitted on inner held-out risks.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with `cumulative_incidence`; clones are fitted to all patients and to each inner training fold.
    method : {"sigmoid", "isotonic"}
        The map.
    times : sequence of float
        Times at which risks are compared with outcomes, ascending.
    cv : int or sequence of (train, test)
        Inner folds: their number, or their rows.
    seed : int
        Seeds the inner folds.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all patients.
    sigmoid_ : tuple of (float, float)
        a and b; unused if the map is isotonic.
    isotonic_ : list of IsotonicRegression or None
        One per time.
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

    def fit(self, X: ArrayLike, y: NDArray[np.void], groups: Groups | None = None) -> Self:
        """Fit the pipeline, which gets the groups, and its calibration to outcomes of dtype `EVENT_TIMES`."""
        columns, t = np.asarray(X, dtype=np.float64), np.asarray(self.times, dtype=np.float64)
        F = np.empty((len(columns), len(t)))
        for train, test in self._splits(y):
            of_part = None if groups is None else groups[train]
            part = clone(self.estimator).fit(columns[train], y[train], **with_groups(self.estimator, of_part))
            F[test] = part.cumulative_incidence(columns[test], t)[:, 0]
        e = (y["event"] == 1)[:, None] & (y["time"][:, None] <= t)
        w = ipcw_weights(y["time"], y["event"], t)
        self.sigmoid_ = _sigmoid(F, e, w) if self.method == "sigmoid" else (0.0, 1.0)
        self.isotonic_ = _isotonic(F, e, w) if self.method == "isotonic" else None
        self.estimator_ = clone(self.estimator).fit(columns, y, **with_groups(self.estimator, groups))
        return self

    def _splits(self, y: NDArray[np.void]) -> Splits:
        if not isinstance(self.cv, int):
            return self.cv
        inner = StratifiedKFold(self.cv, shuffle=True, random_state=self.seed)
        return list(inner.split(np.zeros(len(y)), event_strata(y["event"], self.cv)))

    def cumulative_incidence(self, X: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
        """P(cause k until t | x), shape = (n_patients, n_causes, n_times), as in `IncidencePipeline`."""
        check_is_fitted(self)
        known = np.asarray(self.times, dtype=np.float64)
        wanted = np.minimum(np.asarray(times, dtype=np.float64), known[-1])
        t = np.union1d(wanted, known)
        F: NDArray[np.float64] = self.estimator_.cumulative_incidence(X, t)
        at_known = F[:, :, np.searchsorted(t, known)]
        curves = rising_alike(F, t, known, scaled_to_leave_room(at_known, self._mapped(at_known[:, 0])))
        if self.isotonic_ is None:
            curves[:, 0] = np.where(t > 0, self._mapped(F[:, 0]), 0.0)
        return curves[:, :, np.searchsorted(t, wanted)]

    def _mapped(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """Calibrated risks, nondecreasing in time; isotonic ones only at the times of the fit."""
        if self.isotonic_ is None:
            a, b = self.sigmoid_
            mapped: NDArray[np.float64] = expit(a + b * logit(np.clip(F, _EPSILON, 1 - _EPSILON)))
        else:
            mapped = np.column_stack([isotonic.predict(F[:, j]) for j, isotonic in enumerate(self.isotonic_)])
        return np.asarray(np.maximum.accumulate(mapped, axis=1))


def _sigmoid(F: NDArray[np.float64], e: NDArray[np.bool_], w: NDArray[np.float64]) -> tuple[float, float]:
    """Weighted maximum-likelihood a and b with b >= 0; if b is 0, everyone gets the weighted share of events."""
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
