"""Any classifier as a learner of event times: hazards of intervals, from all patients at risk in them.

=======  =======================================================================  ================
symbol   meaning                                                                  shape
=======  =======================================================================  ================
h        P(cause k in interval j | at risk at its start, x)                       (n, K, J)
S        P(no event until the end of interval j | x)                              (n, J)
F        P(cause k until the end of interval j | x)                               (n, K, J)
t        cuts                                                                     (J,)
=======  =======================================================================  ================

S[j] = S[j - 1] (1 - sum_k h[k, j]),   F[k, j] = F[k, j - 1] + S[j - 1] h[k, j]

One classifier per cause learns h on the pooled table (`person_periods`). Hazards whose sum over causes exceeds 1 are
divided by it, so that the sum of F never does. Between cuts F is linear.

References
----------
Cox (1972), J R Stat Soc B 34:187; Brown (1975), Biometrics 31:863 (pooled logistic regression); Tutz & Schmid (2016),
Modeling Discrete Time-to-Event Data, Springer, chapters 3 and 8 (competing risks).
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from autoprog.cohort import stratified_rows
from autoprog.space.event_times.curves import at_times
from autoprog.space.event_times.labels import along_all, fitted_to, path_fitted_to, predict_share
from autoprog.space.event_times.person_periods import PersonPeriods, cuts_with_events, with_interval
from autoprog.space.groups import Groups
from autoprog.space.path import HeldOut, PathFit

MAX_CELLS = 50_000_000
"""Most cells of the pooled table; a larger cohort is subsampled with the share of events kept."""

_CELLS_AT_ONCE = 5_000_000


class DiscreteTime(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Cumulative incidence from a classifier of pooled intervals.

    Parameters
    ----------
    classifier : estimator
        Unfitted; a clone of it is fitted to every cause.
    times : sequence of float
        Possible ends of intervals, ascending; intervals with few events are merged.
    n_causes : int
        K, at least 1.
    seed : int
        Seeds the subsample of a very large cohort.

    Attributes
    ----------
    classifiers_ : list of estimator, length K
        Fitted.
    cuts_ : ndarray, shape = (J,)
        t.
    """

    def __init__(self, classifier: BaseEstimator, times: ArrayLike, n_causes: int = 1, seed: int = 0) -> None:
        self.classifier = classifier
        self.times = times
        self.n_causes = n_causes
        self.seed = seed

    def fit(self, X: ArrayLike, y: NDArray[np.void], groups: Groups | None = None) -> Self:
        """Pool the intervals and fit one classifier per cause; ValueError without an event of interest in them."""
        table, event, together = self._pooled(X, y, groups)
        causes = range(1, self.n_causes + 1)
        self.classifiers_ = [fitted_to(self.classifier, table, event == cause, groups=together) for cause in causes]
        return self

    def fit_path(
        self,
        X: ArrayLike,
        y: NDArray[np.void],
        other_X: ArrayLike,
        other_y: NDArray[np.void],
        times: ArrayLike,
        groups: Groups | None = None,
    ) -> PathFit:
        """Fit the classifiers along their path, monitored on the intervals at risk of held-out patients.

        Parameters
        ----------
        X, y : array-like, shape = (n, d), and structured ndarray, shape = (n,)
            As in `fit`.
        other_X, other_y : array-like, shape = (n_others, d), and structured ndarray, shape = (n_others,)
            The held-out patients.
        times : array-like, shape = (n_times,)
            Times of the risks.
        groups : ndarray of int, shape = (n,), or None
            Patients that a classifier's own splits keep together.

        Returns
        -------
        PathFit
            Held-out risks of every cause, shape = (m, n_others, n_causes, n_times); the causes share the path values.

        Raises
        ------
        ValueError
            As in `fit`.
        """
        table, event, together = self._pooled(X, y, groups)
        columns, J = np.asarray(other_X, dtype=np.float64), len(self.cuts_)
        n = len(columns)
        periods = PersonPeriods.of(other_y, self.cuts_)
        places = periods.patient * J + periods.interval
        weight, happened = np.zeros(n * J), np.zeros(n * J, dtype=np.int8)
        weight[places], happened[places] = 1.0, periods.event
        others = with_interval(np.repeat(columns, J, axis=0), np.tile(np.arange(J), n), J)
        paths = [
            path_fitted_to(
                self.classifier, table, event == cause, HeldOut(others, happened == cause, weight), groups=together
            )
            for cause in range(1, self.n_causes + 1)
        ]
        values, hazards = along_all(paths)
        t = np.asarray(times, dtype=np.float64)
        F = [
            at_times(_compute_incidence(h.reshape(self.n_causes, n, J).swapaxes(0, 1)), self.cuts_, t) for h in hazards
        ]
        return PathFit(values, np.array(F))

    def _pooled(
        self, X: ArrayLike, y: NDArray[np.void], groups: Groups | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int8], Groups | None]:
        """The pooled training table, and the event code and the group of each of its rows."""
        columns = np.asarray(X, dtype=np.float64)
        self.cuts_ = cuts_with_events(y, np.asarray(self.times, dtype=np.float64))
        chosen = self._fewer(columns, y)
        columns, y = columns[chosen], y[chosen]
        periods = PersonPeriods.of(y, self.cuts_)
        together = None if groups is None else groups[chosen][periods.patient]
        if not (periods.event == 1).any():
            msg = f"no patient to learn from has the event of interest until {self.cuts_[-1]:g}"
            raise ValueError(msg)
        return with_interval(columns[periods.patient], periods.interval, len(self.cuts_)), periods.event, together

    def _fewer(self, X: NDArray[np.float64], y: NDArray[np.void]) -> NDArray[np.intp] | slice:
        """Rows of the patients whose intervals fit into the pooled table."""
        n_intervals = len(self.cuts_)
        n_periods = int(np.minimum(np.searchsorted(self.cuts_, y["time"]) + 1, n_intervals).sum())
        most = most_patients(len(X), n_periods, X.shape[1] + n_intervals - 1)
        if len(X) <= most:
            return slice(None)
        return stratified_rows(y, len(y), most, np.random.default_rng(self.seed))

    def cumulative_incidence(self, X: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
        """P(cause k until t | x), shape = (n, K, n_times), constant after the last cut."""
        check_is_fitted(self)
        columns, J = np.asarray(X, dtype=np.float64), len(self.cuts_)
        incidence = np.empty((len(columns), self.n_causes, J))
        step = max(1, _CELLS_AT_ONCE // ((columns.shape[1] + J) * J))
        for start in range(0, len(columns), step):
            part = slice(start, start + step)
            incidence[part] = self._incidence(columns[part])
        return at_times(incidence, self.cuts_, np.asarray(times, dtype=np.float64))

    def _incidence(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        n, J = len(X), len(self.cuts_)
        table = with_interval(np.repeat(X, J, axis=0), np.tile(np.arange(J), n), J)
        h = np.stack([predict_share(classifier, table).reshape(n, J) for classifier in self.classifiers_], axis=1)
        return _compute_incidence(h)


def _compute_incidence(h: NDArray[np.float64]) -> NDArray[np.float64]:
    """F from h."""
    h = h / np.maximum(h.sum(axis=1, keepdims=True), 1.0)
    S = np.cumprod(np.maximum(1.0 - h.sum(axis=1), 0.0), axis=1)
    before = np.concatenate([np.ones((len(h), 1)), S[:, :-1]], axis=1)
    incidence: NDArray[np.float64] = np.cumsum(before[:, None, :] * h, axis=2)
    return np.minimum(incidence, 1.0)


def most_patients(n: int, n_periods: int, n_columns: int) -> int:
    """Most of `n` patients, with `n_periods` intervals at risk in total, that fit into the pooled table."""
    return min(n, int(n * MAX_CELLS / (n_periods * n_columns)))
