"""The calibration stage, of Table 1 and beyond it: maps scores to risks, fitted on inner held-out predictions.

=======  ==========================================================================================  ============
symbol   meaning                                                                                     shape
=======  ==========================================================================================  ============
z        log odds of the pipeline's risks for held-out patients                                      (n,)
y        outcomes, 1 for an event                                                                    (n,)
w, a, b  mixture of sigmoids: risk = sum_k w_k / (1 + exp(-(a_k + b_k z))), w_k, b_k >= 0            (k,)
T        temperature, above 0                                                                        scalar
=======  ==========================================================================================  ============

    sigmoid                one, a and b by maximum likelihood, outcomes shrunk slightly to the middle (Platt)
    temperature            one, a = 0, b = 1 / T
    ensemble_temperature   the temperature, z itself and an even chance, weights by maximum likelihood
    isotonic               none: the maximum-likelihood nondecreasing map

No map reverses a ranking. The calibrator wraps all earlier stages, so that none of them has seen the patients of the
map. It costs one fit to all training patients and three to two thirds of them; of a large cohort, two to half of them.

References
----------
Platt (1999), Advances in Large Margin Classifiers: the sigmoid, here of log odds, whose identity map suits a
calibrated learner. Guo, Pleiss, Sun & Weinberger (2017), ICML: temperature. Zhang, Kailkhura & Han (2020), ICML:
ensemble of temperatures. Zadrozny & Elkan (2002), KDD: isotonic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.validation import check_is_fitted

from autoprog.fitted_pipeline import predict_proba
from autoprog.space._base import Algorithm, Cost, Input, TableShape
from autoprog.space.event_times import CalibratedIncidence
from autoprog.space.groups import Groups, with_groups
from autoprog.space.hyperparameters import Parameter
from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes

Method = Literal["sigmoid", "isotonic", "temperature", "ensemble_temperature"]

_INNER_FOLDS = 3
# Above this many patients, fewer inner folds.
_MANY, _INNER_FOLDS_OF_MANY = 50_000, 2
_TAKES: frozenset[Input] = frozenset({"missing", "negative", "categories", "collinear"})
_EPSILON = 1e-6
# Keeps a slope finite that the patients do not determine.
_WEAK_PENALTY = 1e6
_TEMPERATURES = (0.05, 20.0)

_Floats = NDArray[np.float64]


class CalibratedRisk(MetaEstimatorMixin, BinaryClassifier):  # type: ignore[misc]
    """A pipeline and a map of its risks that is fitted on inner held-out risks.

    Unlike scikit-learn's `CalibratedClassifierCV`, the map never has a negative slope: the held-out risks of a weak
    learner are often opposed to the outcomes. With a slope of 0, every patient gets the share of events.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with `predict_proba`; clones are fitted to all patients and to each inner training fold.
    method : {"sigmoid", "isotonic", "temperature", "ensemble_temperature"}
        The map.
    cv : int, splitter, or sequence of (train, test)
        Inner folds.

    Attributes
    ----------
    classes_ : ndarray, shape = (2,)
        The second is the event.
    estimator_ : estimator
        Fitted to all patients.
    sigmoids_ : ndarray, shape = (k, 3)
        w, a and b of each sigmoid; empty if the map is isotonic.
    isotonic_ : IsotonicRegression or None
        The isotonic map of log odds.
    """

    def __init__(self, estimator: BaseEstimator | None = None, method: Method = "sigmoid", cv: Any = 3) -> None:  # noqa: ANN401
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def fit(self, X: ArrayLike, y: ArrayLike, groups: Groups | None = None) -> Self:
        """Fit the pipeline, which gets the groups, and its calibration to an outcome of two classes."""
        columns, outcome = np.asarray(X), np.asarray(y)
        self.classes_, events = two_classes(outcome)
        z = np.empty(len(events))
        for train, test in check_cv(self.cv, outcome, classifier=True).split(columns, outcome):
            of_part = None if groups is None else groups[train]
            part = clone(self.estimator).fit(columns[train], outcome[train], **with_groups(self.estimator, of_part))
            z[test] = _log_odds(part, columns[test])
        self.isotonic_ = _isotonic(z, events) if self.method == "isotonic" else None
        self.sigmoids_ = np.empty((0, 3)) if self.method == "isotonic" else _MAPS[self.method](z, events)
        self.estimator_ = clone(self.estimator).fit(columns, outcome, **with_groups(self.estimator, groups))
        return self

    def predict_proba(self, X: ArrayLike) -> _Floats:
        """Probability of each class, shape = (n_patients, 2), columns as in `classes_`."""
        check_is_fitted(self)
        z = _log_odds(self.estimator_, np.asarray(X))
        if self.isotonic_ is not None:
            risks = self.isotonic_.predict(z)
        else:
            w, a, b = self.sigmoids_.T
            risks = expit(a + z[:, None] * b) @ w
        return np.column_stack([1 - risks, risks])


class Calibrated(CalibratedClassifierCV):  # type: ignore[misc]
    """Calibration in models stored by earlier versions: loaded, never fitted."""


def _log_odds(fitted: BaseEstimator, X: NDArray[Any]) -> _Floats:
    z: _Floats = logit(np.clip(predict_proba(fitted, X)[:, 1], _EPSILON, 1 - _EPSILON))
    return z


def _sigmoid(z: _Floats, y: _Floats) -> _Floats:
    """Maximum-likelihood a and b; the share of events for everyone if b would be below 0."""
    events = y.sum()
    # Each of Platt's soft outcomes is split into a patient with the event and one without.
    high, low = (events + 1) / (events + 2), 1 / (len(y) - events + 2)
    t = np.where(y == 1, high, low)
    weight = np.concatenate([t, 1 - t])
    label = np.repeat([1, 0], len(y))
    fitted = LogisticRegression(C=_WEAK_PENALTY, max_iter=1000).fit(np.tile(z, 2)[:, None], label, sample_weight=weight)
    slope = float(fitted.coef_[0, 0])
    if slope < 0:
        return np.array([[1.0, float(logit(np.clip(y.mean(), _EPSILON, 1 - _EPSILON))), 0.0]])
    return np.array([[1.0, float(fitted.intercept_[0]), slope]])


def _temperature(z: _Floats, y: _Floats) -> _Floats:
    def loss(log_t: float) -> float:
        return float(np.logaddexp(0.0, np.where(y == 1, -z, z) * np.exp(-log_t)).mean())

    found = minimize_scalar(loss, bounds=np.log(_TEMPERATURES), method="bounded")
    return np.array([[1.0, 0.0, float(np.exp(-found.x))]])


def _ensemble_temperature(z: _Floats, y: _Floats) -> _Floats:
    ((_, _, slope),) = _temperature(z, y)
    b = np.array([slope, 1.0, 0.0])
    q = expit(np.where(y == 1, z, -z)[:, None] * b)

    # Where the log score minus the sum of the weights is largest, the weights sum to 1.
    def loss(w: _Floats) -> tuple[float, _Floats]:
        mixed = q @ w
        return float(w.sum() - np.log(mixed).mean()), 1.0 - (q / mixed[:, None]).mean(axis=0)

    found = minimize(loss, np.full(3, 1 / 3), jac=True, method="L-BFGS-B", bounds=[(1e-9, None)] * 3)
    w = found.x / found.x.sum()
    return np.column_stack([w, np.zeros(3), b])


def _isotonic(z: _Floats, y: _Floats) -> IsotonicRegression:
    return IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(z, y)


_MAPS = {"sigmoid": _sigmoid, "temperature": _temperature, "ensemble_temperature": _ensemble_temperature}


def _calibrated(method: Method, reference: str, **more: Any) -> Algorithm:  # noqa: ANN401  fields of an algorithm
    def build(_parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
        most = _INNER_FOLDS if shape.n_patients <= _MANY else _INNER_FOLDS_OF_MANY
        folds = min(most, shape.n_minority)
        if shape.times:
            assert method in {"sigmoid", "isotonic"}  # noqa: S101  the others do not serve event times
            return CalibratedIncidence(method=method, times=shape.times, cv=folds, seed=seed)
        return CalibratedRisk(method=method, cv=StratifiedKFold(folds, shuffle=True, random_state=seed))

    return Algorithm(
        "calibration",
        method,
        (),
        build,
        family="calibration",
        takes=_TAKES,
        refits=1.0 + _INNER_FOLDS * (1 - 1 / _INNER_FOLDS),
        stored_types=(
            "autoprog.space.calibration.CalibratedRisk",
            "autoprog.space.calibration.Calibrated",
            "sklearn.calibration._CalibratedClassifier",
            "sklearn.calibration._SigmoidCalibration",
            "autoprog.space.event_times.calibrated.CalibratedIncidence",
            "sklearn.model_selection._split.StratifiedKFold",
        ),
        reference=reference,
        **more,
    )


CALIBRATION: tuple[Algorithm, ...] = (
    _calibrated("sigmoid", "Platt 1999, Advances in Large Margin Classifiers"),
    _calibrated("isotonic", "Zadrozny & Elkan 2002, KDD"),
    Algorithm(
        "calibration",
        "none",
        (),
        lambda *_: None,
        family="calibration",
        takes=_TAKES,
        cost=Cost(0.0),
        reference="the learner's own probabilities",
    ),
)

BEYOND_TABLE_1: tuple[Algorithm, ...] = (
    _calibrated("temperature", "Guo et al. 2017, ICML", modes=("classification",), table_1=False),
    _calibrated("ensemble_temperature", "Zhang, Kailkhura & Han 2020, ICML", modes=("classification",), table_1=False),
)
"""Maps with one and three parameters, for which a few hundred patients suffice."""

MIN_FOR_ISOTONIC = 1_000
"""Fewest patients for the isotonic map in a search that does not name it: with 1,000 rows or fewer it more than doubled
the log loss (CalArena study, 31 tabular data sets)."""
