"""AUC at horizons against R, scikit-learn and a loop over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from autoprog.survival import NoPairError, OutcomeError, cumulative_dynamic_auc, ipcw_weights
from tests.survival.naive import pair_totals, simulated
from tests.survival.reference import COHORTS, COMPETING, cohort_of, metric

TOLERANCE = 1e-9  # of R's tables


@pytest.mark.parametrize("name", COHORTS)
def test_auc_is_that_of_r(name: str) -> None:
    cohort = cohort_of(name)
    found = cumulative_dynamic_auc(cohort.time, cohort.event, cohort.risk, cohort.horizons)
    np.testing.assert_allclose(found, metric(name, "auc_cd"), atol=TOLERANCE)


@pytest.mark.parametrize("name", COMPETING)
def test_with_event_free_controls_it_is_that_of_r(name: str) -> None:
    cohort = cohort_of(name)
    found = cumulative_dynamic_auc(cohort.time, cohort.event, cohort.risk, cohort.horizons, controls="event_free")
    np.testing.assert_allclose(found, metric(name, "auc_cd_event_free_controls"), atol=TOLERANCE)


@pytest.mark.parametrize("cause", [1, 2])
@pytest.mark.parametrize("distinct", [None, 6])
def test_all_pairs_by_a_loop(distinct: int | None, cause: int) -> None:
    time, event, risk = simulated(1, n=40, distinct=distinct)
    horizon = float(np.median(time))
    w = ipcw_weights(time, event, horizon)[:, 0]
    case = (time <= horizon) & (event == cause)
    concordant, discordant, tied = pair_totals(risk, lambda i, j: float(w[i] * w[j] * (case[i] and not case[j])))
    found = cumulative_dynamic_auc(time, event, risk, horizon, cause=cause)
    assert found[0] == pytest.approx((concordant + tied / 2) / (concordant + discordant + tied), abs=1e-12)


def test_without_censoring_it_is_the_usual_auc() -> None:
    time, _, risk = simulated(2)
    horizons = np.quantile(time, [0.3, 0.6])
    found = cumulative_dynamic_auc(time, np.ones(len(time)), risk, horizons)
    np.testing.assert_allclose(found, [roc_auc_score(time <= h, risk) for h in horizons], atol=1e-14)


def test_neither_cases_nor_controls() -> None:
    with pytest.raises(NoPairError, match=r"no case at horizon 0\.5"):
        cumulative_dynamic_auc([1.0, 2.0], [1, 1], [0.1, 0.2], 0.5)
    with pytest.raises(NoPairError, match="no control at horizon 3"):
        cumulative_dynamic_auc([1.0, 2.0], [1, 1], [0.1, 0.2], 3.0)


@pytest.mark.parametrize("risk", [[[0.1], [0.2]], [[0.1, 0.2, 0.3]], [0.1]])
def test_risks_of_another_shape(risk: list[object]) -> None:
    with pytest.raises(OutcomeError, match="risks of 2 patients at 3 horizons"):
        cumulative_dynamic_auc([1.0, 2.0], [1, 0], risk, [0.5, 1.0, 1.5])


def test_missing_risks() -> None:
    with pytest.raises(OutcomeError, match="1 of 2 risks are missing"):
        cumulative_dynamic_auc([1.0, 2.0], [1, 0], [np.nan, 0.1], 1.0)
