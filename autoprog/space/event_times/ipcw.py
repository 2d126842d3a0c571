"""Any weighted classifier as a learner of event times: the event by a horizon, weighted for censoring.

=======  =========================================================================  ==================
symbol   meaning                                                                    shape
=======  =========================================================================  ==================
t        horizons                                                                   (H,)
w        1/G(T-) for an event by t, 1/G(t) for follow-up beyond t, 0 if censored
         before t; G is the survival function of the censoring time                 (n, H)
F        P(cause k until t | x)                                                     (n, K, H)
=======  =========================================================================  ==================

There is one classifier per cause and horizon. Risks are made nondecreasing in the horizon and divided by their sum
over causes if it exceeds 1. Between horizons, F follows the incidence of the whole cohort.

References
----------
Vock et al. (2016), J Biomed Inform 61:119-131; Robins & Rotnitzky (1992), in AIDS Epidemiology, Birkhäuser.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from autoprog.space.event_times.curves import at_times
from autoprog.space.event_times.labels import along_all, fitted_to, path_fitted_to, predict_share
from autoprog.space.groups import Groups
from autoprog.space.path import FittedPath, HeldOut, PathFit
from autoprog.survival import aalen_johansen, ipcw_weights

_ROWS_AT_ONCE = 50_000


class WeightedHorizons(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Cumulative incidence from classifiers of the event by each horizon.

    Parameters
    ----------
    classifier : estimator
        Unfitted, takes `sample_weight`; clones of it are fitted.
    horizons : sequence of float
        Horizons, ascending.
    n_causes : int
        K, at least 1.

    Attributes
    ----------
    classifiers_ : list of list of estimator, K by H
        Fitted.
    pace_times_, pace_ : ndarray, shape = (n_steps,), (K, n_steps)
        Incidence of each cause among the training patients; it shapes the curves between horizons.
    """

    def __init__(self, classifier: BaseEstimator, horizons: ArrayLike, n_causes: int = 1) -> None:
        self.classifier = classifier
        self.horizons = horizons
        self.n_causes = n_causes

    def fit(self, X: ArrayLike, y: NDArray[np.void], groups: Groups | None = None) -> Self:
        """Fit one classifier per cause and horizon; ValueError if no or every patient has the event by a horizon."""
        columns, t = np.asarray(X, dtype=np.float64), np.asarray(self.horizons, dtype=np.float64)
        weights, by_now = self._known(y, t)
        self.classifiers_ = [
            [self._fitted(columns, (y["event"] == cause) & by_now[:, j], weights[:, j], groups) for j in range(len(t))]
            for cause in range(1, self.n_causes + 1)
        ]
        self._learn_pace(y, t)
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
        """Fit the classifiers along their path, with the parameters and result of `DiscreteTime.fit_path`."""
        columns, t = np.asarray(X, dtype=np.float64), np.asarray(self.horizons, dtype=np.float64)
        others = np.asarray(other_X, dtype=np.float64)
        weights, by_now = self._known(y, t)
        other_weights = ipcw_weights(other_y["time"], other_y["event"], t)
        seen_by = other_y["time"][:, None] <= t
        fits = [
            self._path(
                columns,
                (y["event"] == cause) & by_now[:, j],
                weights[:, j],
                HeldOut(others, (other_y["event"] == cause) & seen_by[:, j], other_weights[:, j]),
                groups,
            )
            for cause in range(1, self.n_causes + 1)
            for j in range(len(t))
        ]
        self._learn_pace(y, t)
        path, wanted = along_all(fits), np.asarray(times, dtype=np.float64)
        curves = np.empty((len(path.values), len(others), self.n_causes, len(wanted)), dtype=np.float32)
        for start in range(0, len(others), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            for k, F in enumerate(path.risks_of(others[part])):
                curves[k, part] = self._curves(F.reshape(self.n_causes, len(t), -1), t, wanted)
        return PathFit(path.values, curves)

    def _path(
        self,
        X: NDArray[np.float64],
        seen: NDArray[np.bool_],
        weights: NDArray[np.float64],
        held_out: HeldOut,
        groups: Groups | None,
    ) -> FittedPath | DummyClassifier:
        known = weights > 0
        of_known = weights[known] / weights[known].mean()
        together = None if groups is None else groups[known]
        return path_fitted_to(self.classifier, X[known], seen[known], held_out, of_known, together)

    def _known(self, y: NDArray[np.void], t: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The weights w, and whether follow-up has ended by each horizon."""
        weights = ipcw_weights(y["time"], y["event"], t)
        by_now = y["time"][:, None] <= t
        _check_both((y["event"] == 1)[:, None] & by_now, weights > 0, t)
        return weights, by_now

    def _learn_pace(self, y: NDArray[np.void], t: NDArray[np.float64]) -> None:
        curves = aalen_johansen(y["time"], y["event"], causes=self.n_causes)
        self.pace_times_ = np.unique(y["time"][(y["event"] != 0) & (y["time"] <= t[-1])])
        self.pace_ = np.array([curves.incidence(k)(self.pace_times_) for k in range(1, self.n_causes + 1)])

    def _fitted(
        self,
        X: NDArray[np.float64],
        seen: NDArray[np.bool_],
        weights: NDArray[np.float64],
        groups: Groups | None,
    ) -> BaseEstimator:
        known = weights > 0
        # Mean 1, since penalties and minimum leaf weights assume unit weights.
        of_known = weights[known] / weights[known].mean()
        together = None if groups is None else groups[known]
        return fitted_to(self.classifier, X[known], seen[known], of_known, together)

    def cumulative_incidence(self, X: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
        """P(cause k until t | x), shape = (n, K, n_times), constant after the last horizon."""
        check_is_fitted(self)
        columns, wanted = np.asarray(X, dtype=np.float64), np.asarray(times, dtype=np.float64)
        F = np.array(
            [[predict_share(classifier, columns) for classifier in of_cause] for of_cause in self.classifiers_]
        )
        return self._curves(F, np.asarray(self.horizons, dtype=np.float64), wanted)

    def _curves(
        self, F: NDArray[np.float64], t: NDArray[np.float64], wanted: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Curves at the wanted times from the risks of each cause and horizon, shape = (K, H, n)."""
        F = np.maximum.accumulate(F, axis=1).transpose(2, 0, 1)
        # The sum is largest at the last horizon; one divisor for all horizons keeps their order.
        F = F / np.maximum(F[:, :, -1].sum(axis=1), 1.0)[:, None, None]
        curves = [at_times(F[:, k], *self._paces(k, t, wanted)) for k in range(self.n_causes)]
        return np.stack(curves, axis=1)

    def _paces(
        self, k: int, t: NDArray[np.float64], wanted: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Horizons and wanted times on a scale on which the cohort's incidence is linear."""

        # A millionth of the relative time keeps the scale ascending where no event happens.
        def pace(times: NDArray[np.float64]) -> NDArray[np.float64]:
            places = np.searchsorted(self.pace_times_, times, side="right")
            steps = np.concatenate([[0.0], self.pace_[k]])[places]
            return np.asarray(steps + 1e-6 * times / t[-1])

        return pace(t), pace(wanted)


def _check_both(seen: NDArray[np.bool_], known: NDArray[np.bool_], t: NDArray[np.float64]) -> None:
    """Check that some but not all known patients have the event by every horizon; arguments of shape (n, H)."""
    for j, horizon in enumerate(t.tolist()):
        label = seen[known[:, j], j]
        if not label.any() or label.all():
            who = "all" if label.any() else "none"
            msg = f"of the patients to learn from {who} have the event of interest until {horizon:g}"
            raise ValueError(msg)
