import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit

from autoprog.cohort.event_array import event_times
from autoprog.performance import ScoringContext
from autoprog.space import scaled_to_leave_room
from autoprog.survival import aalen_johansen, censoring_survival
from autoprog.validation import (
    IDENTITY,
    Recalibration,
    cause_documents,
    cross_fitted_competing,
    fit_competing,
    with_competing,
)

HORIZONS = (1.0, 2.0)


def _patients(n: int, seed: int) -> tuple[NDArray[np.void], NDArray[np.float64], ScoringContext]:
    """Three causes with constant hazards that a patient's values say, censored at random; their true incidences."""
    rng = np.random.default_rng(seed)
    hazards = 0.25 * np.exp(0.8 * rng.standard_normal((n, 3)))
    total = hazards.sum(axis=1)
    time = rng.exponential(1 / total)
    cause = 1 + (rng.random(n)[:, None] > np.cumsum(hazards / total[:, None], axis=1)).sum(axis=1)
    censored = rng.uniform(0.5, 5, n)
    y = event_times(np.where(time <= censored, cause, 0), np.minimum(time, censored))
    F = (hazards / total[:, None])[:, :, None] * (1 - np.exp(-total[:, None, None] * np.array(HORIZONS)))
    return y, F, ScoringContext(HORIZONS, HORIZONS, 3, censoring_survival(y["time"], y["event"]))


def test_risks_of_all_causes_leave_room_for_each_other_whatever_the_maps_are() -> None:
    _, F, _ = _patients(500, 0)
    of_interest = Recalibration(0.4, 1.6).apply(F[:, 0])
    told = with_competing(F, of_interest, [Recalibration(2.0, 0.5), Recalibration(-1.0, 2.5)])
    np.testing.assert_array_equal(told[:, 0], of_interest)
    assert told.min() >= 0
    assert told.sum(axis=1).max() <= 1 + 1e-12
    assert (np.diff(told, axis=2) >= 0).all()


def test_without_maps_every_cause_keeps_its_share() -> None:
    _, F, _ = _patients(200, 1)
    of_interest = Recalibration(-0.3, 1.2).apply(F[:, 0])
    told = with_competing(F, of_interest, ())
    np.testing.assert_allclose(told, scaled_to_leave_room(F, of_interest), atol=1e-12)
    np.testing.assert_allclose(with_competing(F, F[:, 0], [IDENTITY, IDENTITY]), F, atol=1e-6)


def test_a_distortion_of_the_shares_is_found_and_undone() -> None:
    """The shares of causes 2 and 3 as a model that is too sure tells them; the truth is known."""
    y, F, follow_up = _patients(20_000, 2)
    bent, left = [F[:, 0]], 1 - F[:, 0]
    for k, (a, b) in enumerate([(0.5, 1.5), (-0.4, 0.7)], start=1):
        share = F[:, k] / (1 - F[:, :k].sum(axis=1))
        bent.append(expit(a + b * logit(share)) * left)
        left = left - bent[-1]
    wrong = np.stack(bent, axis=1)
    maps = fit_competing(y, wrong, follow_up, shrunk=False)
    np.testing.assert_allclose([m.slope for m in maps], [1 / 1.5, 1 / 0.7], rtol=0.1)
    mended = with_competing(wrong, F[:, 0], maps)
    assert np.abs(mended - F).mean() < 0.15 * np.abs(wrong - F).mean()
    of_delivered = fit_competing(y[:150], wrong[:150], follow_up)
    assert all(abs(m.slope - 1) < abs(free.slope - 1) for m, free in zip(of_delivered, maps, strict=True))


def test_another_cause_of_a_patient_does_not_change_what_is_learnt_of_his_own_tenth() -> None:
    y, F, follow_up = _patients(300, 3)
    groups = np.arange(300) // 3
    told = cross_fitted_competing(y, F, F[:, 0], follow_up, np.random.default_rng(1), groups)
    assert told.shape == F.shape
    others = y.copy()
    others["event"][:3] = np.where(y["event"][:3] > 1, 5 - y["event"][:3], y["event"][:3])
    assert (others != y).any()
    again = cross_fitted_competing(others, F, F[:, 0], follow_up, np.random.default_rng(1), groups)
    np.testing.assert_array_equal(told[:3], again[:3])
    assert (told[3:] != again[3:]).any()


@pytest.mark.parametrize("code", [2, 3])
def test_every_cause_is_assessed_as_the_event_of_interest_is(code: int) -> None:
    y, F, _ = _patients(3_000, 6)
    documents = cause_documents(y, F[:, :, 1], ("death", "relapse", "transplant"), 2.0)
    told = documents[code - 2]
    assert told["cause"] == ("relapse", "transplant")[code - 2]
    assert told["n_events"] == ((y["event"] == code) & (y["time"] <= 2)).sum()
    performance = told["performance"]
    assert performance["auc"] > 0.6
    for name, ideal in (("expected_observed", 1.0), ("slope", 1.0), ("intercept", 0.0)):
        assert performance[name]["estimate"] == pytest.approx(ideal, abs=0.1)
    incidence = aalen_johansen(y["time"], y["event"], causes=3).incidence(code)(np.array([2.0]))
    assert performance["observed"]["estimate"] == pytest.approx(incidence[0])


def test_a_cause_that_nobody_has_is_said_to_be_unmeasured() -> None:
    y, F, follow_up = _patients(200, 5)
    y = y[y["event"] != 3]
    F = F[: len(y)]
    told = cause_documents(y, F[:, :, 1], ("death", "relapse", "transplant"), 2.0)[1]
    nothing = {
        "performance": None,
        "calibration_curve": None,
        "reason": "0 had it until then, and at least 2 are needed",
    }
    assert told == {"cause": "transplant", "n_events": 0, **nothing}
    assert fit_competing(y, F, follow_up)[1] == IDENTITY


@pytest.mark.parametrize("shrunk", [True, False])
def test_a_cause_of_one_patient_is_not_recalibrated_however_many_horizons_there_are(shrunk: bool) -> None:
    y, F, follow_up = _patients(200, 5)
    first = int(np.flatnonzero(y["event"] == 3)[y["time"][y["event"] == 3].argmin()])
    kept = (y["event"] != 3) | (np.arange(200) == first)
    assert y["time"][first] < HORIZONS[0]  # so that the patient has it by both
    maps = fit_competing(y[kept], F[kept], follow_up, shrunk=shrunk)
    assert maps[1] == IDENTITY
    assert maps[0] != IDENTITY
