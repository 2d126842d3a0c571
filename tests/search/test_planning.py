from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.errors import InvalidInputError
from autoprog.evaluation import cross_validate, make_folds
from autoprog.search import SearchSettings, plan_search, planning
from autoprog.search.planning import explored_patients, plan_for, space_for
from autoprog.space import Configuration, Space, Step
from tests.cohorts import cleveland_cohort, event_cohort, labelled_visits, mixed_cohort


def few_events(n: int) -> Cohort:
    """The Cleveland patients with all but `n` of those with disease left out."""
    cohort = cleveland_cohort()
    rows = np.sort(np.concatenate([np.flatnonzero(cohort.y == 0), np.flatnonzero(cohort.y == 1)[:n]]))
    return replace(cohort, X=cohort.X[rows], y=cohort.y[rows])


def test_folds_default_to_five() -> None:
    settings, warnings = plan_search(SearchSettings(), cleveland_cohort())
    assert settings.folds == 5
    assert warnings == ()


def test_default_folds_are_lowered_to_the_smaller_class() -> None:
    grouped = mixed_cohort()
    assert grouped.groups is not None
    four_groups = replace(grouped, groups=np.where(grouped.y == 1, grouped.groups % 4, grouped.groups))
    settings, warnings = plan_search(SearchSettings(), four_groups)
    assert settings.folds == 4
    assert warnings == ("4 folds in place of 5: the 4 groups that hold patients of the smaller class",)


def test_explicit_folds_above_the_smaller_class_are_refused_with_all_other_faults() -> None:
    asked = SearchSettings.model_validate(
        {
            "folds": 8,
            "strata": {"high": 0.2, "medium": 0.3},
            "space": {"prediction": ["oracle"], "calibration": []},
            "subgroups": ["shoe size"],
        }
    )
    with pytest.raises(InvalidInputError) as caught:
        plan_search(asked, few_events(7))
    faults = {f.pointer: f.detail for f in caught.value.faults}
    assert set(faults) == {"/folds", "/strata/medium", "/space/prediction", "/space/calibration", "/subgroups/0"}
    assert faults["/folds"] == "8 folds are more than the 7 patients of the smaller class"


def grouped(groups: np.ndarray) -> Cohort:
    return replace(cleveland_cohort(), groups=groups.astype(np.int64))


def test_folds_are_lowered_until_every_part_holds_both_outcomes() -> None:
    """Five hospitals with diseased patients only, two with none: more than two folds leave one without an outcome."""
    y = cleveland_cohort().y
    groups = np.where(y == 1, np.arange(len(y)) % 5, np.where(np.arange(len(y)) % 20 == 0, 6, 5))
    cohort = grouped(groups)
    settings, warnings = plan_search(SearchSettings(), cohort)
    assert settings.folds == 2
    assert len(warnings) == 1
    for partition in make_folds(cohort, 2, settings.repeats, settings.seed):
        for fold in partition:
            assert set(cohort.y[fold.train]) == set(cohort.y[fold.test]) == {0, 1}


def test_a_single_group_with_all_events_is_refused() -> None:
    y = cleveland_cohort().y
    with pytest.raises(InvalidInputError, match="at least 2 folds, more than the 1 groups"):
        plan_search(SearchSettings(), grouped(np.where(y == 1, 0, np.arange(len(y)))))


@pytest.mark.parametrize(("n", "repeats"), [(303, 2), (606, 1)])
def test_few_patients_are_split_twice(n: int, repeats: int) -> None:
    cohort = cleveland_cohort()
    rows = np.arange(n) % cohort.n_patients
    settings, _ = plan_search(SearchSettings(), replace(cohort, X=cohort.X[rows], y=cohort.y[rows]))
    assert settings.repeats == repeats
    settings, _ = plan_search(SearchSettings(repeats=3), cohort)
    assert settings.repeats == 3


def test_table_1_is_a_space_by_name() -> None:
    asked = SearchSettings.model_validate({"space": "table_1"})
    again = SearchSettings.model_validate(asked.model_dump(mode="json"))
    assert again == asked
    assert "stochastic_boosting" not in asked.space["prediction"]
    assert space_for(asked, mixed_cohort()) == Space.table_1()
    _, warnings = plan_search(asked, mixed_cohort())
    assert warnings == ()


def test_a_space_that_cannot_take_the_missing_cells_is_refused() -> None:
    asked = SearchSettings.model_validate({"space": {"imputation": ["none"], "prediction": ["ridge"]}})
    with pytest.raises(InvalidInputError, match="/space: no combination"):
        plan_search(asked, cleveland_cohort())


