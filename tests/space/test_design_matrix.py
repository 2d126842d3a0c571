from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from autoprog.cohort import Feature
from autoprog.space.design_matrix import MAX_DUMMIES, DesignMatrix, n_columns

NAN = np.nan


def test_dummies_for_unordered_levels_only() -> None:
    features = (
        Feature("age", "numeric"),
        Feature("site", "categorical", ("a", "b", "c")),
        Feature("grade", "ordinal", ("low", "high")),
        Feature("sex", "binary", ("f", "m")),
    )
    X = np.array([[50.0, 0, 1, 0], [NAN, 2, NAN, 1], [70.0, NAN, 0, NAN]])
    expected = [[50, 1, 0, 0, 1, 0], [NAN, 0, 0, 1, NAN, 1], [70, NAN, NAN, NAN, 0, NAN]]
    np.testing.assert_array_equal(DesignMatrix.for_features(features).fit_transform(X), expected)
    assert sum(n_columns(f) for f in features) == 6


def test_rare_levels_share_the_last_dummy() -> None:
    n_levels = MAX_DUMMIES + 10
    feature = Feature("diagnosis", "categorical", tuple(str(i) for i in range(n_levels)))
    # Every level twice, the last ten once: those, and one tie with the highest code, are the rare ones.
    codes = np.concatenate([np.arange(n_levels), np.arange(n_levels - 10)]).astype(float)[:, None]
    design = DesignMatrix.for_features([feature]).fit(codes)
    columns = design.transform(np.array([[0.0], [float(n_levels - 1)], [NAN]]))
    assert columns.shape == (3, MAX_DUMMIES) == (3, n_columns(feature))
    assert columns[0, 0] == 1
    assert columns[0].sum() == 1
    assert columns[1, -1] == 1
    assert columns[1].sum() == 1
    assert np.isnan(columns[2]).all()


def test_a_level_that_the_training_patients_lack_is_all_zeros() -> None:
    design = DesignMatrix.for_features([Feature("site", "categorical", ("a", "b", "c"))])
    design.fit(np.array([[0.0], [1.0]]))
    np.testing.assert_array_equal(design.transform(np.array([[2.0]])), [[0, 0, 1]])


def test_a_column_of_tiny_range_is_scaled_by_a_power_of_two() -> None:
    """A hormone in mol/l: scikit-learn's trees would take all its values for one."""
    rng = np.random.default_rng(0)
    hormone, age = rng.normal(12e-12, 3e-12, 300), rng.normal(60, 10, 300)
    X = np.column_stack([hormone, age])
    X[0, 0] = NAN
    design = DesignMatrix.for_features([Feature("hormone", "numeric"), Feature("age", "numeric")]).fit(X)
    scaled = design.transform(X)
    np.testing.assert_array_equal(scaled[:, 1], age)
    mantissa, exponent = np.frexp(scaled[1, 0] / hormone[1])
    assert mantissa == 0.5
    assert 1 <= np.ptp(scaled[1:, 0]) < 2
    assert exponent > 30
    y = hormone > 12e-12
    tree = DecisionTreeClassifier(max_depth=1).fit(scaled[1:], y[1:])
    assert tree.score(scaled[1:], y[1:]) == 1


def test_no_range_is_too_small_to_be_scaled() -> None:
    """The power of 2 that would make it 1 may be none."""
    X = np.random.default_rng(0).normal(0, 1e-310, (50, 1))
    scaled = DesignMatrix.for_features([Feature("hormone", "numeric")]).fit_transform(X)
    assert np.isfinite(scaled).all()
    assert len(np.unique(scaled)) == 50
