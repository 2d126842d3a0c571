"""What XGBoost and LightGBM need between them and the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import TargetEncoder
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from autoprog.space.path import PATIENCE, HeldOut, PathFit, grid_up_to
from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes


class HistogramBooster(BinaryClassifier):
    """A booster that refuses an outcome of one class and is told which columns hold codes when it is fitted.

    Both libraries take an only class, whichever it is, for the absence of the event, and would give patients who all
    had it a risk of 0.

    Parameters
    ----------
    estimator : estimator
        An unfitted `XGBClassifier` or `LGBMClassifier`.
    categorical : sequence of int
        Columns of codes, as `fit` of LightGBM wants them; none for XGBoost, whose constructor has them.
    least_trees : int
        Where a path begins.
    encodes : bool
        Whether the share of events among a level's patients, drawn to that of all where they are few, stands for its
        code; a training patient's is by other patients.

    Attributes
    ----------
    estimator_ : estimator
        The fitted booster.
    encoder_ : TargetEncoder or None
        Of the columns of codes; None where the booster takes the codes themselves.
    classes_ : ndarray, shape = (2,)
        The second is the event.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        categorical: Sequence[int] = (),
        least_trees: int = 25,
        *,
        encodes: bool = False,
    ) -> None:
        self.estimator = estimator
        self.categorical = categorical
        self.least_trees = least_trees
        self.encodes = encodes

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the booster.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Design matrix; NaN is missing, codes are whole numbers from 0.
        y : array-like, shape = (n_patients,)
            Outcome of two classes.
        sample_weight : array-like, shape = (n_patients,), optional
            Weight of every patient, at least 0; 1 each if None.

        Returns
        -------
        HistogramBooster
            Itself.

        Raises
        ------
        ValueError
            If there are not two classes.
        """
        outcome = np.asarray(y)
        self.classes_, events = two_classes(outcome)
        columns = self._learn_columns(X, events)
        self.estimator_ = clone(self.estimator).fit(columns, outcome, sample_weight=sample_weight, **self._codes)
        return self

    def fit_path(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        held_out: HeldOut,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> PathFit:
        """Grow trees until the loss no longer falls; see `autoprog.space.path.PathLearner`."""
        outcome = np.asarray(y)
        self.classes_, events = two_classes(outcome)
        columns = self._learn_columns(X, events)
        held_out = held_out._replace(X=np.asarray(self._columns(held_out.X)))
        staged = _StagedLightgbm if type(self.estimator).__name__ == "LGBMClassifier" else _StagedXgboost
        grown = staged(clone(self.estimator), np.asarray(columns), outcome, held_out, sample_weight, self._codes)
        self.estimator_ = grown.estimator
        values = [int(v) for v in grid_up_to(self.least_trees, int(self.estimator.n_estimators))]
        if grown.has_lost_patience:
            values = [v for v in values if v <= grown.n_trees] or [grown.n_trees]
        # What stopped for want of a split would grow no further.
        ends = [min(v, grown.n_trees) for v in values]
        margins = np.cumsum([grown.margin(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)], axis=0)
        return PathFit(tuple(values), expit(margins))

    @property
    def _codes(self) -> dict[str, Any]:
        takes_codes = self.categorical and not self.encodes
        return {"categorical_feature": list(self.categorical)} if takes_codes else {}

    def _learn_columns(self, X: ArrayLike, events: NDArray[np.float64]) -> ArrayLike:
        """What the booster is fitted to."""
        self.encoder_ = None
        if not (self.encodes and self.categorical):
            return X
        columns, codes = np.array(X, dtype=np.float64), list(self.categorical)
        self.encoder_ = TargetEncoder(
            target_type="binary", cv=StratifiedKFold(_parts(events), shuffle=True, random_state=0)
        )
        columns[:, codes] = self.encoder_.fit_transform(columns[:, codes], events)
        return columns

    def _columns(self, X: ArrayLike) -> ArrayLike:
        """The same of any patients."""
        encoder = getattr(self, "encoder_", None)  # stored models of earlier versions have none
        if encoder is None:
            return X
        columns, codes = np.array(X, dtype=np.float64), list(self.categorical)
        columns[:, codes] = encoder.transform(columns[:, codes])
        return columns

    def predict_proba(self, X: ArrayLike) -> NDArray[np.floating]:
        """Probability of each class.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Design matrix; a code that no training patient had is no error.

        Returns
        -------
        ndarray, shape = (n_patients, 2)
            Columns as in `classes_`.
        """
        check_is_fitted(self)
        probability: NDArray[np.floating] = self.estimator_.predict_proba(self._columns(X))
        return probability

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _parts(events: NDArray[np.float64]) -> int:
    """Into how many parts patients are split so that each holds some with the event and some without."""
    rarer = int(min(events.sum(), len(events) - events.sum()))
    return max(2, min(5, rarer))


class _Patience:
    """A callback of LightGBM that ends a training; the library's own also throws the last trees away."""

    def __init__(self) -> None:
        self.is_lost = False
        self._best, self._least = 0, float("inf")

    def __call__(self, env: Any) -> None:  # noqa: ANN401  the library's
        from lightgbm import EarlyStopException  # noqa: PLC0415  heavy

        loss = env.evaluation_result_list[0][2]
        if loss < self._least:
            self._best, self._least = env.iteration, loss
        elif env.iteration - self._best >= PATIENCE:
            self.is_lost = True
            raise EarlyStopException(env.iteration, env.evaluation_result_list)


class _StagedLightgbm:
    """A LightGBM fit that is watched, and its margins tree by tree."""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        held_out: HeldOut,
        sample_weight: NDArray[np.float64] | None,
        codes: dict[str, Any],
    ) -> None:
        patience = _Patience()
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
        self._booster, self._X = self.estimator.booster_, held_out.X
        self.n_trees = self._booster.num_trees()
        self.has_lost_patience = patience.is_lost

    def margin(self, start: int, end: int) -> NDArray[np.float64]:
        """What the trees from one to before another add, on the scale of log odds; shape = (n_held_out,)."""
        if start == end:
            return np.zeros(len(self._X))
        added = self._booster.predict(self._X, raw_score=True, start_iteration=start, num_iteration=end - start)
        return np.asarray(added, dtype=np.float64)


class _StagedXgboost:
    """The same of XGBoost."""

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
        self._X = held_out.X
        self.n_trees = int(self.estimator.get_booster().num_boosted_rounds())
        self.has_lost_patience = self.n_trees - 1 - int(self.estimator.best_iteration) >= PATIENCE
        half = self.n_trees // 2
        # Every prediction holds the base score: once too often where two parts are added.
        self._base = self._predict(0, half) + self._predict(half, self.n_trees) - self._predict(0, self.n_trees)

    def margin(self, start: int, end: int) -> NDArray[np.float64]:
        if start == end:
            return np.zeros(len(self._X))
        return self._predict(start, end) - (self._base if start else 0.0)

    def _predict(self, start: int, end: int) -> NDArray[np.float64]:
        margin = self.estimator.predict(self._X, output_margin=True, iteration_range=(start, end))
        return np.asarray(margin, dtype=np.float64)