def test_named_algorithms_that_cannot_serve_the_cohort_are_told() -> None:
    asked = SearchSettings.model_validate({"space": {"prediction": ["cox", "ridge"]}})
    _, warnings = plan_search(asked, cleveland_cohort())
    assert warnings == ("prediction/cox is left out: it serves survival and temporal cohorts only",)
    assert plan_search(SearchSettings(), cleveland_cohort())[1] == ()


def test_a_metric_of_another_kind_of_outcome_is_refused() -> None:
    with pytest.raises(InvalidInputError) as refused:
        plan_search(SearchSettings(metric="auc_roc"), event_cohort("whas500"))
    (fault,) = refused.value.faults
    assert fault.pointer == "/metric"
    assert "uno_c, c_index, time_dependent_auc, integrated_brier" in fault.detail
    with pytest.raises(InvalidInputError, match="does not measure an outcome without a time"):
        plan_search(SearchSettings(metric="uno_c"), labelled_visits())


def test_of_a_short_budget_one_evaluation_may_take_a_tenth() -> None:
    of_budget = {s: SearchSettings.model_validate({"budget": {"time_s": s}}) for s in (5, 60, 600, 6000)}
    assert [settings.exploration_s for settings in of_budget.values()] == [1.0, 6.0, 60.0, 60.0]
    assert [settings.evaluation_s for settings in of_budget.values()] == [60.0, 60.0, 150.0, 1500.0]
    asked = SearchSettings.model_validate({"budget": {"time_s": 60}, "limits": {"evaluation_s": 300}})
    assert (asked.exploration_s, asked.evaluation_s) == (300.0, 300.0)
    assert SearchSettings.model_validate(asked.model_dump(mode="json")) == asked


def rare(n: int, events: int) -> Cohort:
    """So many patients with one feature, of whom so many have the outcome."""
    y = np.zeros(n, dtype=np.int8)
    y[:: n // events][:events] = 1
    x = np.random.default_rng(0).normal(size=n) + y
    return Cohort("rare", Binary("outcome", "1", "0"), (Feature("x", "numeric"),), x[:, None], y)


@pytest.mark.parametrize(
    ("events", "explored"),
    [
        (200_000, 10_000),
        (10_000, 25_000),
        (5_000, 50_000),
        (1_004, 50_000),
        (385, 50_000),
        (100, 100_000),  # which hold four a fold
        (20, None),
    ],
)
def test_a_rare_outcome_is_explored_on_more_patients_but_a_bounded_number(events: int, explored: int | None) -> None:
    cohort = rare(500_000, events)
    plan = plan_for(SearchSettings(), cohort, 5)
    assert explored_patients(cohort, plan) == explored
    if explored is not None:
        sample = replace(plan, patients=explored).sample(cohort)
        assert (sample.n_rows, sample.y.sum()) == (explored, round(events * explored / 500_000))


def test_the_risks_that_are_kept_of_a_rare_outcome_are_bounded_too() -> None:
    """They are 4 bytes per patient of the sample for every evaluation of a search."""
    cohort = rare(500_000, 1_004)
    plan = plan_for(SearchSettings(), cohort, 2)
    plan = replace(plan, patients=explored_patients(cohort, plan))
    simple = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))
    result = cross_validate(simple, cohort, plan)
    assert result.risks.nbytes == 200_000
    assert result.score > 0.7


def test_event_times_are_explored_by_the_rows_that_classifiers_learn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    cohort = event_cohort("mgus2")
    settings, _ = plan_search(SearchSettings(), cohort)
    plan = plan_for(settings, cohort, 5)
    assert cohort.time is not None
    at_risk = np.minimum(np.searchsorted(plan.times, cohort.time) + 1, len(plan.times)).mean()
    assert 3 < at_risk < len(plan.times)
    assert explored_patients(cohort, plan) is None
    monkeypatch.setattr(planning, "_EXPLORED_WHOLE", int(cohort.n_patients * at_risk) - 5)
    monkeypatch.setattr(planning, "_EXPLORED_TRAINING", 3200)
    monkeypatch.setattr(planning, "_EXPLORED_MINORITY", 20)
    assert explored_patients(cohort, plan) == pytest.approx(4000 / at_risk, abs=2)
    monkeypatch.setattr(planning, "_EXPLORED_MINORITY", 100)
    assert explored_patients(cohort, plan) == pytest.approx(100 / cohort.event_rate, abs=1)
    monkeypatch.setattr(planning, "_EXPLORED_MOST", 4500)
    assert explored_patients(cohort, plan) == pytest.approx(4500 / at_risk, abs=2)
    # By horizons there is a row for each of three.
    weighted = replace(plan, reduction="ipcw")
    assert explored_patients(cohort, weighted) is None
    monkeypatch.setattr(planning, "_EXPLORED_WHOLE", 3 * cohort.n_patients - 1)
    assert explored_patients(cohort, weighted) == pytest.approx(4000 / 3, abs=1)
