"""What a list of the opening is chosen from: the entries that the product knows, and others that found no place."""

from __future__ import annotations

from collections.abc import Sequence

from autoprog.search.opening import Entry, build_configuration, entries_for, kinds_by_names
from autoprog.space import Configuration, PipelineKind, TableShape


def candidates_for(kinds: Sequence[PipelineKind], shape: TableShape, n_patients: int) -> dict[str, Configuration]:
    """Every candidate that the cohort's shape allows, by name.

    Parameters
    ----------
    kinds : sequence of PipelineKind
        The valid kinds.
    shape : TableShape
        The training folds.
    n_patients : int
        Of the cohort.

    Returns
    -------
    dict of str to Configuration
        The product's first.
    """
    entries = {"simple": Entry("logistic_regression", imputation="median"), **entries_for(shape, n_patients)}
    for name, entry in _others(n_patients).items():
        entries.setdefault(name, entry)
    by_names = kinds_by_names(kinds)
    configurations = {name: build_configuration(entry, by_names) for name, entry in entries.items()}
    return {name: configuration for name, configuration in configurations.items() if configuration is not None}


def _others(n: int) -> dict[str, Entry]:
    in_leaf = round(min(max(n / 30, 5), 30))
    return {
        "ridge_3e-4": Entry("penalised_logistic", {"C": 3e-4}, calibration="sigmoid"),
        "elastic_net": Entry("penalised_logistic", {"C": 3.0, "l1_ratio": 0.5}),
        "l1_firm": Entry("penalised_logistic", {"C": 0.03, "l1_ratio": 1.0}, calibration="sigmoid"),
        "splines_3": Entry("spline_logistic", {"C": 3.0, "knots": 3}),
        "splines_firm": Entry("spline_logistic", {"C": 1e-3}, calibration="sigmoid"),
        "kernel_1": Entry("kernel_logistic", {"C": 300.0, "gamma": 1.0}),
        "kernel_500": Entry("kernel_logistic", {"C": 300.0, "gamma": 0.5, "components": 500}),
        "lda": Entry("lda", imputation="median"),
        "linear_probability_3": Entry("ridge", {"alpha": 3000.0}, imputation="median"),
        "margin_1e-2": Entry("linear_svm", {"C": 1e-2}, imputation="median"),
        "gaussian_nb": Entry("gaussian_nb", imputation="median", calibration="sigmoid"),
        "neighbours": Entry("k_nearest_neighbours", {"neighbours": 50}, imputation="median"),
        **{f"extra_trees_{leaf}": _chance(leaf) for leaf in (1, 2, 5, 10)},
        "forest_10": Entry("random_forest", {"trees": 300, "min_leaf": 10, "max_features": 0.3, "max_depth": 30}),
        "random_stumps": Entry(
            "stochastic_boosting",
            {
                "trees": 1500,
                "learning_rate": 0.06,
                "leaves": 6,
                "min_leaf": in_leaf,
                "columns": 0.5,
                "rows": 0.8,
                "extra_trees": True,
            },
        ),
        "slow_boosting": Entry(
            "stochastic_boosting",
            {"trees": 1500, "learning_rate": 0.03, "leaves": 8, "min_leaf": 20, "columns": 0.5, "rows": 0.7, "l2": 5.0},
        ),
        "firm_random_boosting": Entry(
            "stochastic_boosting",
            {
                "trees": 1500,
                "learning_rate": 0.06,
                "leaves": 31,
                "min_leaf": 40,
                "columns": 0.5,
                "rows": 0.7,
                "l2": 10.0,
                "extra_trees": True,
            },
        ),
        "ada_boost": Entry("ada_boost", imputation="median", calibration="sigmoid"),
    }


def _chance(leaf: int) -> Entry:
    parameters = {"trees": 300, "min_leaf": leaf, "max_features": 0.3, "max_depth": 30}
    return Entry("extra_trees", parameters, imputation="median")
