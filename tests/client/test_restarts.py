"""The client and a server that is killed and started again."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from autoprog import AutoPrognosis, Client
from tests.api.searching import FILE, SPEC
from tests.client.serving import Place
from tests.estimator.support import QUICK, patients

SETTINGS = {
    "seed": 0,
    "folds": 3,
    "budget": {"evaluations": 8, "time_s": 300},
    "space": {"imputation": ["median"], "features": ["none"], "prediction": ["logistic_regression", "ridge"]},
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.timeout(400)
def test_waiting_outlives_a_killed_server(place: Place) -> None:
    place.start()
    try:
        with Client(place.url, patience_s=90) as client:
            # It is sent before the server listens.
            search = client.start_search(client.create_cohort(FILE, SPEC), **SETTINGS)
            killed = threading.Event()

            def kill_in_the_middle() -> None:
                with Client(place.url, patience_s=90) as other:
                    while other.search(search.id).document["progress"]["evaluations"]["succeeded"] < 2:
                        time.sleep(0.1)
                place.end(signal.SIGKILL)
                killed.set()
                time.sleep(1)
                place.start()

            thread = threading.Thread(target=kill_in_the_middle)
            thread.start()
            assert search.wait(timeout_s=240, poll_s=0.2).status == "succeeded"
            assert killed.is_set()
            thread.join()
            table = search.model.predict([dict.fromkeys(search.model.features)])
            assert 0 < table.loc[0, "risk"] < 1
    finally:
        place.end()


@pytest.mark.timeout(400)
def test_estimator_takes_its_search_to_a_server(place: Place) -> None:
    X, y = patients()
    model = AutoPrognosis(time_budget_s=120, settings=QUICK, random_state=1).fit(X, y)
    place.start()
    try:
        search = model.to_server(place.url, name="ward")
        assert search.document["settings"]["seed"] == 1
        # With the same seed and a budget of evaluations it is the same model.
        search.wait(timeout_s=240, poll_s=0.2)
        assert search.score["estimate"] == pytest.approx(model.ensemble_["score"]["estimate"])
        there = search.model.predict(X.astype({"stage": object}))["risk"]
        assert there.tolist() == pytest.approx(model.predict_risk(X).tolist())
    finally:
        place.end()
