"""Boosting: each tree is fitted to what the trees before it leave unexplained."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.base import BaseEstimator
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from autoprog.space._base import Algorithm, Cost, Input, TableShape
from autoprog.space.hyperparameters import Choice, Float, Integer, Parameter
from autoprog.space.prediction.bounds import least_in_leaf, least_weight
from autoprog.space.prediction.histogram_booster import HistogramBooster

# First value on the path of the booster beyond Table 1; the paths of Table 1 start at the ends of their axes.
_MIN_TREES = 10
_TREE = "sklearn.tree._tree.Tree"
_WRAPPER = "autoprog.space.prediction.histogram_booster.HistogramBooster"
_EXACT: frozenset[Input] = frozenset({"negative", "collinear", "weights"})
_HISTOGRAM: frozenset[Input] = _EXACT | {"missing", "categories"}


def _ada_boost(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    tree = DecisionTreeClassifier(
        max_depth=int(parameters["max_depth"]), min_samples_leaf=least_in_leaf(parameters, shape)
    )
    return AdaBoostClassifier(
        tree,
        n_estimators=int(parameters["trees"]),
        learning_rate=float(parameters["learning_rate"]),
        random_state=seed,
    )


def _gradient_boosting(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    return GradientBoostingClassifier(
        n_estimators=int(parameters["trees"]),
        learning_rate=float(parameters["learning_rate"]),
        max_depth=int(parameters["max_depth"]),
        min_samples_leaf=least_in_leaf(parameters, shape),
        subsample=float(parameters["subsample"]),
        max_features=float(parameters["max_features"]),
        random_state=seed,
    )


def _xgboost(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    # Imported here, so that the service lists the space without the second and 100 MB that the libraries take.
    from xgboost import XGBClassifier  # noqa: PLC0415

    # Types only if codes stay codes: a feature processor may change the number of columns otherwise.
    types = ["c" if j in shape.categorical else "q" for j in range(shape.n_columns)] if shape.categorical else None
    booster = XGBClassifier(
        n_estimators=int(parameters["trees"]),
        learning_rate=float(parameters["learning_rate"]),
        max_depth=int(parameters["max_depth"]),
        subsample=float(parameters["subsample"]),
        min_child_weight=least_weight(parameters, shape),
        feature_types=types,
        enable_categorical=bool(shape.categorical),
        tree_method="hist",
        n_jobs=1,
        random_state=seed,
    )
    return HistogramBooster(booster)


def _lightgbm(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    from lightgbm import LGBMClassifier  # noqa: PLC0415  as for xgboost

    min_leaf = least_in_leaf(parameters, shape)
    booster = LGBMClassifier(
        n_estimators=int(parameters["trees"]),
        learning_rate=float(parameters["learning_rate"]),
        num_leaves=int(parameters["leaves"]),
        min_child_samples=min_leaf,
        # The default of 100 patients per grouped level is too many for a clinical cohort.
        min_data_per_group=min_leaf,
        reg_lambda=float(parameters["l2"]),
        deterministic=True,
        force_row_wise=True,
        n_jobs=1,
        random_state=seed,
        verbosity=-1,
    )
    return HistogramBooster(booster, shape.categorical)


def _stochastic_boosting(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    from lightgbm import LGBMClassifier  # noqa: PLC0415  as for xgboost

    min_leaf = least_in_leaf(parameters, shape)
    rows = float(parameters["rows"])
    booster = LGBMClassifier(
        n_estimators=int(parameters["trees"]),
        learning_rate=float(parameters["learning_rate"]),
        num_leaves=int(parameters["leaves"]),
        min_child_samples=min_leaf,
        min_data_per_group=min_leaf,
        reg_lambda=float(parameters["l2"]),
        colsample_bytree=float(parameters["columns"]),
        feature_fraction_bynode=float(parameters["columns_by_node"]),
        subsample=rows,
        subsample_freq=1 if rows < 1 else 0,
        extra_trees=bool(parameters["extra_trees"]),
        deterministic=True,
        force_row_wise=True,
        n_jobs=1,
        random_state=seed,
        verbosity=-1,
    )
    return HistogramBooster(booster, shape.categorical, _MIN_TREES, encodes=parameters["levels"] == "outcomes")


ADA_BOOST = Algorithm(
    "prediction",
    "ada_boost",
    (
        Integer("trees", 25, 300, 100, log=True),
        Float("learning_rate", 0.01, 2.0, 0.5, log=True),
        Integer("max_depth", 1, 6, 1),
        Integer("min_leaf", 1, 50, 5, log=True),
    ),
    _ada_boost,
    family="boosting",
    takes=_EXACT,
    cost=Cost(0.4),
    max_patients=10_000,
    stored_types=(_TREE,),
    reference="Freund & Schapire (1997), J. Comput. Syst. Sci. 55:119-139; ranges after van Rijn & Hutter (2018), KDD",
)

GRADIENT_BOOSTING = Algorithm(
    "prediction",
    "gradient_boosting",
    (
        Integer("trees", 25, 500, 100, log=True),
        Float("learning_rate", 0.01, 0.3, 0.1, log=True),
        Integer("max_depth", 1, 8, 3),
        Integer("min_leaf", 1, 50, 5, log=True),
        Float("subsample", 0.3, 1.0, 0.8),
        Float("max_features", 0.1, 1.0, 0.5),
    ),
    _gradient_boosting,
    family="boosting",
    takes=_EXACT,
    cost=Cost(0.3),
    max_patients=10_000,
    stored_types=(_TREE,),
    reference=(
        "Friedman (2001), Ann. Stat. 29:1189-1232, and (2002), Comput. Stat. Data Anal. 38:367-378; ranges after "
        "Feurer et al. (2015), NIPS 28, without the deepest trees"
    ),
)

XGBOOST = Algorithm(
    "prediction",
    "xgboost",
    (
        Integer("trees", 25, 500, 100, log=True),
        Float("learning_rate", 0.01, 0.3, 0.1, log=True),
        Integer("max_depth", 1, 8, 3),
        Float("subsample", 0.5, 1.0, 0.8),
        Float("min_child_weight", 1.0, 20.0, 1.0, log=True),
    ),
    _xgboost,
    family="boosting",
    takes=_HISTOGRAM,
    cost=Cost(0.05, patients=0.75, columns=0.75),
    max_patients=250_000,  # a default fit to 400,000 with 87 columns takes 10 s
    stored_types=(_WRAPPER, "xgboost.core.Booster", "xgboost.sklearn.XGBClassifier"),
    path="trees",
    reference=(
        "Chen & Guestrin (2016), KDD; ranges after Probst, Boulesteix & Bischl (2019), J. Mach. Learn. Res. 20(53)"
    ),
)

LIGHTGBM = Algorithm(
    "prediction",
    "lightgbm",
    (
        Integer("trees", 25, 500, 100, log=True),
        Float("learning_rate", 0.01, 0.3, 0.1, log=True),
        Integer("leaves", 2, 64, 15, log=True),
        Integer("min_leaf", 5, 50, 20, log=True),
        Float("l2", 1e-3, 10.0, 1e-3, log=True),
    ),
    _lightgbm,
    family="boosting",
    takes=_HISTOGRAM,
    cost=Cost(0.08, patients=0.75, columns=0.75),
    stored_types=(_WRAPPER, "collections.OrderedDict", "lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier"),
    threaded=True,
    path="trees",
    reference="Ke et al. (2017), NIPS 30; the defaults' l2 is too small to matter, ranges after the library's advice",
)

STOCHASTIC_BOOSTING = Algorithm(
    "prediction",
    "stochastic_boosting",
    (
        Integer("trees", _MIN_TREES, 1500, 500, log=True),
        Float("learning_rate", 0.02, 0.3, 0.06, log=True),
        Integer("leaves", 2, 127, 15, log=True),
        Integer("min_leaf", 1, 100, 20, log=True),
        Float("l2", 1e-3, 10.0, 1.0, log=True),
        Float("columns", 0.2, 1.0, 0.7),
        Float("columns_by_node", 0.2, 1.0, 1.0),
        Float("rows", 0.5, 1.0, 0.8),
        Choice("extra_trees", (False, True), default=False),
        Choice("levels", ("codes", "outcomes"), default="codes"),
    ),
    _stochastic_boosting,
    family="boosting",
    takes=_HISTOGRAM,
    cost=Cost(0.15, patients=0.75, columns=0.75),
    stored_types=(_WRAPPER, "collections.OrderedDict", "lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier"),
    threaded=True,
    reference=(
        "Friedman (2002), Comput. Stat. Data Anal. 38:367-378 (rows); Geurts, Ernst & Wehenkel (2006), Mach. Learn. "
        "63:3-42 (extra trees); Ke et al. (2017), NIPS 30; Micci-Barreca (2001), SIGKDD Explor. 3:27-32 (levels)"
    ),
    table_1=False,
    path="trees",
)
