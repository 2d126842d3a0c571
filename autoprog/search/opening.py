"""Opening pipelines, strong and diverse at good settings, which every search evaluates before the optimizer proposes.

`benchmarks/opening` measures what the lists are worth, and each member of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from autoprog.optimizer.initial import simple_configuration
from autoprog.space import Configuration, Parameter, PipelineKind, Step, TableShape

# Patients from which forests and deep trees pay off, and from which slow algorithms do.
_FEW, _MANY = 350, 2_000
_KERNEL_PATIENTS, _SLOW_PATIENTS = 2_500, 3_000

VERY_MANY = 50_000
"""Patients from which a small sample says little of learning rates; see `autoprog.search.finalists`."""

# Strong and quick pipelines come first, slow ones last. Hyperparameters with a path stand at their bound. Pipelines
# that the space or the cohort's shape rules out are skipped.
_OF_FEW = (
    "firm_boosting",
    "ridge_1e-2",
    "linear_probability",
    "ridge_1e-3",
    "bernoulli",
    "kernel",
    "stumps",
    "margin",
    "extra_trees",
    "smooth_kernel",
    "splines",
    "ridge",
)
_OF_SOME = (
    "forest",
    "l1",
    "splines",
    "kernel",
    "small_boosting",
    "boosting",
    "neural_network",
    "ridge_1e-3",
    "extra_trees",
    "network",
    "ridge",
    "random_boosting",
    "process",
)
_OF_MANY = (
    "small_boosting",
    "random_boosting",
    "deep_boosting",
    "l1",
    "wide_forest",
    "splines",
    "forest",
    "deep_random_boosting",
    "boosting",
    "ridge",
    "kernel",
    "extra_trees",
    "deepest_boosting",
    "network",
)
_OF_VERY_MANY = (
    "small_random_boosting",
    "firm_random_boosting",
    "deep_boosting",
    "boosting",
    "splines",
    "small_boosting",
    "deep_random_boosting",
    "random_boosting",
    "l1",
    "kernel",
    "ridge",
    "network",
)
_OF_EVENT_TIMES = (
    "spline_cox",
    "small_boosting",
    "ridge",
    "cox",
    "splines",
    "random_boosting",
    "parametric_times",
    "kernel",
    "boosting",
    "survival_forest",
    "l1",
    "xgboost",
)


class Entry(NamedTuple):
    """A prediction algorithm, the values in which it differs from its defaults, and the stages around it."""

    algorithm: str
    parameters: Mapping[str, Parameter] = {}
    imputation: str = "none"
    calibration: str = "none"


def opening_for(kinds: Sequence[PipelineKind], shape: TableShape, n_patients: int) -> tuple[Configuration, ...]:
    """Distinct pipelines that a search begins with, the simple one first."""
    entries, by_names = entries_for(shape, n_patients), kinds_by_names(kinds)
    listed = (build_configuration(entries[name], by_names) for name in names_for(shape, n_patients) if name in entries)
    simple = simple_configuration(kinds, shape.simple_predictor)
    return tuple(dict.fromkeys((simple, *(configuration for configuration in listed if configuration is not None))))


def names_for(shape: TableShape, n_patients: int) -> tuple[str, ...]:
    """Names of the cohort's list, keys of `entries_for`, in order."""
    if shape.times:
        return _OF_EVENT_TIMES
    if n_patients < _FEW:
        return _OF_FEW
    if n_patients < _MANY:
        return _OF_SOME
    return _OF_MANY if n_patients < VERY_MANY else _OF_VERY_MANY


def kinds_by_names(kinds: Sequence[PipelineKind]) -> dict[tuple[str, ...], PipelineKind]:
    """Index kinds by the names of their algorithms, stage by stage."""
    return {tuple(a.name for a in kind): kind for kind in kinds}


def build_configuration(entry: Entry, by_names: Mapping[tuple[str, ...], PipelineKind]) -> Configuration | None:
    """Build the pipeline of an entry; None if no valid kind has its algorithms."""
    kind = next((by_names[names] for names in _iterate_kinds(entry) if names in by_names), None)
    if kind is None:
        return None
    imputation, features, predictor, calibration = kind
    values = {h.name: h.default for h in predictor.hyperparameters}
    step = Step.of(predictor.name, {**values, **entry.parameters})
    return Configuration(imputation.default_step(), features.default_step(), step, calibration.default_step())


def _iterate_kinds(entry: Entry) -> Iterator[tuple[str, str, str, str]]:
    """Stages that an entry may have: without missing cells, any imputation stands for all."""
    for imputation in (entry.imputation, "none", "median", "most_frequent", "mean"):
        yield imputation, "none", entry.algorithm, entry.calibration


def entries_for(shape: TableShape, n_patients: int) -> dict[str, Entry]:
    """All pipelines that a list may name, at the settings for the cohort's size."""
    return {**_smooth(n_patients), **_boosters(n_patients), **_forests(shape, n_patients), **_hazards(n_patients)}


