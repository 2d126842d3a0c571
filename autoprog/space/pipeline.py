"""From a configuration to the scikit-learn estimator that it stands for."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from autoprog.cohort import Feature
from autoprog.space._base import TableShape
from autoprog.space.configuration import STAGES, Configuration
from autoprog.space.design_matrix import DesignMatrix
from autoprog.space.space import Space


def build_pipeline(
    configuration: Configuration, features: Sequence[Feature], shape: TableShape, seed: int
) -> BaseEstimator:
    """Make the unfitted pipeline of a configuration.

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

    Returns
    -------
    estimator
        Takes the cohort's matrix `X` (numbers and codes, NaN for missing) in `fit(X, y)` and `predict_proba(X)`.
    """
    kind = Space.full().kind_of(configuration)
    imputer, processor, predictor, calibrator = (
        algorithm.build(dict(configuration.step(stage).parameters), shape, seed)
        for stage, algorithm in zip(STAGES, kind, strict=True)
    )
    if imputer is None and not all(algorithm.takes_missing for algorithm in kind):
        # The patients to learn from have no missing cell; those to predict for may.
        imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    steps = [
        ("design_matrix", DesignMatrix.for_features(features)),
        ("imputation", imputer),
        ("features", processor),
        ("prediction", predictor),
    ]
    pipeline = Pipeline([(name, step) for name, step in steps if step is not None])
    return pipeline if calibrator is None else calibrator.set_params(estimator=pipeline)
