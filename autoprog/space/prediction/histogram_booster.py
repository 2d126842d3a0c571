"""Wrapper of XGBoost and LightGBM for the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import TargetEncoder
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from autoprog.space.groups import Groups, splits_by_group
from autoprog.space.path import PATIENCE, FittedPath, HeldOut, grid_up_to
from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes
from autoprog.space.threads import lent_threads

# Rows that tell when to end a fit: more would take a third of its time. If the rarer outcome is among them less often
# than this, all rows tell.
_MONITORED, _MONITORED_RARER = 50_000, 500
# Many slow trees move the loss of a part less than chance does: LightGBM then waits for so many of those it has grown.
_PATIENCE_SHARE = 0.1


# Both libraries treat a single class, whichever it is, as no event: if all patients had the event, the risk would be 0.
class HistogramBooster(BinaryClassifier):
    """A booster that rejects an outcome of one class and gets its columns of codes at the fit."""

    def __init__(
        self,
        estimator: BaseEstimator,
        categorical: Sequence[int] = (),
        least_trees: int = 25,
        *,
        encodes: bool = False,
    ) -> None:
        self.estimator = estimator
        self.categorical = categorical  # columns of codes; none for XGBoost, whose constructor takes them
        self.least_trees = least_trees  # first value of a path
        self.encodes = encodes  # replace codes by shrunken shares of events; cross-fitted for training patients

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: Groups | None = None
    ) -> Self:
        """Fit the booster; NaN is missing, codes are whole numbers from 0; ValueError without two classes."""
        outcome = np.asarray(y)
        self.classes_, events = two_classes(outcome)
        columns = np.asarray(self._learn_columns(X, events, groups))
        booster = self._booster(columns.shape[1])
        self.estimator_ = booster.fit(columns, outcome, sample_weight=sample_weight, **self._codes)
        self.estimator_.set_params(n_jobs=1)  # for predictions
        return self

    def fit_path(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        held_out: HeldOut,
        sample_weight: NDArray[np.float64] | None = None,
        groups: Groups | None = None,
    ) -> FittedPath:
        """Grow trees until the held-out loss no longer falls; see `autoprog.space.path.PathLearner`."""
        outcome = np.asarray(y)
        self.classes_, events = two_classes(outcome)
        columns = np.asarray(self._learn_columns(X, events, groups))
        held_out = held_out._replace(X=np.asarray(self._columns(held_out.X)))
        staged = _StagedLightgbm if _is_lightgbm(self.estimator) else _StagedXgboost
        booster = self._booster(columns.shape[1])
        grown = staged(booster, columns, outcome, _monitored(held_out), sample_weight, self._codes)
        self.estimator_ = grown.estimator
        values = [int(v) for v in grid_up_to(self.least_trees, int(self.estimator.n_estimators))]
        if grown.has_lost_patience:
            values = [v for v in values if v <= grown.n_trees] or [grown.n_trees]
        # A fit that stopped because no split was left would grow no further.
        ends = [min(v, grown.n_trees) for v in values]
        return FittedPath(tuple(values), lambda rows: expit(grown.margins(np.asarray(self._columns(rows)), ends)))

    def _booster(self, n_columns: int) -> BaseEstimator:
        """The unfitted booster for a table of this width."""
        booster = clone(self.estimator)
        if _is_lightgbm(booster):  # its trees do not depend on the number of threads
            booster.set_params(n_jobs=lent_threads())
        types = getattr(booster, "feature_types", None)  # XGBoost alone has them
        # With few events, intervals are merged, and the last columns of the pooled table are fewer than planned.
        return booster if types is None else booster.set_params(feature_types=types[:n_columns])

    @property
    def _codes(self) -> dict[str, Any]:
        takes_codes = self.categorical and not self.encodes
        return {"categorical_feature": list(self.categorical)} if takes_codes else {}

    def _learn_columns(self, X: ArrayLike, events: NDArray[np.float64], groups: Groups | None) -> ArrayLike:
        """Columns for the fit."""
        self.encoder_ = None
        if not (self.encodes and self.categorical):
            return X
        columns, codes, parts = np.array(X, dtype=np.float64), list(self.categorical), _parts(events)
        by_row = StratifiedKFold(parts, shuffle=True, random_state=0)
        by_group = splits_by_group(events, groups, parts, seed=0)
        self.encoder_ = TargetEncoder(target_type="binary", cv=by_row if by_group is None else by_group)
        columns[:, codes] = self.encoder_.fit_transform(columns[:, codes], events)
        self.encoder_.set_params(cv=by_row)  # rows are no part of a stored model
        return columns

    def _columns(self, X: ArrayLike) -> ArrayLike:
        """The same columns for any patients."""
        encoder = getattr(self, "encoder_", None)  # stored models of earlier versions have none
        if encoder is None:
            return X
        columns, codes = np.array(X, dtype=np.float64), list(self.categorical)
        columns[:, codes] = encoder.transform(columns[:, codes])
        return columns

    def predict_proba(self, X: ArrayLike) -> NDArray[np.floating]:
        """Probability of each class, shape = (n_patients, 2); an unseen code is no error."""
        check_is_fitted(self)
        columns = self._columns(X)
        if _is_lightgbm(self.estimator_):  # its wrapper takes one patient three times as long as its trees
            rows = np.asarray(columns, dtype=np.float64)
            risks = self.estimator_.booster_.predict(rows, num_threads=lent_threads())
            return np.column_stack([1.0 - risks, risks])
        probability: NDArray[np.floating] = self.estimator_.predict_proba(columns)
        return probability

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _is_lightgbm(estimator: BaseEstimator) -> bool:
    return type(estimator).__name__ == "LGBMClassifier"


def _monitored(held_out: HeldOut) -> HeldOut:
    """Held-out rows by which a fit ends: all, or a random part of many."""
    n, n_events = len(held_out.y), int(np.count_nonzero(held_out.y))
    if n <= _MONITORED or min(n_events, n - n_events) * _MONITORED < _MONITORED_RARER * n:
        return held_out
    rows = np.sort(np.random.default_rng(0).choice(n, _MONITORED, replace=False))
    weight = None if held_out.weight is None else held_out.weight[rows]
    return HeldOut(held_out.X[rows], held_out.y[rows], weight)


def _parts(events: NDArray[np.float64]) -> int:
    """Number of folds, 2 to 5, such that each has patients with and without the event."""
    rarer = int(min(events.sum(), len(events) - events.sum()))
    return max(2, min(5, rarer))


class _Patience:
    """A LightGBM callback that ends training; the library's own callback also discards the last trees."""

    def __init__(self, *, sees_a_part: bool) -> None:
        self.is_lost = False
        self._share = _PATIENCE_SHARE if sees_a_part else 0.0
        self._best, self._least = 0, float("inf")

    def __call__(self, env: Any) -> None:  # noqa: ANN401  LightGBM's type
        from lightgbm import EarlyStopException  # noqa: PLC0415  heavy

        loss = env.evaluation_result_list[0][2]
        if loss < self._least:
            self._best, self._least = env.iteration, loss
        elif env.iteration - self._best >= max(PATIENCE, self._share * self._best):
            self.is_lost = True
            raise EarlyStopException(env.iteration, env.evaluation_result_list)


