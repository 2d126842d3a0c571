"""Outcomes in all forms that Python has for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sksurv.util import Surv

from autoprog import AutoPrognosis, Survival
from autoprog.estimator.targets import as_survival
from tests.estimator.support import followed, patients

TIME, DEAD = [5.0, 7.5, 9.0], [True, False, True]


@pytest.mark.parametrize(
    "y",
    [
        Survival(TIME, DEAD),
        (TIME, DEAD),
        Surv.from_arrays(DEAD, TIME),
        np.array(list(zip(TIME, [1, 0, 1], strict=True)), dtype=[("months", float), ("event", int)]),
        Survival(TIME, ["dead", "alive", "dead"], event_of_interest="dead"),
        Survival(TIME, [7, 3, 7], event_of_interest=7, censored=3),
    ],
    ids=["Survival", "tuple", "scikit-survival", "structured", "words", "codes"],
)
def test_follow_up_is_read_in_every_form(y: object) -> None:
    found = as_survival(y)
    np.testing.assert_array_equal(found.time, TIME)
    np.testing.assert_array_equal(found.event, [1, 0, 1])


def test_words_of_competing_events_have_their_codes() -> None:
    words = ["alive", "other", "dead", "lost", "other"]
    found = Survival(np.arange(1, 6), words, event_of_interest="dead", competing=["other", "lost"], censored="alive")
    assert np.asarray(found.event).tolist() == [0, 2, 1, 3, 2]
    assert found.labels == ("alive", "dead", "other", "lost")
    part = found[np.array([1, 2])]
    assert (len(part), part.shape, part.labels) == (2, (2,), found.labels)


def test_words_that_are_not_understood_are_named() -> None:
    with pytest.raises(ValueError, match=r"event holds words \('alive', 'dead'\): name the one to predict"):
        Survival(TIME, ["dead", "alive", "dead"])
    with pytest.raises(ValueError, match="event holds 'alive', 'lost', and it is not known which of them is censored"):
        Survival(TIME, ["dead", "alive", "lost"], event_of_interest="dead")
    with pytest.raises(ValueError, match="event holds 'lost', and it is not known which of them is an event of"):
        Survival(TIME, ["dead", "alive", "lost"], event_of_interest="dead", censored="alive")


@pytest.mark.parametrize("y", [TIME, np.array(TIME), np.array([(1.0, 2)], dtype=[("a", float), ("b", int)])])
def test_what_is_no_follow_up_is_refused(y: object) -> None:
    with pytest.raises(TypeError, match=r"y is Survival\(time, event\), a tuple \(time, event\), or a structured"):
        as_survival(y)


def test_patients_without_an_outcome_are_counted() -> None:
    X, y = patients()
    for unknown in (None, np.nan, pd.NA):
        with pytest.raises(ValueError, match="NaN: 3 of 160 patients have no outcome, leave them out"):
            AutoPrognosis().fit(X, np.where(np.arange(160) < 3, unknown, y))
        with pytest.raises(ValueError, match="event is missing for 1 of 3 patients: leave them out"):
            Survival(TIME, ["dead", "alive", unknown], event_of_interest="dead")
    with pytest.raises(ValueError, match="event is missing for 1 of 3"):
        Survival(TIME, [1, 0, np.nan])


def test_outcome_is_named_as_a_column_is_read() -> None:
    X, y = patients()
    for name, column in ((" died ", "died"), (" age", "age_"), (" ", "outcome_")):
        assert AutoPrognosis()._cohort(X, y.rename(name), None).cohort.outcome.subject == column


def test_words_of_events_are_those_of_the_model(fitted_survival: AutoPrognosis) -> None:
    assert fitted_survival.model_.time_to_event is not None
    assert fitted_survival.model_.time_to_event.causes == ("myeloma", "dead")
    assert fitted_survival.cohort_["outcome"]["censored"] == "alive"


def test_words_of_an_outcome_are_those_of_the_model(fitted: AutoPrognosis) -> None:
    assert fitted.cohort_["outcome"] == {"column": "died", "positive": "yes", "negative": "no", "label": None}


def test_words_that_a_file_could_misread_become_codes() -> None:
    X, y = patients()
    cohort = AutoPrognosis()._cohort(X, y.map({"yes": "?", "no": "NA"}), None).cohort
    assert (cohort.outcome.positive, cohort.n_patients) == ("1", len(X))


def test_positive_says_whose_risk_is_predicted() -> None:
    X, y = patients()
    model = AutoPrognosis(positive="no")
    cohort = model._cohort(X, y, None).cohort
    assert cohort.event_rate == pytest.approx((y == "no").mean())
    assert model.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match=r"positive is 'dead', which y does not hold; it holds \['no', 'yes'\]"):
        AutoPrognosis(positive="dead").fit(X, y)


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (np.linspace(0.5, 30, 160), "Unknown label type: continuous"),
        (np.arange(160) % 12, "The type of the target is multiclass"),
        (np.array(["home", "ward", "dead", "ward"] * 40), "The type of the target is multiclass"),
    ],
    ids=["continuous", "days", "classes"],
)
def test_numbers_and_several_classes_are_refused_with_what_to_give_instead(y: np.ndarray, kind: str) -> None:
    X, _ = patients()
    with pytest.raises(ValueError, match=kind) as refused:
        AutoPrognosis().fit(X, y)
    assert "numbers such as a length of stay, are not supported; compare y with one class or a threshold" in str(
        refused.value
    )


def test_times_that_nobody_can_have_are_faults_of_y() -> None:
    X, time, event = followed()
    with pytest.raises(ValueError, match=r"^the time of y: ") as refused:
        AutoPrognosis(mode="survival").fit(X, (-time, event))
    assert "/" not in str(refused.value)
