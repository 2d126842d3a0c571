"""The search as an estimator of scikit-learn."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

import autoprog
from autoprog import AutoPrognosis, ExtrapolationWarning, Survival
from autoprog.cohort import Feature
from autoprog.estimator.tables import binary_cohort, to_frame
from autoprog.survival import censoring_survival, wolbers_c
from tests.estimator.support import QUICK, followed, patients


def test_a_table_of_patients_becomes_a_model_with_everything_told_of_it(fitted: AutoPrognosis) -> None:
    X, y = patients()
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.feature_names_in_.tolist() == ["age", "stage", "sex", "outcome"]
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(p[:, 1], fitted.predict_risk(X))
    assert p[(y == "yes").to_numpy(), 1].mean() > p[(y == "no").to_numpy(), 1].mean() + 0.1
    assert set(fitted.predict(X)) <= {"no", "yes"}
    assert fitted.score(X, y) > 0.6
    assert fitted.ensemble_["score"]["lower"] < fitted.ensemble_["score"]["estimate"]
    assert {s["name"] for s in fitted.rules_["strata"]} == {"high", "medium", "low"}
    board = fitted.leaderboard_
    assert len(board) == 4
    assert board["score"].dropna().is_monotonic_decreasing
    assert set(board["prediction"]) <= {"logistic_regression", "ridge"}
    assert is_classifier(fitted)


def test_the_model_goes_through_pickle_and_the_settings_through_clone(fitted: AutoPrognosis) -> None:
    X, _ = patients()
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301  our own
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.rules_ == fitted.rules_
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict_proba(X)


def test_the_same_seed_gives_the_same_model(fitted: AutoPrognosis, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = patients()
    # Nobody would learn from it: the database is gone when it ends.
    monkeypatch.setattr("autoprog.search.runner.collect_statistics", lambda *_: pytest.fail("a search has taught"))
    again = clone(fitted).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def test_new_patients_may_lack_values_and_bring_categories_that_were_never_seen(fitted: AutoPrognosis) -> None:
    X, _ = patients()
    odd = X.astype({"stage": object}).iloc[:3].copy()
    odd.loc[odd.index[0], ["age", "stage"]] = [np.nan, None]
    odd.loc[odd.index[1], "stage"] = "IV"
    with pytest.warns(ExtrapolationWarning, match="stage was never seen in training as 'IV', .* for 1 of 3 patients"):
        risks = fitted.predict_risk(odd)
    assert ((risks > 0) & (risks < 1)).all()


def test_times_to_an_event_with_competing_ones(fitted_survival: AutoPrognosis) -> None:
    X, time, event = followed()
    model, y = fitted_survival, Survival(time, event)
    risks = model.predict_risk(X)
    assert risks.shape == (len(X), 2)
    assert (risks[:, 0] <= risks[:, 1]).all()
    assert model.horizons_.tolist() == [60, 120]
    assert [h["horizon"] for h in model.ensemble_["horizons"]] == [60, 120]
    G = censoring_survival(y.time, y.event)
    assert model.score(X, y) == pytest.approx(wolbers_c(y.time, y.event, risks[:, 1], 120.0, G).index)
    np.testing.assert_array_equal(model.predict(X), risks[:, 1])
    assert not is_classifier(model)
    with pytest.raises(ValueError, match="event times, and has no classes"):
        model.predict_proba(X)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_column_of_text_with_numbers_in_it_is_of_categories() -> None:
    """Codes of diagnoses: 250.01 and V27. In a file a client would be asked; here the type of the column says it."""
    rng = np.random.default_rng(0)
    codes = rng.choice(["250.01", "428", "V27", "?", "E909"], 120)
    X = pd.DataFrame({"age": rng.normal(60, 10, 120), "diagnosis": codes})
    cohort = binary_cohort(to_frame(X), rng.random(120) < 0.4, True, all_numeric=False).cohort
    (_, diagnosis) = cohort.features
    assert diagnosis.kind == "categorical"
    assert set(diagnosis.levels) == {"250.01", "428", "V27", "E909"}
    assert 0 < diagnosis.missing_fraction < 1


def read_column(values: object) -> tuple[Feature | None, list[str]]:
    """The feature that `fit` makes of a column, None if it leaves it out, and what it warns of."""
    X = pd.DataFrame({"age": np.random.default_rng(0).normal(60, 10, 200), "crp": values})
    y = np.random.default_rng(1).random(200) < 0.4
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        features = binary_cohort(to_frame(X), y, True, all_numeric=False).cohort.features
    return next((f for f in features if f.name == "crp"), None), [str(each.message) for each in told]


def test_numbers_as_text_are_read_as_in_a_file() -> None:
    limits, told = read_column([f"{i % 90 / 10 + 1}" if i % 10 else "<0.5" for i in range(200)])
    assert limits is not None
    assert (limits.kind, limits.minimum) == ("numeric", 0.5)
    assert any("at a limit of detection ('<0.5')" in text for text in told)
    commas, told = read_column([f"{i % 90},5" if i % 2 else i % 90 for i in range(200)])
    assert commas is not None
    assert (commas.kind, commas.maximum) == ("numeric", 89.5)
    groups, _ = read_column(np.array(["0", "1-3", "4+"])[np.arange(200) % 3])
    assert groups is not None
    assert groups.kind == "ordinal"


def test_words_among_numbers_as_text_are_named_or_refused() -> None:
    codes, told = read_column(
        [["250.01", "428", "401", "V27", "272", "414"][i % 6] if i % 4 else "486" for i in range(200)]
    )
    assert codes is not None
    assert codes.kind == "categorical"
    assert "column 'crp' holds numbers and the words 'V27', so each value is a category" in told[0]
    with pytest.raises(
        ValueError, match=r"^column 'crp': 1 cell is no number: row 8; correct them or set them to None$"
    ):
        read_column([f"{i / 7:.3f}" if i != 7 else "hemolysed" for i in range(200)])
    identifier, told = read_column([f"{i * i}" if i % 3 else f"P{i}" for i in range(200)])
    assert identifier is None
    assert any("column 'crp' looks like an identifier" in text for text in told)


def test_ordered_categories_keep_their_order() -> None:
    severity = pd.Categorical.from_codes(np.arange(200) % 3, ["mild", "moderate", "severe", "fatal"], ordered=True)
    found, _ = read_column(severity)
    assert found is not None
    assert (found.kind, found.levels) == ("ordinal", ("mild", "moderate", "severe"))
    unordered, _ = read_column(pd.Categorical(severity, ordered=False))
    assert unordered is not None
    assert unordered.kind == "categorical"


@pytest.mark.parametrize("codes", [[1, 2, 3, 4], [1.0, 2.0, 3.5, None], ["1", "2", "3", "2", "V"]])
def test_categories_of_numbers_are_codes(codes: list[object]) -> None:
    kind, told = read_column(pd.Categorical(codes * (200 // len(codes))))
    assert kind is not None
    assert (kind.kind, kind.levels[:2]) == ("categorical", ("1", "2"))
    assert told == []
    two, _ = read_column(pd.Categorical([0, 1] * 100))
    assert two is not None
    assert two.kind == "binary"
    everybody, told = read_column(pd.Categorical(range(200)))
    assert everybody is None
    assert told == ["column 'crp' looks like an identifier and was left out"]


@pytest.mark.parametrize(
    ("values", "advice"),
    [
        ([1] * 200, "is constant and was left out"),
        ([f"2020-01-{i % 28 + 1:02d}" for i in range(200)], "left out; give the time since another date to use it"),
        ([i % 90 if i % 20 else -999 for i in range(200)], "if it means missing, set it to None"),
    ],
)
def test_advice_can_be_followed_in_python(values: list[object], advice: str) -> None:
    _, (told,) = read_column(values)
    assert told.endswith(advice)


@pytest.mark.parametrize("dtype", ["category", "interval[float64, right]", "object"])
def test_groups_of_pandas_are_ordered(dtype: str) -> None:
    ages = pd.Series(np.arange(200) % 60 - 0.5)
    found, _ = read_column(pd.cut(ages, [-1, 9, 20, 40, 100]).astype(dtype))
    assert found is not None
    assert found.kind == ("ordinal" if dtype == "category" else "categorical")
    above, _ = read_column(pd.cut(ages + 1, [0, 9, 20, 40, 100]).astype(dtype))
    assert above is not None
    assert (above.kind, len(above.levels)) == ("ordinal", 4)


def test_groups_are_not_split() -> None:
    """Ten copies of every patient: split over folds, a neighbour would know the outcome."""
    rng = np.random.default_rng(3)
    X, y = np.repeat(rng.normal(size=(24, 3)), 10, axis=0), np.repeat(np.tile([0, 1], 12), 10)
    settings = {**QUICK, "space": {"prediction": ["k_nearest_neighbours"], "features": ["none"]}}
    model = AutoPrognosis(time_budget_s=120, settings=settings, random_state=0)
    with pytest.warns(UserWarning, match="216 rows repeat an earlier row"):
        assert model.fit(X, y).ensemble_["score"]["estimate"] > 0.9
    with pytest.warns(UserWarning, match="216 rows repeat an earlier row"):
        assert model.fit(X, y, groups=np.repeat(np.arange(24), 10)).ensemble_["score"]["estimate"] < 0.8


def test_groups_of_any_kind_are_numbered_and_each_patient_has_one() -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    words = ["north", 7, "south"] * 20
    found = AutoPrognosis()._cohort(X, y, words).cohort.groups
    assert found is not None
    assert [len(set(found[start::3])) for start in range(3)] == [1, 1, 1]
    assert len(set(found)) == 3
    for unknown in (None, np.nan, pd.NA):
        with pytest.raises(ValueError, match="groups: 20 patients without a group"):
            AutoPrognosis()._cohort(X, y, ["north", unknown, "south"] * 20)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"mode": "temporal"}, "mode is 'classification' or 'survival', not 'temporal'"),
        ({"horizons": [1]}, "horizons are of mode 'survival'"),
        ({"settings": {"folds": 1, "ensembel": "best"}}, r"settings\['folds'\]: .*; settings\['ensembel'\]: "),
        ({"metric": "uno_c"}, "^metric: uno_c does not measure"),
        ({"settings": {"space": {"prediction": ["oracle"]}}}, r"settings\['space'\]\['prediction'\].*oracle"),
        ({"time_budget_s": 0}, "time_budget_s: "),
        ({"n_jobs": -2}, "n_jobs is a number from 1, or -1 or None for one per core, not -2"),
    ],
)
def test_parameters_that_cannot_be_used_are_named(parameters: dict[str, Any], text: str) -> None:
    X, y = patients()
    with pytest.raises(ValueError, match=text):
        AutoPrognosis(**parameters).fit(X, y)


def test_outcomes_that_cannot_be_used_are_named() -> None:
    X, y = patients()
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        AutoPrognosis().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="one class only, \\['yes'\\]"):
        AutoPrognosis().fit(X, ["yes"] * len(X))
    with pytest.raises(TypeError, match="y is Survival\\(time, event\\), a tuple"):
        AutoPrognosis(mode="survival").fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AutoPrognosis().fit(X, y[:-1])
    with pytest.raises(ValueError, match="codes: 0 for censored"):
        Survival([1.0, 2.0], [0.5, 1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Survival([1.0, 2.0], [1])
    with pytest.raises(ValueError, match="time"):  # a follow-up of no length
        AutoPrognosis(mode="survival").fit(X, Survival(np.zeros(len(X)), np.ones(len(X))))


def test_the_package_tells_of_names_that_it_does_not_have() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Autoprog'"):
        autoprog.Autoprog  # noqa: B018  asking is the test


def test_patients_whose_follow_up_cannot_be_used_are_told_of() -> None:
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(80, 2)), rng.exponential(size=80)
    event = (rng.random(80) < 0.7).astype(int)
    time[:3], event[:3] = np.nan, 1
    time[3:5] = 0.0
    estimator = AutoPrognosis(mode="survival", horizons=[0.5])
    with pytest.warns(UserWarning, match="were dropped") as told:
        cohort = estimator._cohort(X, Survival(time, event), None).cohort
    texts = [str(w.message) for w in told]
    assert any(text.startswith("3 of 80 rows were dropped") for text in texts)
    assert any(text.startswith("2 of 80 rows were dropped") for text in texts)
    assert cohort.n_patients == 75