class _StagedLightgbm:
    """A monitored LightGBM fit and its margins by number of trees."""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        held_out: HeldOut,
        sample_weight: NDArray[np.float64] | None,
        codes: dict[str, Any],
    ) -> None:
        patience = _Patience(sees_a_part=len(held_out.y) == _MONITORED)
        self.estimator = estimator.fit(
            X,
            y,
            sample_weight=sample_weight,
            eval_X=held_out.X,
            eval_y=held_out.y,
            eval_sample_weight=None if held_out.weight is None else [held_out.weight],
            eval_metric="binary_logloss",
            callbacks=[patience],
            **codes,
        )
        self._booster = self.estimator.booster_
        self.n_trees = self._booster.num_trees()
        self.has_lost_patience = patience.is_lost

    def margins(self, X: NDArray[np.float64], ends: Sequence[int]) -> NDArray[np.float64]:
        """Log odds by the first trees, as many as each of `ends`, ascending; shape = (len(ends), n_rows)."""
        return np.cumsum([self._added(X, start, end) for start, end in pairwise([0, *ends])], axis=0)

    def _added(self, X: NDArray[np.float64], start: int, end: int) -> NDArray[np.float64]:
        if start == end:
            return np.zeros(len(X))
        added = self._booster.predict(X, raw_score=True, start_iteration=start, num_iteration=end - start)
        return np.asarray(added, dtype=np.float64)


class _StagedXgboost:
    """A monitored XGBoost fit and its margins by number of trees."""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        held_out: HeldOut,
        sample_weight: NDArray[np.float64] | None,
        codes: dict[str, Any],
    ) -> None:
        estimator.set_params(early_stopping_rounds=PATIENCE, eval_metric="logloss")
        self.estimator = estimator.fit(
            X,
            y,
            sample_weight=sample_weight,
            eval_set=[(held_out.X, held_out.y)],
            sample_weight_eval_set=None if held_out.weight is None else [held_out.weight],
            verbose=False,
            **codes,
        )
        self.n_trees = int(self.estimator.get_booster().num_boosted_rounds())
        self.has_lost_patience = self.n_trees - 1 - int(self.estimator.best_iteration) >= PATIENCE

    def margins(self, X: NDArray[np.float64], ends: Sequence[int]) -> NDArray[np.float64]:
        half = self.n_trees // 2
        # Every prediction includes the base score, so the sum of two parts has it once too often.
        base = self._predict(X, 0, half) + self._predict(X, half, self.n_trees) - self._predict(X, 0, self.n_trees)
        parts = [
            self._predict(X, start, end) - (base if start else 0.0) if start < end else np.zeros(len(X))
            for start, end in pairwise([0, *ends])
        ]
        return np.cumsum(parts, axis=0)

    def _predict(self, X: NDArray[np.float64], start: int, end: int) -> NDArray[np.float64]:
        margin = self.estimator.predict(X, output_margin=True, iteration_range=(start, end))
        return np.asarray(margin, dtype=np.float64)
