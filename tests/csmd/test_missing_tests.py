from __future__ import annotations

import numpy as np
import pytest

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.csmd import DiagnosticTest, gower_distances, missing_tests
from autoprog.errors import InvalidInputError
from tests.cohorts import mixed_cohort

TESTS = [
    DiagnosticTest("ages", 1.0, ("age",)),
    DiagnosticTest("sites", 2.0, ("site", "grade")),
    DiagnosticTest("sexes", 0.5, ("sex",)),
]


def risk(X: np.ndarray) -> np.ndarray:
    """Of age and grade; what is missing counts as the mean."""
    age, grade = np.nan_to_num(X[:, 0], nan=60.0), np.nan_to_num(X[:, 3], nan=1.5)
    return 1 / (1 + np.exp(-(age - 60) / 8 - 0.3 * (grade - 1.5)))


def test_distances_against_the_definition() -> None:
    cohort = mixed_cohort()
    x = np.array([66.0, 1.0, np.nan, 2.0])
    spans = np.nanmax(cohort.X, axis=0) - np.nanmin(cohort.X, axis=0)
    distances = gower_distances(cohort, x)
    for i, row in enumerate(cohort.X):
        parts = [
            float(row[j] != x[j]) if cohort.features[j].kind == "binary" else abs(row[j] - x[j]) / spans[j]
            for j in (0, 1, 3)
            if not np.isnan(row[j])
        ]
        assert distances[i] == pytest.approx(np.mean(parts) if parts else 1.0)


def test_nothing_known_is_equally_far_from_all() -> None:
    np.testing.assert_array_equal(gower_distances(mixed_cohort(), np.full(4, np.nan)), 1.0)


def test_changes_against_a_loop_over_the_donors() -> None:
    cohort = mixed_cohort()
    patient = {"age": None, "sex": "male", "site": None, "grade": None}
    ranked = missing_tests(cohort, TESTS, patient, risk, donors=25)
    found = {v.test: v for v in ranked.tests}
    assert set(found) == {"ages", "sites"}
    x = np.array([np.nan, 1.0, np.nan, np.nan])
    distances = gower_distances(cohort, x)
    now = risk(x[None])[0]
    for name, columns, cost in (("ages", [0], 1.0), ("sites", [2, 3], 2.0)):
        complete = [i for i in range(200) if not np.isnan(cohort.X[i, columns]).any()]
        donors = sorted(complete, key=lambda i: (distances[i], i))[:25]
        risks = []
        for i in donors:
            filled = x.copy()
            filled[columns] = cohort.X[i, columns]
            risks.append(risk(filled[None])[0])
        value = found[name]
        assert value.expected_change == pytest.approx(np.mean(np.abs(np.array(risks) - now)))
        assert value.change_per_cost == pytest.approx(value.expected_change / cost)
        assert ranked.risk == pytest.approx(now)
        np.testing.assert_allclose([value.lower, value.upper], np.quantile(risks, [0.1, 0.9]))
        assert value.donors == 25


def test_the_best_for_its_cost_comes_first() -> None:
    ranked = missing_tests(mixed_cohort(), TESTS, {}, risk).tests
    assert [v.test for v in ranked] == ["ages", "sites", "sexes"]
    assert ranked[2].expected_change == 0.0
    assert all(v.donors == 30 for v in ranked)
    dear = [DiagnosticTest("ages", 1000.0, ("age",)), *TESTS[1:]]
    assert missing_tests(mixed_cohort(), dear, {}, risk).tests[0].test == "sites"


def test_free_tests() -> None:
    free = [DiagnosticTest("sexes", 0.0, ("sex",)), DiagnosticTest("grades", 0.0, ("grade",)), TESTS[0]]
    ranked = missing_tests(mixed_cohort(), free, {}, risk).tests
    assert [(v.test, v.change_per_cost) for v in ranked[:1]] == [("grades", np.inf)]
    assert ranked[-1].test == "sexes"
    assert ranked[-1].change_per_cost == 0.0


def test_a_test_half_done_keeps_what_is_known() -> None:
    patient = {"age": 70, "sex": "male", "site": "a", "grade": None}
    value = missing_tests(mixed_cohort(), TESTS, patient, risk).tests
    assert [v.test for v in value] == ["sites"]
    assert value[0].expected_change > 0
    assert missing_tests(mixed_cohort(), TESTS, {**patient, "grade": "3"}, risk).tests == ()


def test_a_result_unseen_in_training_is_a_test_that_was_done() -> None:
    cohort = mixed_cohort()
    patient = {"age": 70, "sex": "male", "site": "z", "grade": "3"}
    found = missing_tests(cohort, TESTS, patient, risk)
    assert found.tests == ()
    assert found.warnings == ("site 'z' was never seen in training and is treated as missing",)
    half = missing_tests(cohort, TESTS, {**patient, "grade": None}, risk)
    assert [v.test for v in half.tests] == ["sites"]
    assert half.warnings == found.warnings


def test_draws_are_conditional() -> None:
    """Two features that are the same: knowing one, the other changes nothing; unknown, it changes much."""
    x = np.linspace(0, 1, 200)
    features = (Feature("a", "numeric"), Feature("b", "numeric"))
    cohort = Cohort("twins", Binary("y", "1", "0"), features, np.column_stack([x, x]), (x > 0.5).astype(np.int8))
    tests = [DiagnosticTest("b", 1.0, ("b",))]

    def of_b(X: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(X[:, 1]), np.nan_to_num(X[:, 0], nan=0.5), X[:, 1])

    knowing = missing_tests(cohort, tests, {"a": 0.9}, of_b, donors=10).tests[0]
    unknown = missing_tests(cohort, tests, {}, of_b, donors=200).tests[0]
    assert knowing.expected_change < 0.02
    assert unknown.expected_change == pytest.approx(0.25, abs=0.01)


def test_a_test_that_no_patient_had_has_no_donors() -> None:
    cohort = mixed_cohort()
    X = cohort.X.copy()
    X[:, 2] = np.nan
    value = missing_tests(Cohort("c", cohort.outcome, cohort.features, X, cohort.y), TESTS[1:2], {}, risk).tests[0]
    assert (value.donors, value.expected_change, value.change_per_cost) == (0, 0.0, 0.0)


def test_every_fault_is_named() -> None:
    tests = [DiagnosticTest("a", 1.0, ("age", "pulse"))]
    with pytest.raises(InvalidInputError) as error:
        missing_tests(mixed_cohort(), tests, {"age": "old", "weight": 3}, risk, donors=0)
    pointers = {fault.pointer for fault in error.value.faults}
    assert pointers == {"/tests/0/features/1", "/donors", "/patient/age", "/patient/weight"}
