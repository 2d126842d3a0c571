"""Patients to predict: columns in another order, arrays, unknown values, and values that nobody had."""

from __future__ import annotations

import dataclasses
import io
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from autoprog import AutoPrognosis, ExtrapolationWarning
from autoprog.cohort import encode_patients, read_patients
from autoprog.estimator.tables import to_frame, to_matrix
from autoprog.model import PrognosticModel
from tests.estimator.support import followed, patients


def test_columns_in_another_order_are_put_in_order(fitted: AutoPrognosis) -> None:
    X, _ = patients()
    np.testing.assert_array_equal(fitted.predict_proba(X[X.columns[::-1]]), fitted.predict_proba(X))


def test_missing_and_further_columns_are_named(fitted: AutoPrognosis) -> None:
    X, _ = patients()
    with pytest.raises(ValueError, match="yet now missing:\n- stage\n"):
        fitted.predict_proba(X.drop(columns="stage"))
    with pytest.raises(ValueError, match="unseen at fit time:\n- height\n"):
        fitted.predict_proba(X.assign(height=1.8))
    with pytest.raises(ValueError, match="columns have the same name: age"):
        fitted.fit(pd.concat([X, X[["age"]]], axis=1), patients()[1])


def test_arrays_of_the_same_columns_are_those_columns(fitted: AutoPrognosis) -> None:
    """As SHAP's explainers send them."""
    X, _ = patients()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(fitted.predict_proba(X.to_numpy()), fitted.predict_proba(X))
    with pytest.raises(ValueError, match="X has 3 features, but AutoPrognosis is expecting 4"):
        fitted.predict_proba(X.to_numpy()[:, :3])


@pytest.mark.parametrize("n", [1, 40])
def test_rows_mixed_by_explainers_of_shap_are_predicted_as_typed_rows(fitted: AutoPrognosis, n: int) -> None:
    """A patient's cells, some replaced by those of others: as an array, or a table of it with the columns' names."""
    X, _ = patients()
    cells = X.to_numpy()
    assert cells.dtype == object
    replaced = np.random.default_rng(0).random((n, cells.shape[1])) < 0.5
    mixed = np.where(replaced, cells[1 : n + 1], cells[0])
    frame = pd.DataFrame(mixed, columns=X.columns)
    expected = fitted.predict_proba(frame.astype(X.dtypes))
    assert expected.shape == (n, 2)
    for sent in (mixed, frame):
        np.testing.assert_array_equal(fitted.predict_proba(sent), expected)


def through_a_file(model: PrognosticModel, frame: pd.DataFrame) -> np.ndarray:
    """As before a matrix was made of columns."""
    content = io.BytesIO()
    frame.to_parquet(content)
    return encode_patients(model.inputs, read_patients(content.getvalue(), model.inputs)).X


@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", "string", "object"])
def test_matrix_is_that_of_a_file(fitted: AutoPrognosis, dtype: str) -> None:
    X, _ = patients()
    X["age"] = X["age"].round(1).astype(dtype)
    frame = to_frame(X)
    matrix, _ = to_matrix(fitted.model_, frame)
    np.testing.assert_array_equal(matrix, through_a_file(fitted.model_, frame))
    assert 0 < np.isnan(matrix[:, 0]).sum() < len(X)


def test_values_that_meant_missing_in_training_do_so_in_new_patients(fitted: AutoPrognosis) -> None:
    X, _ = patients()
    model = dataclasses.replace(
        fitted.model_, metadata=dataclasses.replace(fitted.model_.metadata, na_values=("999", "unk"))
    )
    coded = to_frame(X.astype({"stage": object}))
    coded.loc[:3, "age"], coded.loc[2:5, "stage"] = 999.0, "unk"
    matrix, unusual = to_matrix(model, coded)
    assert np.isnan(matrix[:4, 0]).all()
    assert np.isnan(matrix[2:6, 1]).all()
    assert not unusual


def test_ordered_categories_are_the_values_of_new_patients(fitted: AutoPrognosis) -> None:
    X, _ = patients()
    ordered = X.assign(stage=pd.Categorical(X["stage"], ["I", "III", "II", "IV"], ordered=True))
    np.testing.assert_array_equal(fitted.predict_proba(ordered), fitted.predict_proba(X))


def test_values_that_nobody_had_are_warned_of(fitted: AutoPrognosis) -> None:
    X, _ = patients()
    odd = X.astype({"stage": object})[:10].copy()
    odd.iloc[:3, 0] = [150, -5, 99]
    odd.iloc[4:6, 1] = ["IV", "V"]
    with pytest.warns(ExtrapolationWarning) as told:
        fitted.predict_proba(odd)
    assert len(told) == 1
    text = str(told[0].message)
    assert "age is outside the training range" in text
    assert "for 3 of 10 patients" in text
    assert "stage was never seen in training as 'IV', 'V', and is treated as missing for 2 of 10 patients" in text
    assert told[0].filename == __file__
    for method in (fitted.predict, fitted.predict_risk, fitted.predict_interval):
        with pytest.warns(ExtrapolationWarning) as told:
            method(odd)
        assert told[0].filename == __file__


