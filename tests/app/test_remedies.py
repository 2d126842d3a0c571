"""What a user may change after a search without a model, on the page and by the command."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from autoprog.app.remedies import Remedy, find_remedies
from autoprog.evaluation import Status
from tests.api.conftest import client, client_of, driver, keyed_app, local_app
from tests.api.searching import Driver, make_search
from tests.pages.test_frame import BROWSER

__all__ = ["client", "client_of", "driver", "keyed_app", "local_app"]

ADVICE = {
    Status.TIMEOUT: "Give the search more time",
    Status.MEMORY: "give pipelines more memory",
    Status.INVALID: "Check the columns",
    Status.CRASHED: "The machine may have had no memory left",
}


def test_remedies_are_those_that_most_evaluations_ask_for() -> None:
    ended = {"crashed": 2, "timeout": 1, "cancelled": 3, "raced_out": 1}
    assert find_remedies(ended) == ((Remedy.MACHINE, 2), (Remedy.TIME, 1))
    assert find_remedies({}) == find_remedies({"cancelled": 3}) == ((Remedy.TIME, 0),)


@pytest.mark.parametrize("status", ADVICE)
def test_page_advises_what_the_failures_ask_for_and_nothing_else(
    client: TestClient, driver: Driver, status: Status
) -> None:
    search = make_search(client)
    claim = driver.claim()
    driver.explore(claim, status, status)
    driver.store.fail(claim, "search-failed", f"no evaluation succeeded: 2 {status}")
    page = client.get(f"/searches/{search['id']}", headers=BROWSER).text
    assert {each for each, text in ADVICE.items() if text in page} == {status}
    assert "2 pipelines" in page
    german = client.get(f"/searches/{search['id']}", headers={**BROWSER, "Accept-Language": "de"}).text
    assert "2 Pipelines" in german
