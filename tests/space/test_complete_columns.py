from __future__ import annotations

import numpy as np
import pytest

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.space import Configuration, Space, Step, TableShape, build_pipeline
from autoprog.space.complete_columns import CompleteColumns


def test_only_columns_that_were_complete_are_filled() -> None:
    X = np.array([[1.0, 2.0, np.nan], [3.0, 2.0, 5.0], [8.0, 0.0, 6.0]])
    columns = CompleteColumns(categorical=(1,)).fit(X)
    np.testing.assert_array_equal(columns.transform(np.full((1, 3), np.nan)), [[3.0, 2.0, np.nan]])
    np.testing.assert_array_equal(columns.transform(X), X)


@pytest.mark.parametrize("predictor", ["xgboost", "lightgbm", "random_forest", "decision_tree", "logistic_regression"])
def test_a_cell_that_is_missing_at_the_bedside_alone_is_no_extreme_value(predictor: str) -> None:
    """Risk rises with blood pressure, which every training patient has; a patient without it is a middling one."""
    rng = np.random.default_rng(0)
    n = 600
    pressure, site = rng.normal(140, 20, n), rng.integers(0, 3, n).astype(float)
    y = (rng.random(n) < 1 / (1 + np.exp(-(pressure - 160) / 8))).astype(np.int8)
    features = (Feature("pressure", "numeric"), Feature("site", "categorical", ("a", "b", "c")))
    cohort = Cohort("toy", Binary("outcome", "1", "0"), features, np.column_stack([pressure, site]), y)
    step = Space.full().algorithm("prediction", predictor).default_step()
    configuration = Configuration(Step.of("none"), Step.of("none"), step, Step.of("none"))
    pipeline = build_pipeline(configuration, features, TableShape.of(cohort, 5), seed=0).fit(cohort.X, y)
    low, high = np.quantile(pressure, [0.05, 0.95])
    patients = np.array([[low, 0.0], [high, 0.0], [np.nan, 0.0], [np.nan, np.nan]])
    risks = pipeline.predict_proba(patients)[:, 1]
    assert risks[0] - 0.05 <= risks[2] <= 0.5 < risks[1]
    assert risks[0] - 0.05 <= risks[3] <= 0.5
