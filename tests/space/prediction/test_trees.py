"""Trees and forests: the split, the leaves, and how many patients a member sees."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from autoprog.space import Algorithm
from autoprog.space.prediction.trees import (
    _MAX_IN_FIT,
    _MAX_IN_MEMBER,
    BAGGING,
    DECISION_TREE,
    EXTRA_TREES,
    RANDOM_FOREST,
    BaggedTrees,
    ExtraTrees,
    RandomForest,
)
from tests.space.prediction.learners import Table, fitted, patients, shape_of

X, Y = patients(120, 4)
FORESTS = [RANDOM_FOREST, EXTRA_TREES, BAGGING]


def _impurity(y: Table, criterion: str) -> float:
    p = y.mean()
    if criterion == "gini":
        return len(y) * 2 * p * (1 - p)
    return -len(y) * sum(q * np.log2(q) for q in (p, 1 - p) if q > 0)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_one_split_is_the_purest_of_all(criterion: str) -> None:
    tree = fitted(DECISION_TREE, X, Y, criterion=criterion, max_depth=1, min_leaf=10, pruning=1e-5)
    splits = [
        (_impurity(Y[x <= cut], criterion) + _impurity(Y[x > cut], criterion), x <= cut)
        for x in X.T
        for cut in np.sort(x)[9:-10]
    ]
    _, left = min(splits, key=lambda split: split[0])
    expected = np.where(left, Y[left].mean(), Y[~left].mean())
    np.testing.assert_allclose(tree.predict_proba(X)[:, 1], expected)


def test_pruning_takes_leaves_off() -> None:
    leaves = [
        fitted(DECISION_TREE, X, Y, max_depth=15, min_leaf=1, pruning=alpha).get_n_leaves()
        for alpha in (1e-5, 1e-2, 1e-1)
    ]
    assert leaves[0] > leaves[1] > leaves[2]


@pytest.mark.parametrize("algorithm", [DECISION_TREE, *FORESTS], ids=lambda a: a.name)
def test_a_missing_cell_can_be_what_matters(algorithm: Algorithm) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 1))
    y = (rng.random(200) < 0.5).astype(np.int8)
    x[y == 1] = np.nan
    risks = fitted(algorithm, x, y).predict_proba(np.array([[np.nan], [0.0]]))[:, 1]
    assert risks[0] > 0.9
    assert risks[1] < 0.1


@pytest.mark.parametrize("algorithm", FORESTS, ids=lambda a: a.name)
def test_a_member_of_a_forest_on_a_large_fold_sees_so_many_patients_and_no_more(algorithm: Algorithm) -> None:
    X, y = patients(2 * _MAX_IN_MEMBER, 2)
    forest = fitted(algorithm, X, y, trees=3, min_leaf=30)
    drawn = [tree.tree_.weighted_n_node_samples[0] for tree in forest.estimators_]
    assert drawn == [_MAX_IN_MEMBER] * 3
    huge = dataclasses.replace(shape_of(X, y), n_patients=10 * _MAX_IN_FIT)
    share = algorithm.build(dict(algorithm.default_step().parameters), huge, 0).max_samples
    assert share * _MAX_IN_FIT == pytest.approx(_MAX_IN_MEMBER)


def test_on_a_small_fold_extra_trees_see_all_patients_once() -> None:
    forest = fitted(EXTRA_TREES, X, Y, trees=3)
    assert [tree.tree_.n_node_samples[0] for tree in forest.estimators_] == [120] * 3


@pytest.mark.parametrize("algorithm", [DECISION_TREE, *FORESTS], ids=lambda a: a.name)
def test_the_largest_leaf_still_leaves_a_split_of_an_inner_fold(algorithm: Algorithm) -> None:
    X, y = patients(60, 2, signal=4.0)
    largest = next(h for h in algorithm.hyperparameters if h.name == "min_leaf").high
    model = fitted(algorithm, X, y, min_leaf=largest)
    assert np.ptp(model.fit(X[:40], y[:40]).predict_proba(X)[:, 1]) > 0.2


@pytest.mark.parametrize(
    ("ours", "theirs", "more"),
    [
        (RandomForest, RandomForestClassifier, {"min_samples_leaf": 2}),
        (ExtraTrees, ExtraTreesClassifier, {"min_samples_leaf": 2}),
        (
            BaggedTrees,
            BaggingClassifier,
            {"estimator": DecisionTreeClassifier(min_samples_leaf=3), "max_features": 0.6},
        ),
        # With two patients a tree, some trees know one class only.
        (BaggedTrees, BaggingClassifier, {"estimator": DecisionTreeClassifier(min_samples_leaf=3), "max_samples": 2}),
    ],
)
def test_forest_predicts_the_same_bits_as_scikit_learn(ours: Any, theirs: Any, more: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 7))
    y = (x[:, 0] + rng.normal(size=300) > 0).astype(int)
    x[rng.random(x.shape) < 0.1] = np.nan
    fitted, reference = (forest(n_estimators=40, random_state=2, **more).fit(x, y) for forest in (ours, theirs))
    new = rng.normal(size=(50, 7))
    for rows in (x, new, new[:1]):
        assert np.array_equal(fitted.predict_proba(rows), reference.predict_proba(rows))
    assert np.array_equal(fitted.predict(new), reference.predict(new))
