"""A decision tree, and forests that average many of them.

A tree takes missing cells: each split sends them to the side that lowers the impurity more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from autoprog.space._base import Algorithm, Cost, Input, TableShape
from autoprog.space.hyperparameters import Choice, Float, Hyperparameter, Integer, Parameter
from autoprog.space.prediction.bounds import least_in_leaf, member_fraction

_TAKES: frozenset[Input] = frozenset({"missing", "negative", "collinear", "weights"})
_TREE = "sklearn.tree._tree.Tree"
_CRITERION = Choice("criterion", ("gini", "entropy"), default="gini")

# Every member pays for all patients of the fit, however few it is grown on: it sorts the outcome and reads scattered
# rows, 0.1 s per tree for 400,000 patients. On 400,000 simulated patients with 87 columns, members of 4,000 lose
# 0.006 of the AUC of members of 5,000 out of 50,000 (0.810, 0.817) and take two thirds of the time (6.6 s, 9.8 s).
_MAX_IN_FIT = 20_000
_MAX_IN_MEMBER = 4_000
# Growth of a forest's cost with patients: almost linear up to `_MAX_IN_MEMBER`, almost flat up to `_MAX_IN_FIT`.
_GROWTH = 0.75


class _Forest:
    """Forest whose trees predict one after another.

    scikit-learn makes a job of each tree, which takes one patient ten times as long as the trees do.
    """

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Mean of the trees' probabilities, shape = (n, n_classes); the same bits as scikit-learn's."""
        check_is_fitted(self)
        x = self._validate_X_predict(X)  # type: ignore[attr-defined]  # of the forest
        trees = self.estimators_  # type: ignore[attr-defined]
        total = np.zeros((len(x), self.n_classes_))  # type: ignore[attr-defined]
        for tree in trees:
            total += tree.tree_.predict(x)
        return total / len(trees)


class RandomForest(_Forest, RandomForestClassifier):  # type: ignore[misc]
    """Random forest."""


class ExtraTrees(_Forest, ExtraTreesClassifier):  # type: ignore[misc]
    """Extremely randomised trees."""


class BaggedTrees(BaggingClassifier):  # type: ignore[misc]
    """Bagged decision trees that predict one after another, as those of a forest do."""

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Mean of the trees' probabilities, shape = (n, n_classes); the same bits as scikit-learn's."""
        check_is_fitted(self)
        # Trees learn from and predict numbers of single precision.
        x = validate_data(self, X, dtype=np.float32, ensure_all_finite="allow-nan", reset=False)
        total = np.zeros((len(x), self.n_classes_))
        for tree, columns in zip(self.estimators_, self.estimators_features_, strict=True):
            total[:, tree.classes_] += tree.tree_.predict(np.ascontiguousarray(x[:, columns]))
        return total / len(self.estimators_)


def _decision_tree(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    return DecisionTreeClassifier(
        criterion=str(parameters["criterion"]),
        max_depth=int(parameters["max_depth"]),
        min_samples_leaf=least_in_leaf(parameters, shape),
        ccp_alpha=float(parameters["pruning"]),
        random_state=seed,
    )


def _of_a_forest(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> dict[str, Any]:
    """Constructor arguments that both forests share."""
    return {
        "n_estimators": int(parameters["trees"]),
        "criterion": str(parameters["criterion"]),
        "max_features": float(parameters["max_features"]),
        "min_samples_leaf": least_in_leaf(parameters, shape),
        "max_depth": int(parameters["max_depth"]),
        "max_samples": member_fraction(shape, _MAX_IN_MEMBER, _MAX_IN_FIT),
        "n_jobs": 1,
        "random_state": seed,
    }


def _random_forest(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    return RandomForest(**_of_a_forest(parameters, shape, seed))


def _extra_trees(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    # Extremely randomised trees use all patients; only a large fold is sampled.
    large = member_fraction(shape, _MAX_IN_MEMBER, _MAX_IN_FIT) is not None
    return ExtraTrees(**_of_a_forest(parameters, shape, seed), bootstrap=large)


def _bagging(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    most = member_fraction(shape, _MAX_IN_MEMBER, _MAX_IN_FIT)
    share = float(parameters["max_samples"])
    return BaggedTrees(
        DecisionTreeClassifier(min_samples_leaf=least_in_leaf(parameters, shape)),
        n_estimators=int(parameters["trees"]),
        max_samples=share if most is None else min(share, most),
        max_features=float(parameters["max_features"]),
        n_jobs=1,
        random_state=seed,
    )


_FOREST_AXES: tuple[Hyperparameter, ...] = (
    Integer("trees", 50, 500, 150, log=True),
    _CRITERION,
    Float("max_features", 0.05, 1.0, 0.3),
    Integer("min_leaf", 1, 30, 3, log=True),
    Integer("max_depth", 2, 30, 15, log=True),
)

DECISION_TREE = Algorithm(
    "prediction",
    "decision_tree",
    (
        _CRITERION,
        Integer("max_depth", 1, 15, 5),
        Integer("min_leaf", 1, 100, 10, log=True),
        Float("pruning", 1e-5, 1e-1, 1e-3, log=True),
    ),
    _decision_tree,
    family="tree",
    takes=_TAKES,
    cost=Cost(0.01, patients=1.1),
    max_patients=100_000,
    stored_types=(_TREE,),
    reference=(
        "Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees; ranges after Probst, "
        "Boulesteix & Bischl (2019), J. Mach. Learn. Res. 20(53)"
    ),
)

RANDOM_FOREST = Algorithm(
    "prediction",
    "random_forest",
    _FOREST_AXES,
    _random_forest,
    family="forest",
    takes=_TAKES,
    cost=Cost(0.5, patients=_GROWTH),
    max_patients=_MAX_IN_FIT,
    stored_types=(_TREE, f"{__name__}.RandomForest"),
    out_of_bag=True,
    reference=(
        "Breiman (2001), Mach. Learn. 45:5-32; ranges after Probst, Boulesteix & Bischl (2019), J. Mach. Learn. Res. "
        "20(53), and van Rijn & Hutter (2018), KDD"
    ),
)

EXTRA_TREES = Algorithm(
    "prediction",
    "extra_trees",
    _FOREST_AXES,
    _extra_trees,
    family="forest",
    takes=_TAKES,
    cost=Cost(0.2, patients=_GROWTH),
    max_patients=_MAX_IN_FIT,
    stored_types=(_TREE, f"{__name__}.ExtraTrees"),
    reference="Geurts, Ernst & Wehenkel (2006), Mach. Learn. 63:3-42; ranges as for random_forest",
)

BAGGING = Algorithm(
    "prediction",
    "bagging",
    (
        Integer("trees", 10, 200, 50, log=True),
        Float("max_samples", 0.2, 1.0, 0.7),
        Float("max_features", 0.2, 1.0, 0.7),
        Integer("min_leaf", 1, 50, 5, log=True),
    ),
    _bagging,
    family="forest",
    takes=_TAKES,
    cost=Cost(0.25, patients=_GROWTH),
    max_patients=_MAX_IN_FIT,
    stored_types=(_TREE, f"{__name__}.BaggedTrees"),
    reference="Breiman (1996), Mach. Learn. 24:123-140; Louppe & Geurts (2012), ECML PKDD (shares of both)",
)
