from __future__ import annotations

import math

import numpy as np
import pytest

from autoprog.cohort import (
    Binary,
    Cohort,
    Feature,
    Visits,
    VisitTable,
    cleveland,
    read_cohort,
    riley_minimum,
    sample_size,
)
from autoprog.cohort.sample_size import max_cox_snell_r2, n_parameters


@pytest.mark.parametrize(
    ("p", "phi", "r2", "n"),
    [
        (24, 0.174, 0.288, 662),  # pmsampsize's help; Riley et al. 2019, Chagas disease: optimism decides
        (30, 0.05, 0.05, 5249),  # -30 / (0.1 ln(1 - 0.05 / 0.9)) by hand: shrinkage decides
        (1, 0.5, 0.6, 385),  # (1.96 / 0.05)^2 / 4, the textbook's sample for a proportion: the overall risk decides
    ],
)
def test_minima_that_are_published_or_worked_by_hand(p: int, phi: float, r2: float, n: int) -> None:
    assert riley_minimum(p, phi, r2) == n


@pytest.mark.parametrize(
    ("phi", "r2_max"), [(0.5, 0.75), (0.4, 0.74), (0.3, 0.71), (0.2, 0.63), (0.1, 0.48), (0.05, 0.33), (0.01, 0.11)]
)
def test_the_largest_cox_snell_r2_is_the_published_one(phi: float, r2_max: float) -> None:
    assert max_cox_snell_r2(phi) == pytest.approx(r2_max, abs=0.005)
    assert max_cox_snell_r2(1 - phi) == pytest.approx(max_cox_snell_r2(phi), rel=1e-12)


def test_the_default_anticipates_fifteen_percent_of_the_largest() -> None:
    r2_max = 1 - (0.2**0.2 * 0.8**0.8) ** 2
    assert riley_minimum(20, 0.2) == riley_minimum(20, 0.2, 0.15 * r2_max)
    # with S = 0.15 / 0.20 the optimism needs -p / (0.25 ln(1 - 0.20 r2_max)), with S = 0.9 the shrinkage needs more
    assert riley_minimum(20, 0.2) == math.ceil(20 / (-0.1 * math.log(1 - 0.15 * r2_max / 0.9)))


@pytest.mark.parametrize(
    ("p", "phi", "r2"), [(0, 0.2, None), (5, 0.0, None), (5, 1.0, None), (5, 0.05, 0.4), (5, 0.5, 0.0)]
)
def test_what_is_out_of_range_is_refused(p: int, phi: float, r2: float | None) -> None:
    with pytest.raises(ValueError, match=r"must be|needs"):
        riley_minimum(p, phi, r2)


def test_dummies_are_counted() -> None:
    features = (
        Feature("age", "numeric"),
        Feature("sex", "binary", ("0", "1")),
        Feature("grade", "ordinal", ("1", "2", "3")),
        Feature("cp", "categorical", ("1", "2", "3", "4")),
    )
    assert n_parameters(features) == 1 + 1 + 1 + 3


def test_cleveland_is_too_small_for_its_candidates() -> None:
    content, spec = cleveland()
    size = sample_size(read_cohort(content, spec).cohort)
    assert size.events_per_predictor == pytest.approx(139 / (10 + 3 + 2 + 2))
    assert size.riley_minimum == riley_minimum(17, 139 / 303)
    assert (size.n_parameters, size.flexible_minimum) == (17, 10 * size.riley_minimum)
    assert size.verdict == "insufficient"


def test_events_per_predictor_are_of_the_rarer_outcome() -> None:
    features = tuple(Feature(name, "numeric") for name in "abc")
    y = (np.arange(200) < 170).astype(np.int8)
    for outcomes in (y, 1 - y):
        size = sample_size(Cohort("n", Binary("y", "1", "0"), features, np.zeros((200, 3)), outcomes))
        assert size.events_per_predictor == 30 / 3
        assert size.riley_minimum == riley_minimum(3, 0.15)


def test_the_verdict_turns_at_the_minimum() -> None:
    minimum = riley_minimum(1, 0.5)
    regression = "sufficient_for_regression"
    sizes = [(minimum - 2, "insufficient"), (minimum, regression), (10 * minimum - 2, regression)]
    for n, verdict in (*sizes, (10 * minimum, "sufficient")):
        y = np.arange(n + n % 2, dtype=np.int8) % 2
        cohort = Cohort("n", Binary("y", "1", "0"), (Feature("x", "numeric"),), np.zeros((len(y), 1)), y)
        assert sample_size(cohort).verdict == verdict


@pytest.mark.parametrize("n_ever", [10, 199, 200])
def test_of_visits_the_share_is_that_of_the_patients(n_ever: int) -> None:
    """Each of 200 patients has five visits; those who ever have the outcome have it at the last one alone."""
    patient = np.repeat(np.arange(200), 5)
    y = ((patient < n_ever) & (np.arange(1_000) % 5 == 4)).astype(np.int8)
    visits = VisitTable(patient, np.tile(np.arange(5.0), 200))
    outcome = Visits("id", "day", 1.0, Binary("y", "1", "0"))
    cohort = Cohort(
        "v", outcome, (Feature("x", "numeric"),), np.arange(1_000.0)[:, None] % 7, y, groups=patient, visits=visits
    )
    found = sample_size(cohort)
    assert found.riley_minimum == riley_minimum(found.n_parameters, min(n_ever, 199.5) / 200)
    assert found.events_per_predictor == n_ever / found.n_parameters
