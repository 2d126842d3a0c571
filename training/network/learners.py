"""What the network says of a cohort, as classes with scikit-learn's methods.

A fit keeps the patients' rows, for a prediction reads them. Of more columns than the network reads, those stay that
are most correlated with the outcome; of more patients, a sample does.

References
----------
Hollmann et al. (2025), Accurate predictions on small data with a tabular foundation model, Nature 637:319.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from autoprog.cohort import stratified_rows
from autoprog.space.prediction.torch_threads import one_torch_thread
from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes
from training.network.encoding import CAUSES, INTERVALS, EventTable, event_grid
from training.network.predictions import hazard_log_odds, log_odds

_MAX_PATIENTS, _MAX_COLUMNS, _ORDERS = 1_500, 60, 4
# Event times are told apart within an interval by as many of their quantiles.
_MOMENTS = 65
# The network's intervals reach at least this share of the events.
_LEAST_SHARE = 0.7

_Floats = NDArray[np.float64]


class PriorNetworkClassifier(BinaryClassifier):
    """Binary classification by the network's log odds; NaN is missing."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Keep what the network reads; ValueError without two classes."""
        columns, outcome = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        self.classes_, events = two_classes(outcome)
        rows = _sampled(events, self.random_state)
        self.columns_ = _related(columns[rows], events[rows])
        self.X_, self.y_ = columns[np.ix_(rows, self.columns_)], events[rows].astype(np.int64)
        return self

    def predict_proba(self, X: ArrayLike) -> _Floats:
        """Probability of each class, shape = (n_patients, 2), columns as in `classes_`."""
        check_is_fitted(self)
        columns = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        rng = np.random.default_rng(self.random_state)
        with one_torch_thread():
            told = log_odds(self.X_, self.y_, columns[:, self.columns_], _ORDERS, rng)
        return np.column_stack([expit(-told), expit(told)])

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class PriorNetworkHazards(BaseEstimator):  # type: ignore[misc]
    """Cumulative incidence of up to three causes by the network's hazards of eight intervals; NaN is missing."""

    def __init__(self, n_causes: int = 1, until: float = np.inf, random_state: int = 0) -> None:
        self.n_causes = n_causes
        self.until = until  # last time of interest
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: NDArray[np.void]) -> Self:
        """Keep what the network reads; y has dtype `EVENT_TIMES`."""
        columns: _Floats = np.asarray(X, dtype=np.float64)
        time, cause = np.asarray(y["time"], dtype=np.float64), np.asarray(y["event"], dtype=np.int64)
        rows = _sampled((cause == 1).astype(np.float64), self.random_state)
        columns, time, cause = columns[rows], time[rows], cause[rows]
        moments = time[cause > 0]
        share = float(np.clip((moments <= self.until).mean() if len(moments) else 1.0, _LEAST_SHARE, 1.0))
        # The network knows three causes: further ones are the third, and have their share of its incidence.
        last = np.bincount(cause[cause >= CAUSES] - CAUSES, minlength=max(self.n_causes - CAUSES + 1, 1))
        self.shares_ = last / max(last.sum(), 1)
        cause = np.minimum(cause, CAUSES)
        self.grid_ = event_grid(time, cause, share)
        self.moments_ = np.quantile(moments if len(moments) else time, np.linspace(0.0, 1.0, _MOMENTS))
        self.columns_ = _related(columns, (cause == 1).astype(np.float64))
        self.X_, self.events_ = columns[:, self.columns_], EventTable(time, cause, self.grid_)
        return self

    def cumulative_incidence(self, X: ArrayLike, times: ArrayLike) -> _Floats:
        """P(cause k until t | x), shape = (n, K, n_times), as in `IncidencePipeline`."""
        check_is_fitted(self)
        others = np.asarray(X, dtype=np.float64)[:, self.columns_]
        with one_torch_thread():
            told = hazard_log_odds(self.X_, self.events_, others, _ORDERS, np.random.default_rng(self.random_state))
        told = np.concatenate([np.zeros((*told.shape[:2], 1)), told], axis=2)
        h = softmax(told, axis=2)
        free = np.cumprod(h[..., 0], axis=1)
        before = np.concatenate([np.ones((len(h), 1)), free[:, :-1]], axis=1)
        F = np.zeros((len(h), CAUSES, INTERVALS + 1))
        F[..., 1:] = np.cumsum(before[..., None] * h[..., 1:], axis=1).transpose(0, 2, 1)
        ends = np.concatenate([[0.0], np.maximum.accumulate(self._elapsed(self.grid_) + 1e-9 * np.arange(INTERVALS))])
        at = np.clip(self._elapsed(np.asarray(times, dtype=np.float64)), 0.0, ends[-1])
        place = np.clip(np.searchsorted(ends, at, "left"), 1, INTERVALS)
        part = (at - ends[place - 1]) / np.maximum(ends[place] - ends[place - 1], 1e-12)
        F = F[..., place - 1] * (1.0 - part) + F[..., place] * part
        last = F[:, CAUSES - 1 :] * self.shares_[:, None]
        return np.concatenate([F[:, : CAUSES - 1], last], axis=1)[:, : self.n_causes]

    def _elapsed(self, times: _Floats) -> _Floats:
        """Share of the events until a time."""
        return np.interp(times, self.moments_, np.linspace(0.0, 1.0, _MOMENTS), left=0.0)


def _sampled(events: _Floats, seed: int) -> NDArray[np.intp]:
    if len(events) <= _MAX_PATIENTS:
        return np.arange(len(events))
    return stratified_rows(events, len(events), _MAX_PATIENTS, np.random.default_rng(seed))


def _related(X: _Floats, events: _Floats) -> NDArray[np.intp]:
    """Columns with the largest correlation with the outcome, gaps at the mean."""
    if X.shape[1] <= _MAX_COLUMNS:
        return np.arange(X.shape[1])
    missing = np.isnan(X)
    mean = np.where(missing, 0.0, X).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    centred = np.where(missing, 0.0, X - mean)
    size = np.sqrt((centred**2).sum(axis=0))
    correlation = np.abs(centred.T @ (events - events.mean())) / np.where(size > 0, size, np.inf)
    return np.sort(np.argsort(-correlation, kind="stable")[:_MAX_COLUMNS])