def _smooth(n: int) -> dict[str, Entry]:
    """Regressions, kernels and networks."""
    return {
        "ridge": Entry("penalised_logistic", {"C": 3.0}),
        # Small coefficients follow each column's own relation to the outcome; a calibration makes risks of them.
        "ridge_1e-2": Entry("penalised_logistic", {"C": 1e-2}, calibration="sigmoid"),
        "ridge_1e-3": Entry("penalised_logistic", {"C": 1e-3}, calibration="sigmoid"),
        "l1": Entry("penalised_logistic", {"C": 3.0, "l1_ratio": 1.0}),
        "splines": Entry("spline_logistic", {"C": 3.0}),
        "kernel": Entry("kernel_logistic", {"C": 300.0, "gamma": 0.3 if n < _KERNEL_PATIENTS else 0.5}),
        "smooth_kernel": Entry("kernel_logistic", {"C": 300.0, "gamma": 0.1}),
        "process": Entry("gaussian_process", imputation="median"),
        "margin": Entry("linear_svm", {"C": 1e-3}, imputation="median"),
        "linear_probability": Entry("ridge", {"alpha": 300.0}, imputation="median"),
        "bernoulli": Entry("bernoulli_nb", imputation="median", calibration="sigmoid"),
        "neural_network": Entry("neural_network", imputation="median"),
        "network": Entry("mlp", {"epochs": 64}),
    }


def _boosters(n: int) -> dict[str, Entry]:
    """Boosting, from stumps to the deepest trees, with random and with best splits."""
    rate = 0.05 if n < _SLOW_PATIENTS else 0.08
    in_leaf = round(min(max(n / 50, 5), 20))

    def booster(**parameters: Parameter) -> Entry:
        return Entry("stochastic_boosting", {"trees": 1500, **parameters})

    small_rate = 0.06 if n < _MANY else 0.12
    few_in_leaf = round(min(max(n / 30, 5), 30))
    return {
        "stumps": booster(learning_rate=rate, leaves=2, min_leaf=few_in_leaf, columns=0.5, rows=0.8),
        "firm_boosting": booster(learning_rate=rate, leaves=31, min_leaf=50, columns=0.3, rows=0.7, l2=10.0),
        "small_boosting": booster(
            learning_rate=small_rate, leaves=4, min_leaf=few_in_leaf, columns=0.5, rows=1.0, levels="outcomes"
        ),
        "small_random_boosting": booster(
            learning_rate=rate, leaves=9, min_leaf=50, columns=0.5, rows=0.9, l2=10.0, extra_trees=True
        ),
        "random_boosting": booster(
            learning_rate=rate, leaves=31, min_leaf=in_leaf, columns=0.9, rows=0.9, extra_trees=True
        ),
        "firm_random_boosting": booster(
            learning_rate=rate, leaves=15, min_leaf=50, columns=0.8, rows=0.9, l2=3.0, extra_trees=True
        ),
        "boosting": booster(
            learning_rate=rate, leaves=15, min_leaf=in_leaf, columns=0.7, rows=0.8, l2=2.0, levels="outcomes"
        ),
        "deep_boosting": booster(
            learning_rate=max(rate, 0.08), leaves=63, min_leaf=3, columns_by_node=0.8, columns=1.0, rows=1.0, l2=1e-3
        ),
        "deep_random_boosting": booster(
            learning_rate=0.1, leaves=127, min_leaf=2, columns=0.7, rows=0.9, extra_trees=True
        ),
        "deepest_boosting": booster(learning_rate=0.05, leaves=127, min_leaf=5, columns=0.5, rows=0.8),
        "xgboost": Entry(
            "xgboost",
            {"trees": 500, "learning_rate": 0.05 if n < _MANY else 0.08, "max_depth": 4 if n < _MANY else 5},
        ),
    }


def _forests(shape: TableShape, n: int) -> dict[str, Entry]:
    root = min(max(shape.n_columns**-0.5, 0.05), 1.0)
    deep = {"max_depth": 30}
    in_leaf = 5 if n < _FEW else 2 if n < _MANY else 1
    chance = {"trees": 300 if n < _MANY else 200, "min_leaf": in_leaf, "max_features": 0.3 if n < _MANY else 0.5}
    return {
        "forest": Entry("random_forest", {"trees": 300, "min_leaf": 3, "max_features": root, **deep}),
        "wide_forest": Entry(
            "random_forest", {"trees": 200, "min_leaf": 1, "max_features": 0.7, "criterion": "entropy", **deep}
        ),
        "extra_trees": Entry("extra_trees", {**chance, **deep}, imputation="median"),
    }


def _hazards(n: int) -> dict[str, Entry]:
    """Models of event times themselves."""
    hazards = {
        "cox": Entry("penalised_cox", {"C": 10.0}),
        "spline_cox": Entry("spline_cox", {"C": 10.0}),
        "survival_forest": Entry("survival_forest"),
    }
    return {**hazards, "parametric_times": Entry("accelerated_failure_time")} if n < _MANY else hazards
