"""Fitted pipelines, asked without scikit-learn's checks, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from autoprog.fitted_pipeline import predict_proba, transform


@pytest.fixture
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, (X[:, 0] + rng.normal(size=80) > 0).astype(int)


def test_a_pipeline_predicts_as_scikit_learns(table: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = table
    steps = [("scale", StandardScaler()), ("nothing", "passthrough"), ("also", None), ("learn", LogisticRegression())]
    pipeline = Pipeline(steps).fit(X, y)
    assert np.array_equal(predict_proba(pipeline, X), pipeline.predict_proba(X))


def test_any_other_classifier_predicts_itself(table: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = table
    classifier = LogisticRegression().fit(X, y)
    assert np.array_equal(predict_proba(classifier, X), classifier.predict_proba(X))


@pytest.mark.parametrize("last", [PolynomialFeatures(2), "passthrough"])
def test_transformers_transform_as_scikit_learns(table: tuple[np.ndarray, np.ndarray], last: object) -> None:
    X, _ = table
    pipeline = Pipeline([("scale", StandardScaler()), ("last", last)]).fit(X)
    assert np.array_equal(transform(pipeline.steps, X), pipeline.transform(X))
