"""Models made of cohorts."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.diagnosis import CohortChoice, ModelOptions, Sessions, model_from_cohort
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
    made = model_from_cohort(cohort, CohortChoice(findings=("sex", "stage")), rng=np.random.default_rng(0))
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


def test_thresholds_are_learnt_or_given() -> None:
    cohort = _cohort(400)
    learnt = model_from_cohort(cohort, CohortChoice(findings=("age", "flat")), rng=np.random.default_rng(0))
    (cut,) = learnt.thresholds["age"]
    assert 50 < cut < 66
    assert learnt.thresholds["flat"] == ()
    assert len(learnt.model.queries) == 1
    again = model_from_cohort(cohort, CohortChoice(findings=("age", "flat")), rng=np.random.default_rng(0))
    assert again.thresholds == learnt.thresholds
    given = CohortChoice(findings=("age",), thresholds={"age": (60.0, 40.0)})
    made = model_from_cohort(cohort, given, rng=np.random.default_rng(0))
    assert made.model.queries == ("age > 40", "age > 60")
    assert made.thresholds == {"age": (40.0, 60.0)}


def test_a_query_names_its_cut_to_the_digit() -> None:
    """Rounded to six digits it would ask whether platelets are above 150000."""
    platelets = np.repeat([149_998.0, 149_999.0, 150_000.0, 150_001.0], 25)
    y = (platelets > 149_999).astype(np.int8)
    cohort = Cohort("c", Binary("died", "1", "0"), (Feature("platelets", "numeric"),), platelets[:, None], y)
    given = CohortChoice(findings=("platelets",), thresholds={"platelets": (149_999.5,)})
    made = model_from_cohort(cohort, given, rng=np.random.default_rng(0))
    assert made.model.queries == ("platelets > 149999.5",)


def test_levels_that_are_no_names_become_distinct_names() -> None:
    levels = ("dull\nor sharp", "x" * 250 + "1", "x" * 250 + "2")
    note = Feature("note", "categorical", levels)
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=(90, 2)).astype(np.float64)
    features = (note, Feature("other", "categorical", levels))
    cohort = Cohort("c", Binary("died", "1", "0"), features, codes, rng.integers(2, size=90).astype(np.int8))
    model = model_from_cohort(cohort, CohortChoice(group="other"), rng=rng).model
    assert {"dull or sharp", "note = dull or sharp"} < {*model.groups, *model.queries}
    assert len(set(model.groups)) == len(set(model.queries)) == 3
    assert max(map(len, (*model.groups, *model.queries, *model.objects))) <= 200


def test_a_feature_can_be_the_group() -> None:
    choice = CohortChoice(group="pain", thresholds={"age": (50.0,)}, findings=("age", "sex", "stage"))
    options = ModelOptions(exponential_cost_base=2.0)
    model = model_from_cohort(_cohort(), choice, options=options, rng=np.random.default_rng(0)).model
    assert set(model.groups) == {"none", "dull", "sharp"}
    assert model.algorithm == "group_lambda_gbs"
    assert Sessions(model).open().next_query is not None


def test_missing_cells_need_an_error_rate() -> None:
    cohort = _cohort(missing=True)
    choice = CohortChoice(findings=("sex", "pain"))
    with pytest.raises(InvalidInputError) as error:
        model_from_cohort(cohort, choice, rng=np.random.default_rng(0))
    assert [f.pointer for f in error.value.faults] == ["/findings/sex"]
    with_rate = CohortChoice(findings=("sex", "pain"), false_negative_rate=0.1)
    model = model_from_cohort(cohort, with_rate, rng=np.random.default_rng(0)).model
    assert model.is_noisy
    assert int((model.responses.known_matrix() == 0).sum()) == 1


def test_every_fault_is_named() -> None:
    choice = CohortChoice(
        group="age",
        findings=("sx", "sex", "sex", "age"),
        thresholds={"sex": (1.0,), "nothing": (1.0,), "age": ()},
        false_positive_rate=0.7,
        false_negative_rate=0.6,
    )
    with pytest.raises(InvalidInputError) as error:
        model_from_cohort(_cohort(), choice, rng=np.random.default_rng(0))
    pointers = [fault.pointer for fault in error.value.faults]
    expected = {"/findings/0", "/thresholds/nothing", "/group", "/thresholds/sex", "/thresholds/age", "/findings/2"}
    assert expected | {"/findings/3", "/false_positive_rate"} == set(pointers)
    with pytest.raises(InvalidInputError, match="nothing to ask"):
        model_from_cohort(_cohort(), CohortChoice(findings=("flat",)), rng=np.random.default_rng(0))
