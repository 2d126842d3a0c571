"""The client and a server that is killed and started again."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from autoprog import Client
from tests.api.searching import FILE, SPEC
from tests.client.serving import Place

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
