"""Two hundred clients on one problem: nothing is lost, and nothing is counted twice."""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx2
import numpy as np
import pytest
from fastapi.testclient import TestClient

from tests.api.diagnosing import made
from tests.api.selecting import PROBLEMS, make_problem
from tests.conftest import LONG_BACKENDS

pytestmark = [pytest.mark.timeout(900), pytest.mark.parametrize("backend", LONG_BACKENDS)]

CLIENTS, ROUNDS = 200, 1


def ask(client: httpx2.Client, path: str, **body: Any) -> Any:
    """Send a request, again where the database has no place for it: on a busy machine so many wait for long."""
    while (answer := client.post(path, **body)).status_code == 503:
        time.sleep(1)
    return answer.raise_for_status().json()


def bedside(port: int, url: str, seed: int, sent: list[dict[str, int]], numbers: list[int]) -> None:
    """One client: opens rounds, gives every feedback twice, one of the two in a race with itself."""
    rng = np.random.default_rng(seed)
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
        for _ in range(ROUNDS):
            opened = ask(client, f"{url}/rounds")
            outputs = {str(i + 1): int(rng.integers(2)) for i in range(int(opened["arm"]))}
            feedback = f"{url}/rounds/{opened['id']}/feedback"

            def give(path: str = feedback, body: dict[str, int] = outputs) -> None:
                with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as another:
                    ask(another, path, json={"predictions": body})

            rival = threading.Thread(target=give)
            rival.start()
            ask(client, feedback, json={"predictions": outputs})
            rival.join()
            sent.append(outputs)
            numbers.append(opened["number"])


def test_no_update_is_lost_and_none_counted_twice(client: TestClient, port: int) -> None:
    problem = make_problem(client, trade_off=0.001)
    url = f"{PROBLEMS}/{problem['id']}"
    sent: list[dict[str, int]] = []
    numbers: list[int] = []
    threads = [threading.Thread(target=bedside, args=(port, url, seed, sent, numbers)) for seed in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, CLIENTS * ROUNDS + 1))
    shown = made(client.get(url), 200)
    assert (shown["n_rounds"], shown["n_feedback"]) == (CLIENTS * ROUNDS, CLIENTS * ROUNDS)
    chosen: dict[str, Any] = {arm["id"]: sum(len(each) == int(arm["id"]) for each in sent) for arm in shown["arms"]}
    assert {arm["id"]: arm["chosen"] for arm in shown["arms"]} == chosen
    assert {arm["id"]: arm["feedback"] for arm in shown["arms"]} == chosen
    for pair in shown["disagreements"]:
        first, second = pair["first"], pair["second"]
        both = [each for each in sent if second in each]
        assert pair["observations"] == len(both)
        differing = sum(each[first] != each[second] for each in both)
        assert pair["estimate"] == (differing / len(both) if both else None)
