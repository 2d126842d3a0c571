"""Contributions to the risks of typical patients."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.cohort.weights import weigh
from autoprog.endpoints import make_endpoint
from autoprog.evaluation import Plan
from autoprog.explanation import Member, TypicalPatients, explain
from autoprog.explanation.refits import Change, FoldEnsemble
from autoprog.explanation.typical_patients import explain_typical_patients
from autoprog.space import Configuration, Step
from tests.space.event_times.cohorts import real_event_cohort

N = 2_000
LEVELS = np.array([0.0, 0.1, 0.3])


class _Formula(FoldEnsemble):
    """An ensemble whose risk is a sum of parts of the inputs."""

    def __init__(self) -> None:
        pass

    def predict(self, change: Change) -> NDArray[np.float64]:
        return risk_of(change(np.zeros((1, 3))))


def risk_of(X: NDArray[np.float64]) -> NDArray[np.float64]:
    risk: NDArray[np.float64] = 0.3 + 0.2 * np.tanh(X[:, 0]) + LEVELS[X[:, 1].astype(int)]
    return risk


def independent_cohort(n: int = N) -> Cohort:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.normal(size=n)])
    y = (rng.random(n) < risk_of(X)).astype(np.int8)
    features = (
        Feature("x", "numeric"),
        Feature("site", "categorical", levels=("a", "b", "c")),
        Feature("none", "numeric"),
    )
    return Cohort("simulated", Binary("y", "1", "0"), features, X, y)


def typical_of(cohort: Cohort) -> TypicalPatients:
    q = risk_of(cohort.X)[:, None]
    return explain_typical_patients(cohort, q, _Formula(), make_endpoint(cohort), range(len(cohort.features)))


def test_contributions_of_independent_findings_sum_to_the_risk_less_the_mean_risk() -> None:
    cohort = independent_cohort()
    found = typical_of(cohort)
    assert found.mean_risk[0] == pytest.approx(risk_of(cohort.X).mean())
    assert [each.group for each in found.patients] == ["low", "middle", "high"]
    for patient in found.patients:
        values = {each.feature: each.value for each in patient.contributions}
        x, site = float(values["x"]), "abc".index(str(values["site"]))
        assert patient.risk == pytest.approx((0.3 + 0.2 * np.tanh(x) + LEVELS[site],))
        parts = {each.feature: each.change[0] for each in patient.contributions}
        assert parts["x"] == pytest.approx(0.2 * np.tanh(x) - 0.2 * np.tanh(cohort.X[:, 0]).mean(), abs=0.015)
        assert parts["site"] == pytest.approx(LEVELS[site] - LEVELS.mean(), abs=0.015)
        assert parts["none"] == pytest.approx(0.0, abs=0.005)
        assert sum(parts.values()) == pytest.approx(patient.risk[0] - found.mean_risk[0], abs=0.03)


def test_typical_values_are_medians_and_most_frequent_levels_of_fifths_by_risk() -> None:
    cohort = independent_cohort()
    order = np.argsort(risk_of(cohort.X), kind="stable")
    for patient, start in zip(typical_of(cohort).patients, (0, 800, 1_600), strict=True):
        rows = cohort.X[order[start : start + 400]]
        values = {each.feature: each.value for each in patient.contributions}
        assert patient.n == 400
        assert values["x"] == pytest.approx(np.median(rows[:, 0]), abs=0.02)
        assert values["site"] == "abc"[int(np.bincount(rows[:, 1].astype(int)).argmax())]


def test_values_of_few_patients_are_not_told() -> None:
    assert typical_of(independent_cohort(40)).patients == ()
    cohort = independent_cohort(60)
    cohort.X[:, 0] = np.where(np.arange(60) % 3 == 0, cohort.X[:, 0], np.nan)
    q = np.linspace(0, 1, 60)[:, None]
    found = explain_typical_patients(cohort, q, _Formula(), make_endpoint(cohort), range(3))
    for patient in found.patients:
        told = {each.feature for each in patient.contributions}
        assert "x" not in told  # four of twelve patients have a value
        assert "none" in told


def test_values_of_few_patients_of_large_weight_are_not_told() -> None:
    cohort = independent_cohort(60)
    cohort.X[:, 0] = np.where(np.arange(60) % 3 == 0, cohort.X[:, 0], np.nan)
    weighted = weigh(cohort, np.full(60, 5))
    q = np.repeat(np.linspace(0, 1, 60), 5)[:, None]
    found = explain_typical_patients(weighted, q, _Formula(), make_endpoint(weighted), range(3))
    for patient in found.patients:
        told = {each.feature for each in patient.contributions}
        assert "x" not in told  # four of twelve patients have a value, who stand for twenty
        assert "none" in told


def test_event_times_have_a_contribution_at_every_horizon() -> None:
    cohort = real_event_cohort("gbsg2")
    plan = Plan("uno_c", 3, 1, 0, times=cohort.time_grid)
    cox = Configuration(Step.of("median"), Step.of("none"), Step.of("cox"), Step.of("none"))
    typical = explain(cohort, plan, [Member(cox, 1.0)], "risk").typical
    assert typical is not None
    low, middle, high = typical.patients
    for k in range(len(cohort.horizons)):
        assert low.risk[k] < middle.risk[k] < high.risk[k]
    changes = np.array([each.change for each in high.contributions])
    assert changes.shape == (len(cohort.features), len(cohort.horizons))
    # What raises a risk raises it at every horizon, as Cox's hazards are proportional.
    largest = changes[np.abs(changes[:, -1]).argmax()]
    assert (largest > 0).all()
    assert [risk > mean for risk, mean in zip(high.risk, typical.mean_risk, strict=True)] == [True] * len(high.risk)
