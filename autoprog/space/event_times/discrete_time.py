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

from collections.abc import Iterator
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
            Of all held-out patients; the causes share the path values.

        Raises
        ------
        ValueError
            As in `fit`.
        """
        table, event, together = self._pooled(X, y, groups)
        columns, J = np.asarray(other_X, dtype=np.float64), len(self.cuts_)
        periods = PersonPeriods.of(other_y, self.cuts_)
        watched = with_interval(columns[periods.patient], periods.interval, J)
        path = along_all(
            [
                path_fitted_to(
                    self.classifier, table, event == cause, HeldOut(watched, periods.event == cause), groups=together
                )
                for cause in range(1, self.n_causes + 1)
            ]
        )
        del table, watched
        t = np.asarray(times, dtype=np.float64)
        F = np.empty((len(path.values), len(columns), self.n_causes, len(t)), dtype=np.float32)
        for part in self._parts(columns):
            for k, h in enumerate(path.risks_of(self._table(columns[part]))):
                F[k, part] = at_times(_compute_incidence(self._by_patient(h)), self.cuts_, t)
        return PathFit(path.values, F)

    def _pooled(
        self, X: ArrayLike, y: NDArray[np.void], groups: Groups | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int8], Groups]:
        """The pooled training table, and the event code and the group of each of its rows."""
        columns = np.asarray(X, dtype=np.float64)
        self.cuts_ = cuts_with_events(y, np.asarray(self.times, dtype=np.float64))
        chosen = self._fewer(columns, y)
        columns, y = columns[chosen], y[chosen]
        periods = PersonPeriods.of(y, self.cuts_)
        # A learner that splits its rows keeps the intervals of a patient together.
        together = periods.patient if groups is None else groups[chosen][periods.patient]
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
        columns = np.asarray(X, dtype=np.float64)
        incidence = np.empty((len(columns), self.n_causes, len(self.cuts_)))
        for part in self._parts(columns):
            table = self._table(columns[part])
            h = np.stack([predict_share(classifier, table) for classifier in self.classifiers_])
            incidence[part] = _compute_incidence(self._by_patient(h))
        return at_times(incidence, self.cuts_, np.asarray(times, dtype=np.float64))

    def _parts(self, X: NDArray[np.float64]) -> Iterator[slice]:
        """Parts of the patients whose tables of all intervals are not too large."""
        J = len(self.cuts_)
        step = max(1, _CELLS_AT_ONCE // ((X.shape[1] + J) * J))
        return (slice(start, start + step) for start in range(0, len(X), step))

    def _table(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows of all intervals, by patient."""
        n, J = len(X), len(self.cuts_)
        return with_interval(np.repeat(X, J, axis=0), np.tile(np.arange(J), n), J)

    def _by_patient(self, h: NDArray[np.float64]) -> NDArray[np.float64]:
        """h from the risks of each cause in the rows of `_table`, shape = (K, n * J)."""
        return h.reshape(self.n_causes, -1, len(self.cuts_)).swapaxes(0, 1)


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
