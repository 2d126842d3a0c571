"""The opening: strong and diverse pipelines at good settings, evaluated by every search before the optimizer proposes.

What is in the list depends on the size of the cohort and on nothing else of it; a pipeline that a search's space, or
the cohort's shape, rules out is left out. Strong and quick pipelines come first, dear ones last. Hyperparameters with a
path stand at their bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from autoprog.optimizer.initial import simple_configuration
from autoprog.space import Configuration, Parameter, PipelineKind, Step, TableShape

# From so many patients on forests and deep trees pay, and from so many on whatever is dear.
_FEW, _MANY = 500, 2_000
_KERNEL_PATIENTS, _SLOW_PATIENTS = 2_500, 3_000


class _Entry(NamedTuple):
    """A prediction algorithm, and the values in which it differs from its defaults."""

    algorithm: str
    parameters: Mapping[str, Parameter] = {}
    imputation: str = "none"
    calibration: str = "none"


def opening_for(kinds: Sequence[PipelineKind], shape: TableShape, n_patients: int) -> tuple[Configuration, ...]:
    """The pipelines that a search begins with.

    Parameters
    ----------
    kinds : sequence of PipelineKind, at least 1
        The valid kinds.
    shape : TableShape
        The training folds.
    n_patients : int
        Of the cohort.

    Returns
    -------
    tuple of Configuration
        Distinct; the simple pipeline first.
    """
    by_names = {tuple(a.name for a in kind): kind for kind in kinds}
    chosen = dict.fromkeys([simple_configuration(kinds, shape.mode)])
    for entry in _entries(shape, n_patients):
        kind = next((by_names[names] for names in _names(entry) if names in by_names), None)
        if kind is not None:
            chosen[_configuration(kind, entry)] = None
    return tuple(chosen)


def _names(entry: _Entry) -> Iterator[tuple[str, str, str, str]]:
    """Where no cell is missing one imputation stands for all: whichever it is."""
    for imputation in (entry.imputation, "none", "median", "most_frequent", "mean"):
        yield imputation, "none", entry.algorithm, entry.calibration


def _configuration(kind: PipelineKind, entry: _Entry) -> Configuration:
    imputation, features, predictor, calibration = kind
    values = {h.name: h.default for h in predictor.hyperparameters}
    step = Step.of(predictor.name, {**values, **entry.parameters})
    return Configuration(imputation.default_step(), features.default_step(), step, calibration.default_step())


def _entries(shape: TableShape, n: int) -> tuple[_Entry, ...]:
    columns = min(max(shape.n_columns**-0.5, 0.05), 1.0)
    l1 = _Entry("penalised_logistic", {"C": 3.0, "l1_ratio": 1.0})
    ridge = _Entry("penalised_logistic", {"C": 3.0})
    # Coefficients so small that they follow each column's own relation to the outcome: a calibration makes risks of it.
    firm_ridge = _Entry("penalised_logistic", {"C": 1e-3}, calibration="sigmoid")
    splines = _Entry("spline_logistic", {"C": 3.0})
    kernel = _Entry("kernel_logistic", {"C": 300.0, "gamma": 0.3 if n < _KERNEL_PATIENTS else 0.5})
    smooth_kernel = _Entry("kernel_logistic", {"C": 300.0, "gamma": 0.1})
    process = _Entry("gaussian_process", imputation="median")
    margin = _Entry("linear_svm", {"C": 1e-3}, imputation="median")
    probability = _Entry("ridge", {"alpha": 300.0}, imputation="median")
    forest = _Entry(
        "random_forest",
        {"trees": 300, "min_leaf": 3, "max_features": columns, "max_depth": 30},
    )
    wide_forest = _Entry(
        "random_forest",
        {"trees": 200, "min_leaf": 1, "max_features": 0.7, "max_depth": 30, "criterion": "entropy"},
    )
    extra_trees = _Entry(
        "extra_trees",
        {"trees": 300, "min_leaf": 5, "max_features": 0.3, "max_depth": 30}
        if n < _MANY
        else {"trees": 200, "min_leaf": 1, "max_features": 0.5, "max_depth": 30},
        imputation="median",
    )
    network = _Entry("mlp", {"epochs": 64})
    xgboost = _Entry(
        "xgboost",
        {"trees": 500, "learning_rate": 0.05 if n < _MANY else 0.08, "max_depth": 4 if n < _MANY else 5},
    )
    small, random, medium, deep, deep_random, deepest = _boosters(n)
    if shape.times:
        cox, spline_cox = _Entry("penalised_cox", {"C": 10.0}), _Entry("spline_cox", {"C": 10.0})
        parametric = [_Entry("accelerated_failure_time")] if n < _MANY else []
        return (
            spline_cox,
            small,
            ridge,
            cox,
            splines,
            random,
            *parametric,
            kernel,
            medium,
            _Entry("survival_forest"),
            l1,
            xgboost,
        )
    if n < _FEW:
        linear = (ridge, kernel, firm_ridge, splines)
        return (*linear, extra_trees, small, random, process, l1, smooth_kernel, margin, probability)
    if n < _MANY:
        smooth = (l1, kernel, small, ridge, splines, process, random, medium, forest)
        return (*smooth, firm_ridge, margin, extra_trees, xgboost, deep, network)
    first = (small, random, deep, l1, wide_forest, splines, forest, deep_random)
    return (*first, medium, ridge, kernel, extra_trees, xgboost, deepest, network)


def _boosters(n: int) -> tuple[_Entry, ...]:
    """From stumps of four leaves to the deepest trees; those of chance splits beside those of the best."""
    rate = 0.05 if n < _SLOW_PATIENTS else 0.08
    in_leaf = round(min(max(n / 50, 5), 20))

    def booster(**parameters: Parameter) -> _Entry:
        return _Entry("stochastic_boosting", {"trees": 1500, **parameters})

    small_rate, few_in_leaf = 0.06 if n < _MANY else 0.12, round(min(max(n / 30, 5), 30))
    return (
        booster(learning_rate=small_rate, leaves=4, min_leaf=few_in_leaf, columns=0.5, rows=1.0),
        booster(learning_rate=rate, leaves=31, min_leaf=in_leaf, columns=0.9, rows=0.9, extra_trees=True),
        booster(learning_rate=rate, leaves=15, min_leaf=in_leaf, columns=0.7, rows=0.8, l2=2.0),
        booster(learning_rate=0.08, leaves=63, min_leaf=3, columns_by_node=0.8, columns=1.0, rows=1.0, l2=1e-3),
        booster(learning_rate=0.1, leaves=127, min_leaf=2, columns=0.7, rows=0.9, extra_trees=True),
        booster(learning_rate=0.05, leaves=127, min_leaf=5, columns=0.5, rows=0.8),
    )
