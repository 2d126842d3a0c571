"""Models made of cohorts."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.diagnosis import (
    MAX_CELLS,
    CohortChoice,
    ModelOptions,
    Sessions,
    model_from_cohort,
    model_to_bytes,
)
from autoprog.errors import InvalidInputError

FEATURES = (
    Feature("age", "numeric"),
    Feature("sex", "binary", ("f", "m")),
    Feature("pain", "categorical", ("none", "dull", "sharp")),
    Feature("stage", "ordinal", ("I", "II", "III")),
    Feature("flat", "numeric"),
)


def _cohort(n: int = 200, *, missing: bool = False) -> Cohort:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=n).astype(np.int8)
    # the outcome is almost decided by age above 60
    age = np.where(y == 1, rng.uniform(58, 90, size=n), rng.uniform(20, 62, size=n))
    X = np.column_stack([age, rng.integers(2, size=n), rng.integers(3, size=n), rng.integers(3, size=n), np.ones(n)])
    if missing:
        X[3, 1] = np.nan
    return Cohort("c", Binary("died", "1", "0"), FEATURES, X.astype(np.float64), y)


def test_records_become_distinct_rows_with_their_numbers() -> None:
    cohort = _cohort()
    made = model_from_cohort(cohort, CohortChoice(findings=("sex", "stage")))
    model = made.model
    assert model.queries == ("sex = m", "stage >= II", "stage >= III")
    records = [(*row, y) for row, y in zip(cohort.X[:, [1, 3]].astype(int).tolist(), cohort.y.tolist(), strict=True)]
    counts = {record: records.count(record) for record in set(records)}
    found = {}
    for i, bits in enumerate(model.responses.matrix()):
        y = int(model.groups[model.group_of[i]] == "died = 1")
        found[int(bits[0]), int(bits[1] + bits[2]), y] = int(model.weights[i])
    assert found == counts
    assert model.has_whole_weights
    assert len(model.unidentifiable) == 6


def test_thresholds_are_chosen_or_given() -> None:
    cohort = _cohort(400)
    learnt = model_from_cohort(cohort, CohortChoice(findings=("age", "flat")))
    (cut,) = learnt.thresholds["age"]
    assert 50 < cut < 66
    assert learnt.thresholds["flat"] == ()
    assert len(learnt.model.queries) == 1
    given = CohortChoice(findings=("age",), thresholds={"age": (60.0, 40.0)})
    made = model_from_cohort(cohort, given)
    assert made.model.queries == ("age > 40", "age > 60")
    assert made.thresholds == {"age": (40.0, 60.0)}


@pytest.mark.parametrize("group", [None, "sex"])
def test_a_chosen_threshold_is_the_most_informative_quantile(group: str | None) -> None:
    cohort = _cohort(300)
    X = cohort.X.copy()
    X[::7, 0] = np.nan
    choice = CohortChoice(group, ("age",), false_negative_rate=0.1)
    (cut,) = model_from_cohort(replace(cohort, X=X), choice).thresholds["age"]
    seen = ~np.isnan(X[:, 0])
    x, of = X[seen, 0], (cohort.y if group is None else X[:, 1])[seen]
    candidates = np.quantile(x, np.arange(1, 10) / 10)
    assert cut == max(candidates, key=lambda tau: mutual_info_score(x > tau, of))


def test_a_query_names_its_cut_to_the_digit() -> None:
    """Rounded to six digits it would ask whether platelets are above 150000."""
    platelets = np.repeat([149_998.0, 149_999.0, 150_000.0, 150_001.0], 25)
    y = (platelets > 149_999).astype(np.int8)
    cohort = Cohort("c", Binary("died", "1", "0"), (Feature("platelets", "numeric"),), platelets[:, None], y)
    given = CohortChoice(findings=("platelets",), thresholds={"platelets": (149_999.5,)})
    made = model_from_cohort(cohort, given)
    assert made.model.queries == ("platelets > 149999.5",)


def test_levels_that_are_no_names_become_distinct_names() -> None:
    levels = ("dull\nor sharp", "x" * 250 + "1", "x" * 250 + "2")
    note = Feature("note", "categorical", levels)
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=(90, 2)).astype(np.float64)
    features = (note, Feature("other", "categorical", levels))
    cohort = Cohort("c", Binary("died", "1", "0"), features, codes, rng.integers(2, size=90).astype(np.int8))
    model = model_from_cohort(cohort, CohortChoice(group="other")).model
    assert {"dull or sharp", "note = dull or sharp"} < {*model.groups, *model.queries}
    assert len(set(model.groups)) == len(set(model.queries)) == 3
    assert max(map(len, (*model.groups, *model.queries, *model.objects))) <= 200


def test_a_feature_can_be_the_group() -> None:
    choice = CohortChoice(group="pain", thresholds={"age": (50.0,)}, findings=("age", "sex", "stage"))
    options = ModelOptions(exponential_cost_base=2.0)
    model = model_from_cohort(_cohort(), choice, options=options).model
    assert set(model.groups) == {"none", "dull", "sharp"}
    assert model.algorithm == "group_lambda_gbs"
    assert Sessions(model).open().next_query is not None


def test_missing_cells_need_an_error_rate() -> None:
    cohort = _cohort(missing=True)
    choice = CohortChoice(findings=("sex", "pain"))
    with pytest.raises(InvalidInputError) as error:
        model_from_cohort(cohort, choice)
    assert [f.pointer for f in error.value.faults] == ["/findings/sex"]
    with_rate = CohortChoice(findings=("sex", "pain"), false_negative_rate=0.1)
    model = model_from_cohort(cohort, with_rate).model
    assert model.is_noisy
    assert int((model.responses.known_matrix() == 0).sum()) == 1


def test_many_unknown_findings_are_told_at_once() -> None:
    choice, start = CohortChoice(findings=tuple(f"finding {i}" for i in range(30_000))), time.process_time()
    with pytest.raises(InvalidInputError):
        model_from_cohort(_cohort(), choice)
    assert time.process_time() - start < 2


def test_records_are_read_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    cohort, choice = _cohort(missing=True), CohortChoice(false_negative_rate=0.1)
    whole = model_from_cohort(cohort, choice).model
    monkeypatch.setattr("autoprog.diagnosis.cohort_model._CHUNK", 64)
    assert model_to_bytes(model_from_cohort(cohort, choice).model) == model_to_bytes(whole)


def test_more_cells_than_a_model_may_have_are_refused_before_they_are_read() -> None:
    cohort = _cohort(10_001)
    choice = CohortChoice(thresholds={"age": np.linspace(20, 90, MAX_CELLS // 10_000).tolist()}, findings=("age",))
    with pytest.raises(InvalidInputError, match="10,001 records by 100,000 queries"):
        model_from_cohort(cohort, choice)


def test_every_fault_is_named() -> None:
    choice = CohortChoice(
        group="age",
        findings=("sx", "sex", "sex", "age"),
        thresholds={"sex": (1.0,), "nothing": (1.0,), "age": ()},
        false_positive_rate=0.7,
        false_negative_rate=0.6,
    )
    with pytest.raises(InvalidInputError) as error:
        model_from_cohort(_cohort(), choice)
    pointers = [fault.pointer for fault in error.value.faults]
    expected = {"/findings/0", "/thresholds/nothing", "/group", "/thresholds/sex", "/thresholds/age", "/findings/2"}
    assert expected | {"/findings/3", "/false_positive_rate"} == set(pointers)
    with pytest.raises(InvalidInputError, match="nothing to ask"):
        model_from_cohort(_cohort(), CohortChoice(findings=("flat",)))