def test_usual_patients_are_not_warned_of(fitted: AutoPrognosis) -> None:
    X, y = patients()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict_proba(X)
        fitted.score(X.assign(age=X["age"] * 3), y)


def test_values_that_cannot_be_used_are_named(fitted: AutoPrognosis) -> None:
    X, _ = patients()
    odd = X.astype({"age": object})
    odd.iloc[5, 0] = "sixty"
    with pytest.raises(ValueError, match=r"^column 'age': .*row 6") as refused:
        fitted.predict_proba(odd)
    assert "/file" not in str(refused.value)
    with pytest.raises(ValueError, match="column 'age'"):
        fitted.predict_proba(X.assign(age=np.inf))


def test_blanks_around_a_column_name_do_not_matter(fitted: AutoPrognosis) -> None:
    """Usual in the headers of spreadsheets."""
    X, y = patients()
    spaced = X.rename(columns={"age": " age ", "sex": "sex\n"})
    np.testing.assert_array_equal(fitted.predict_proba(spaced), fitted.predict_proba(X))
    estimator = AutoPrognosis()
    table = estimator._cohort(spaced, y, None)
    assert [feature.name for feature in table.cohort.features] == list(X)
    assert list(estimator._table(spaced, reset=False)) == list(X)
    with pytest.raises(ValueError, match="columns have the same name: age"):
        estimator._cohort(X.assign(**{"age ": 1.0}), y, None)


def test_tables_of_other_libraries_are_those_of_pandas() -> None:
    X, y = patients()
    table = pa.Table.from_pandas(X.astype({"stage": object}), preserve_index=False)
    estimator = AutoPrognosis()
    cohort = estimator._cohort(table, y, None).cohort
    assert {feature.name: feature.kind for feature in cohort.features} == {
        "age": "numeric", "stage": "categorical", "sex": "binary", "outcome": "numeric",
    }  # fmt: skip
    estimator.model_ = SimpleNamespace(inputs=cohort.features, metadata=SimpleNamespace(na_values=()))  # type: ignore[assignment]
    np.testing.assert_array_equal(estimator._matrix(table, warn=True), cohort.X)


def test_columns_with_numbers_as_names_are_put_in_order() -> None:
    X, y = patients()
    numbered = X.set_axis([3, 1, 2, 0], axis=1)
    estimator = AutoPrognosis()
    estimator._cohort(numbered, y, None)
    assert list(estimator._table(numbered[[0, 1, 2, 3]], reset=False)) == ["x3", "x1", "x2", "x0"]
    with pytest.raises(ValueError, match="unseen at fit time:\n- x7\n"):
        estimator._table(numbered.rename(columns={3: 7}), reset=False)


def test_table_is_taken_by_places_after_a_fit_to_an_array() -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    estimator = AutoPrognosis()
    estimator._cohort(X, y, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(estimator._table(pd.DataFrame(X), reset=False)) == ["x0", "x1"]
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert list(estimator._table(pd.DataFrame(X, columns=["a", "b"]), reset=False)) == ["x0", "x1"]


def test_columns_without_names_and_of_several_kinds() -> None:
    X, _ = patients()
    frame = to_frame(X.set_axis(range(4), axis=1))
    assert list(frame) == ["x0", "x1", "x2", "x3"]
    assert frame["x0"].dtype == np.float64


def test_column_of_numbers_and_words_is_text() -> None:
    frame = to_frame(pd.DataFrame({"code": [250.01, "V27", None, 428, True]}))
    assert frame["code"].tolist()[:2] == ["250.01", "V27"]
    assert frame["code"].isna().tolist() == [False, False, True, False, False]
    assert frame["code"].tolist()[3:] == ["428", "true"]


def test_intervals_are_around_the_risks(fitted: AutoPrognosis, fitted_survival: AutoPrognosis) -> None:
    X, _ = patients()
    bounds, risks = fitted.predict_interval(X), fitted.predict_risk(X)
    assert bounds.shape == (len(X), 2)
    assert (bounds[:, 0] <= risks).all()
    assert (risks <= bounds[:, 1]).all()
    table, _, _ = followed()
    bounds = fitted_survival.predict_interval(table)
    assert bounds.shape == (len(table), 2, 2)
    assert (bounds[..., 0] <= bounds[..., 1]).all()


def test_model_without_intervals_says_why(fitted: AutoPrognosis, tmp_path: object) -> None:
    X, _ = patients()
    without = PrognosticModel(
        fitted.model_.features, fitted.model_.outcome, fitted.model_.members, fitted.model_.rule_sets,
        fitted.model_.metadata, interval_method="none was estimated, as the search was cancelled",
    )  # fmt: skip
    plain = AutoPrognosis()
    plain.__dict__.update({**fitted.__dict__, "model_": without})
    with pytest.raises(ValueError, match="no intervals: none was estimated, as the search was cancelled; continue_for"):
        plain.predict_interval(X)
