"""Build the scikit-learn estimator of a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.preprocessing import MinMaxScaler

from autoprog.cohort import Feature
from autoprog.space._base import Algorithm, TableShape
from autoprog.space.complete_columns import CompleteColumns
from autoprog.space.configuration import STAGES, Configuration
from autoprog.space.design_matrix import DesignMatrix
from autoprog.space.independent_columns import IndependentColumns
from autoprog.space.learning import Steps
from autoprog.space.space import Space
from autoprog.space.subsample import SubsampledClassifier, SubsampledSurvival, SubsampledTransformer


def build_pipeline(
    configuration: Configuration,
    features: Sequence[Feature],
    shape: TableShape,
    seed: int,
    *,
    memory: Any = None,  # noqa: ANN401  joblib's interface, which has no type
) -> BaseEstimator:
    """Build the unfitted pipeline of a configuration.

    Adapters between the stages prepare each algorithm's input: dummies or codes, imputation of cells that only new
    patients lack, columns in [0, 1] or linearly independent, subsamples.

    Parameters
    ----------
    configuration : Configuration
        The algorithm and parameters of every stage.
    features : sequence of Feature
        The cohort's columns; they decide the design matrix.
    shape : TableShape
        Size of the training folds; caps numbers of components, neighbours and inner folds.
    seed : int
        Seeds every stage that is random.
    memory : object or None
        Cache of the fitted stages before the prediction; see `sklearn.pipeline.Pipeline`.

    Returns
    -------
    estimator
        Has `fit(X, y)` and `predict_proba(X)` for the cohort's matrix `X` (NaN for missing); with times, `y` has dtype
        `EVENT_TIMES` and `cumulative_incidence(X, times)` gives the risks.
    """
    kind = Space.full(shape.n_causes).find_kind(configuration)
    codes = _takes_codes(kind)
    if codes:
        shape = _with_codes(shape, features)
    learnt_from = (shape, shape, shape if kind[2].takes_times else shape.of_classifier(), shape)
    imputer, processor, predictor, calibrator = (
        algorithm.build(dict(configuration.step(stage).parameters), table, seed)
        for stage, algorithm, table in zip(STAGES, kind, learnt_from, strict=True)
    )
    if imputer is None:
        # Columns that are complete in training may be missing in new patients.
        imputer = CompleteColumns(shape.categorical)
    design_matrix = DesignMatrix.for_features(features, missing_indicators=shape.missing_indicators, codes=codes)
    steps: Steps = [("design_matrix", design_matrix)]
    for algorithm, estimator, table in zip(kind, (imputer, processor, predictor), learnt_from, strict=False):
        if estimator is not None:
            steps += _adapters(algorithm)
            steps.append((algorithm.stage, _subsampled(algorithm, estimator, table, seed)))
    pipeline = shape.learning.assemble(steps, kind[2], shape, seed, memory)
    return pipeline if calibrator is None else calibrator.set_params(estimator=pipeline)


def _takes_codes(kind: Sequence[Algorithm]) -> bool:
    return all("categories" in algorithm.takes for algorithm in kind[:-1])


def _with_codes(shape: TableShape, features: Sequence[Feature]) -> TableShape:
    """Shape of a table in which every feature is one column."""
    indicators = sum(f.missing_fraction > 0 for f in features) if shape.missing_indicators else 0
    categorical = tuple(j for j, f in enumerate(features) if f.kind == "categorical")
    return replace(shape, n_columns=len(features) + indicators, categorical=categorical)


def _adapters(algorithm: Algorithm) -> Steps:
    """Steps that prepare the input of an algorithm that does not take everything."""
    if algorithm.stage == "imputation":
        return []
    steps: Steps = []
    if "collinear" not in algorithm.takes:
        steps.append((f"{algorithm.stage}_columns", IndependentColumns()))
    if "negative" not in algorithm.takes:
        steps.append((f"{algorithm.stage}_scale", MinMaxScaler(clip=True)))
    return steps


def _subsampled(algorithm: Algorithm, estimator: BaseEstimator, shape: TableShape, seed: int) -> BaseEstimator:
    most = algorithm.max_patients
    if most is None or algorithm.subsample == "member" or shape.n_patients <= most:
        return estimator
    if algorithm.stage != "prediction":
        return SubsampledTransformer(estimator, most, seed)
    wrapper = SubsampledSurvival if "times" in algorithm.takes else SubsampledClassifier
    return wrapper(estimator, most, seed)
