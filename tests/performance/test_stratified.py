"""What was observed in risk strata: shares are Wilson's, incidences those of lifelines."""

from __future__ import annotations

import numpy as np
import pytest
from lifelines import KaplanMeierFitter
from scipy.stats import binomtest

from autoprog.cohort.event_array import event_times
from autoprog.performance import observed_incidences, observed_shares

RNG = np.random.default_rng(0)
N = 300
STRATUM = np.repeat([0, 1], [100, 200])
TIME = RNG.exponential(np.where(STRATUM == 0, 1.0, 4.0)) + 0.01
CENSORED = RNG.exponential(3.0, N) + 0.01
Y = event_times((TIME <= CENSORED).astype(np.int64), np.minimum(TIME, CENSORED))


def test_shares_have_wilsons_interval() -> None:
    y = (RNG.random(N) < 0.3).astype(np.int8)
    found = observed_shares(y, STRATUM, 2)
    for s, each in enumerate(found):
        k, n = int(y[s == STRATUM].sum()), int((s == STRATUM).sum())
        interval = binomtest(k, n).proportion_ci(method="wilson")
        assert (each["n"], each["n_events"]) == (n, k)
        assert each["observed"] == pytest.approx({"estimate": k / n, "lower": interval.low, "upper": interval.high})


def test_incidence_is_lifelines_kaplan_meier() -> None:
    for s, each in enumerate(observed_incidences(Y, STRATUM, 2, 2.0, curve=True)):
        here = Y[s == STRATUM]
        fitter = KaplanMeierFitter().fit(here["time"], here["event"])
        assert each["observed"]["estimate"] == pytest.approx(1 - fitter.predict(2.0), abs=1e-5)
        curve = each["curve"]
        expected = 1 - fitter.survival_function_at_times(curve["times"]).to_numpy()
        assert np.abs(expected - curve["estimate"]).max() < 1e-5
        assert curve["at_risk"] == [int((here["time"] >= t).sum()) for t in curve["at_risk_times"]]
        assert len(curve["times"]) <= 102
        low = 1 - fitter.confidence_interval_survival_function_.iloc[:, 1]
        at = float(low[low.index <= 2.0].iloc[-1])
        assert each["observed"]["lower"] == pytest.approx(at, abs=1e-4)


def test_a_stratum_of_few_patients_is_counted_and_not_described() -> None:
    stratum = np.zeros(N, dtype=np.int64)
    stratum[:5] = 1
    few = observed_incidences(Y, stratum, 2, 2.0, curve=True)[1]
    assert few == {"n": 5, "n_events": None, "observed": None, "curve": None}
    assert observed_shares(np.ones(N, dtype=np.int8), stratum, 2)[1]["observed"] is None


def test_correlated_patients_have_no_greenwood_interval() -> None:
    found = observed_incidences(Y, STRATUM, 2, 2.0, curve=True, grouped=True)[0]
    assert found["observed"]["estimate"] is not None
    assert found["observed"]["lower"] is None
    assert set(found["curve"]["upper"]) == {None}


def test_no_incidence_is_told_beyond_the_follow_up() -> None:
    found = observed_incidences(Y, STRATUM, 2, float(Y["time"].max()) + 100, curve=False)
    last_is_censored = [Y[s == STRATUM][np.argmax(Y[s == STRATUM]["time"])]["event"] == 0 for s in (0, 1)]
    assert any(last_is_censored)
    for each, censored in zip(found, last_is_censored, strict=True):
        assert (each["observed"] is None) == censored


def test_a_stratum_of_one_patient_s_visits_is_not_described() -> None:
    y, patient = np.ones(24, dtype=np.int8), np.concatenate([np.zeros(12, dtype=np.int64), np.arange(1, 13)])
    stratum = np.repeat([0, 1], 12)
    one, twelve = observed_shares(y, stratum, 2, patient, patient)
    assert (one["n"], one["n_events"], one["observed"]) == (12, None, None)
    assert twelve["n_events"] == 12
    followed = event_times(np.arange(1.0, 25.0), y)
    one, twelve = observed_incidences(followed, stratum, 2, 20.0, curve=True, grouped=True, patient=patient)
    assert (one["n_events"], one["observed"], one["curve"]) == (None, None, None)
    assert twelve["observed"] is not None
