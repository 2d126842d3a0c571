"""The prediction stage of Table 1: the learners.

Learners that depend on the scale of their inputs standardise them on the training patients. Each runs on one thread:
the engine runs as many evaluations at once as there are cores.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.space._base import Algorithm, Build, TableShape
from autoprog.space.hyperparameters import Choice, Float, Hyperparameter, Integer, Parameter


class RidgeProbability(RidgeClassifier):  # type: ignore[misc]
    """Ridge regression on the outcome coded -1 and 1, read as the linear probability model that it is.

    The fitted value estimates `2 P(y = 1) - 1`; it is mapped back and cut to [0, 1].
    """

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each class.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Standardised design matrix.

        Returns
        -------
        ndarray, shape = (n_patients, 2)
            Columns as in `classes_`.
        """
        risk = np.clip((self.decision_function(X) + 1.0) / 2.0, 0.0, 1.0)
        return np.column_stack([1.0 - risk, risk])


def _logistic_regression(_parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    # The library's unit penalty on standardised columns: separable small cohorts keep finite coefficients.
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _ridge(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return make_pipeline(StandardScaler(), RidgeProbability(alpha=float(parameters["alpha"])))


def _gaussian_nb(_parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return GaussianNB()


def _k_nearest_neighbours(parameters: Mapping[str, Parameter], shape: TableShape, _seed: int) -> BaseEstimator:
    # The inner folds of the calibration stage hold two thirds of the training patients.
    neighbours = max(1, min(int(parameters["neighbours"]), shape.n_patients // 2))
    return make_pipeline(StandardScaler(), KNeighborsClassifier(neighbours, n_jobs=1))


def _random_forest(parameters: Mapping[str, Parameter], _shape: TableShape, seed: int) -> BaseEstimator:
    return RandomForestClassifier(
        n_estimators=int(parameters["trees"]),
        criterion=str(parameters["criterion"]),
        max_features=float(parameters["max_features"]),
        min_samples_leaf=int(parameters["min_leaf"]),
        max_depth=int(parameters["max_depth"]),
        n_jobs=1,
        random_state=seed,
    )


def _xgboost(parameters: Mapping[str, Parameter], _shape: TableShape, seed: int) -> BaseEstimator:
    # Imported here: the service lists the space without paying a second and 100 MB for the boosting libraries.
    from xgboost import XGBClassifier  # noqa: PLC0415

    return XGBClassifier(
        n_estimators=int(parameters["trees"]),
        learning_rate=float(parameters["learning_rate"]),
        max_depth=int(parameters["max_depth"]),
        subsample=float(parameters["subsample"]),
        min_child_weight=float(parameters["min_child_weight"]),
        tree_method="hist",
        n_jobs=1,
        random_state=seed,
    )


def _lightgbm(parameters: Mapping[str, Parameter], _shape: TableShape, seed: int) -> BaseEstimator:
    from lightgbm import LGBMClassifier  # noqa: PLC0415  as for xgboost

    return LGBMClassifier(
        n_estimators=int(parameters["trees"]),
        learning_rate=float(parameters["learning_rate"]),
        num_leaves=int(parameters["leaves"]),
        min_child_samples=int(parameters["min_leaf"]),
        reg_lambda=float(parameters["l2"]),
        deterministic=True,
        force_row_wise=True,
        n_jobs=1,
        random_state=seed,
        verbosity=-1,
    )


def _predictor(
    name: str,
    family: str,
    build: Build,
    *axes: Hyperparameter,
    takes_missing: bool = False,
    stored_types: tuple[str, ...] = (),
) -> Algorithm:
    return Algorithm("prediction", name, axes, build, family, takes_missing=takes_missing, stored_types=stored_types)


PREDICTION: tuple[Algorithm, ...] = (
    _predictor("logistic_regression", "linear", _logistic_regression),
    _predictor(
        "ridge",
        "linear",
        _ridge,
        Float("alpha", 1e-2, 1e4, 10.0, log=True),
        stored_types=("autoprog.space.prediction.RidgeProbability",),
    ),
    _predictor("gaussian_nb", "local", _gaussian_nb),
    _predictor(
        "k_nearest_neighbours",
        "local",
        _k_nearest_neighbours,
        Integer("neighbours", 3, 150, 25, log=True),
        stored_types=("sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree"),
    ),
    _predictor(
        "random_forest",
        "forest",
        _random_forest,
        Integer("trees", 50, 500, 150, log=True),
        Choice("criterion", ("gini", "entropy"), default="gini"),
        Float("max_features", 0.05, 1.0, 0.3),
        Integer("min_leaf", 1, 30, 3, log=True),
        Integer("max_depth", 2, 30, 15, log=True),
        takes_missing=True,
        stored_types=("sklearn.tree._tree.Tree",),
    ),
    _predictor(
        "xgboost",
        "boosting",
        _xgboost,
        Integer("trees", 25, 500, 100, log=True),
        Float("learning_rate", 0.01, 0.3, 0.1, log=True),
        Integer("max_depth", 1, 8, 3),
        Float("subsample", 0.5, 1.0, 0.8),
        Float("min_child_weight", 1.0, 20.0, 1.0, log=True),
        takes_missing=True,
        stored_types=("xgboost.core.Booster", "xgboost.sklearn.XGBClassifier"),
    ),
    _predictor(
        "lightgbm",
        "boosting",
        _lightgbm,
        Integer("trees", 25, 500, 100, log=True),
        Float("learning_rate", 0.01, 0.3, 0.1, log=True),
        Integer("leaves", 2, 64, 15, log=True),
        Integer("min_leaf", 5, 50, 20, log=True),
        Float("l2", 1e-3, 10.0, 1e-3, log=True),
        takes_missing=True,
        stored_types=("collections.OrderedDict", "lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier"),
    ),
)
