"""The censoring distribution and its weights against R, a plain loop and the identity that defines them."""

from __future__ import annotations

import numpy as np
import pytest
from sksurv.nonparametric import CensoringDistributionEstimator
from sksurv.util import Surv

from autoprog.survival import HorizonError, StepFunction, aalen_johansen, censoring_survival, ipcw_weights
from tests.survival.naive import censoring, simulated
from tests.survival.reference import COHORTS, cohort_of, of_cohort

TOLERANCE = 1e-9  # of R's tables


@pytest.mark.parametrize("name", COHORTS)
def test_g_is_that_of_r(name: str) -> None:
    cohort = cohort_of(name)
    G = censoring_survival(cohort.time, cohort.event)
    at_horizons, own = of_cohort("censoring_km", name), of_cohort("metric_inputs", name)
    np.testing.assert_allclose(G(cohort.horizons), at_horizons["value"], atol=TOLERANCE)
    np.testing.assert_allclose(G.left(cohort.horizons), at_horizons["left_limit"], atol=TOLERANCE)
    np.testing.assert_allclose(G(cohort.time), own["censor_km"], atol=TOLERANCE)
    np.testing.assert_allclose(G.left(cohort.time), own["censor_km_left"], atol=TOLERANCE)


@pytest.mark.parametrize("distinct", [None, 6])
def test_g_by_a_loop(distinct: int | None) -> None:
    time, event, _ = simulated(1, distinct=distinct)
    G = censoring_survival(time, event)
    np.testing.assert_allclose(G(time), [censoring(time, event, t) for t in time], atol=1e-14)
    np.testing.assert_allclose(G.left(time), [censoring(time, event, t, left=True) for t in time], atol=1e-14)


def test_scikit_survival_has_the_same_g() -> None:
    time, event, _ = simulated(2, n=200, causes=1, distinct=20)
    theirs = CensoringDistributionEstimator().fit(Surv.from_arrays(event > 0, time))
    np.testing.assert_allclose(censoring_survival(time, event)(time), theirs.predict_proba(time), atol=1e-12)


@pytest.mark.parametrize("distinct", [None, 6])
@pytest.mark.parametrize("seed", range(3))
def test_the_weighted_share_of_events_is_the_incidence(seed: int, distinct: int | None) -> None:
    time, event, _ = simulated(seed, distinct=distinct)
    horizons = np.quantile(time, [0.2, 0.5, 0.8])
    weights = ipcw_weights(time, event, horizons)
    found = aalen_johansen(time, event)
    for cause in (1, 2):
        happened = (time[:, None] <= horizons) & (event == cause)[:, None]
        np.testing.assert_allclose((weights * happened).mean(axis=0), found.incidence(cause)(horizons), atol=1e-14)
    followed = time[:, None] > horizons
    np.testing.assert_allclose((weights * followed).mean(axis=0), found.survival(horizons), atol=1e-14)


def test_who_is_censored_by_the_horizon_weighs_nothing() -> None:
    weights = ipcw_weights([1.0, 2.0, 3.0, 4.0], [0, 1, 2, 0], [2.5])[:, 0]
    np.testing.assert_allclose(weights, [0.0, 4 / 3, 4 / 3, 4 / 3])


def test_without_censoring_all_weigh_one() -> None:
    time, _, _ = simulated(3)
    assert (ipcw_weights(time, np.ones(len(time)), [0.1, 0.5, 99.0]) == 1).all()


def test_of_training_patients_and_applied_to_others() -> None:
    time, event, _ = simulated(4)
    G = censoring_survival(time, event)
    weights = ipcw_weights([0.4, 0.3, 0.2], [1, 0, 0], [0.25, 0.35], G)
    np.testing.assert_allclose(weights[0], 1 / G([0.25, 0.35]))
    np.testing.assert_allclose(weights[1], [1 / G(0.25), 0.0])
    np.testing.assert_allclose(weights[2], [0.0, 0.0])


def test_a_horizon_that_no_training_patient_was_followed_to() -> None:
    G = censoring_survival([1.0, 2.0, 5.0], [1, 1, 0])
    assert float(G(5.0)) == 0.0
    assert ipcw_weights([3.0, 4.0], [1, 1], [4.5], G).tolist() == [[1.0], [1.0]]
    for horizon in (5.0, 8.0):
        with pytest.raises(
            HorizonError, match=r"nobody .* followed beyond .* not all had an event: .* is 2$"
        ) as raised:
            ipcw_weights([3.0, 4.0], [1, 1], [horizon], G)
        assert raised.value.largest == 2.0
    nobody = StepFunction(np.array([1.0]), np.array([0.0]), 1.0)
    with pytest.raises(HorizonError) as raised:
        ipcw_weights([3.0], [1], [4.0], nobody)
    assert raised.value.largest == 0.0


def test_a_horizon_by_which_all_had_an_event() -> None:
    assert ipcw_weights([3.0, 4.0], [1, 2], [4.0, 9.0]).tolist() == [[1.0, 1.0], [1.0, 1.0]]
