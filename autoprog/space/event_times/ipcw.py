"""Any classifier that takes weights as a learner of event times: the event by a horizon, censored patients weighed out.

=======  =========================================================================  ==================
symbol   meaning                                                                    shape
=======  =========================================================================  ==================
t        horizons                                                                   (H,)
w        1/G(T-) for a patient who failed by t, 1/G(t) for one followed beyond it,
         0 for one censored before: G is the survival of the censoring time         (n, H)
F        P(cause k until t | x)                                                     (n, K, H)
=======  =========================================================================  ==================

A classifier for every cause and horizon. Their answers are made not to decrease with the horizon, and where the causes
sum above 1 they are divided by the sum. Between horizons F follows the incidence in the whole cohort.

References
----------
Vock et al. (2016), J Biomed Inform 61:119-131; Robins & Rotnitzky (1992), in AIDS Epidemiology, Birkhäuser.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from autoprog.space.event_times.curves import at_times
from autoprog.space.event_times.labels import along_all, fitted_to, path_fitted_to, predict_share
from autoprog.space.path import HeldOut, PathFit
from autoprog.survival import aalen_johansen, ipcw_weights


class WeightedHorizons(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Cumulative incidence by classifiers of the event by each horizon.

    Parameters
    ----------
    classifier : estimator
        Unfitted, takes `sample_weight`; clones of it are fitted.
    horizons : sequence of float
        Ascending.
    n_causes : int
        K, at least 1.

    Attributes
    ----------
    classifiers_ : list of list of estimator, K by H
        Fitted.
    pace_times_, pace_ : ndarray, shape = (n_steps,), (K, n_steps)
        Incidence of each cause among the patients to learn from, by which the curves go between horizons.
    """

    def __init__(self, classifier: BaseEstimator, horizons: ArrayLike, n_causes: int = 1) -> None:
        self.classifier = classifier
        self.horizons = horizons
        self.n_causes = n_causes

    def fit(self, X: ArrayLike, y: NDArray[np.void]) -> Self:
        """Fit a classifier for every cause and horizon.

        Parameters
        ----------
        X : array-like, shape = (n, d)
            Columns of the patients.
        y : structured ndarray, shape = (n,)
            See `event_times`.

        Returns
        -------
        WeightedHorizons
            Itself.

        Raises
        ------
        ValueError
            If until a horizon the event of interest was seen in no patient, or in all.
        """
        columns, t = np.asarray(X, dtype=np.float64), np.asarray(self.horizons, dtype=np.float64)
        weights, by_now = self._known(y, t)
        self.classifiers_ = [
            [self._fitted(columns, (y["event"] == cause) & by_now[:, j], weights[:, j]) for j in range(len(t))]
            for cause in range(1, self.n_causes + 1)
        ]
        self._learn_pace(y, t)
        return self

    def fit_path(
        self, X: ArrayLike, y: NDArray[np.void], other_X: ArrayLike, other_y: NDArray[np.void], times: ArrayLike
    ) -> PathFit:
        """Fit the classifiers along their path; parameters and answer as of `DiscreteTime.fit_path`."""
        columns, t = np.asarray(X, dtype=np.float64), np.asarray(self.horizons, dtype=np.float64)
        others = np.asarray(other_X, dtype=np.float64)
        weights, by_now = self._known(y, t)
        other_weights = ipcw_weights(other_y["time"], other_y["event"], t)
        seen_by = other_y["time"][:, None] <= t
        paths = [
            self._path(
                columns,
                (y["event"] == cause) & by_now[:, j],
                weights[:, j],
                HeldOut(others, (other_y["event"] == cause) & seen_by[:, j], other_weights[:, j]),
            )
            for cause in range(1, self.n_causes + 1)
            for j in range(len(t))
        ]
        self._learn_pace(y, t)
        values, risks = along_all(paths)
        wanted = np.asarray(times, dtype=np.float64)
        shape = (self.n_causes, len(t), len(others))
        return PathFit(values, np.array([self._curves(F.reshape(shape), t, wanted) for F in risks]))

    def _path(
        self, X: NDArray[np.float64], seen: NDArray[np.bool_], weights: NDArray[np.float64], held_out: HeldOut
    ) -> PathFit | NDArray[np.float64]:
        known = weights > 0
        return path_fitted_to(self.classifier, X[known], seen[known], held_out, weights[known] / weights[known].mean())

    def _known(self, y: NDArray[np.void], t: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """w, and whose follow-up has ended by each horizon."""
        weights = ipcw_weights(y["time"], y["event"], t)
        by_now = y["time"][:, None] <= t
        _check_both((y["event"] == 1)[:, None] & by_now, weights > 0, t)
        return weights, by_now

    def _learn_pace(self, y: NDArray[np.void], t: NDArray[np.float64]) -> None:
        curves = aalen_johansen(y["time"], y["event"], causes=self.n_causes)
        self.pace_times_ = np.unique(y["time"][(y["event"] != 0) & (y["time"] <= t[-1])])
        self.pace_ = np.array([curves.incidence(k)(self.pace_times_) for k in range(1, self.n_causes + 1)])

    def _fitted(self, X: NDArray[np.float64], seen: NDArray[np.bool_], weights: NDArray[np.float64]) -> BaseEstimator:
        known = weights > 0
        # Of mean 1: penalties and least weights of a leaf are meant for patients who count once.
        return fitted_to(self.classifier, X[known], seen[known], weights[known] / weights[known].mean())

    def cumulative_incidence(self, X: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
        """P(cause k until t | x).

        Parameters
        ----------
        X : array-like, shape = (n, d)
            Columns as in `fit`.
        times : array-like, shape = (n_times,)
            0 or more; beyond the last horizon the last value holds.

        Returns
        -------
        ndarray, shape = (n, K, n_times)
            Not decreasing with time, the sum over causes at most 1.
        """
        check_is_fitted(self)
        columns, wanted = np.asarray(X, dtype=np.float64), np.asarray(times, dtype=np.float64)
        F = np.array(
            [[predict_share(classifier, columns) for classifier in of_cause] for of_cause in self.classifiers_]
        )
        return self._curves(F, np.asarray(self.horizons, dtype=np.float64), wanted)

    def _curves(
        self, F: NDArray[np.float64], t: NDArray[np.float64], wanted: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Of what the classifiers of each cause and horizon say, shape = (K, H, n)."""
        F = np.maximum.accumulate(F, axis=1).transpose(2, 0, 1)
        # The largest sum is the last: dividing every horizon by one number keeps their order.
        F = F / np.maximum(F[:, :, -1].sum(axis=1), 1.0)[:, None, None]
        curves = [at_times(F[:, k], *self._paces(k, t, wanted)) for k in range(self.n_causes)]
        return np.stack(curves, axis=1)

    def _paces(
        self, k: int, t: NDArray[np.float64], wanted: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Horizons and wanted times on a scale on which the cohort's incidence is a straight line."""

        # A part in a million of the time itself keeps the scale ascending where nothing happens.
        def pace(times: NDArray[np.float64]) -> NDArray[np.float64]:
            places = np.searchsorted(self.pace_times_, times, side="right")
            steps = np.concatenate([[0.0], self.pace_[k]])[places]
            return np.asarray(steps + 1e-6 * times / t[-1])

        return pace(t), pace(wanted)


def _check_both(seen: NDArray[np.bool_], known: NDArray[np.bool_], t: NDArray[np.float64]) -> None:
    """Whether there are patients with the event until every horizon, and others; both of shape (n, H)."""
    for j, horizon in enumerate(t.tolist()):
        label = seen[known[:, j], j]
        if not label.any() or label.all():
            who = "all" if label.any() else "none"
            msg = f"of the patients to learn from {who} have the event of interest until {horizon:g}"
            raise ValueError(msg)
