"""The page that explains a model: asked for, waited for, shown."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from autoprog.evaluation import Status
from autoprog.jobs.runner import JobRunner
from autoprog.storage.database import Database
from autoprog.storage.tables import JobRow
from tests.api.searching import Driver, make_search
from tests.api.test_test_frontiers import finished, runner
from tests.pages.conftest import HEIGHT, NARROW, WIDE, PageAt, assert_accessible, assert_looks

__all__ = ["runner"]


def test_an_explanation_is_asked_for_waited_for_and_shown(
    client: TestClient, driver: Driver, runner: JobRunner
) -> None:
    address = f"/searches/{finished(client, driver)['id']}/explanation"
    assert "Compute it" in client.get(address).text
    waiting = client.post(address)
    assert (waiting.status_code, str(waiting.url.path)) == (200, address)
    assert "Waiting for its turn" in waiting.text
    assert runner.run_one()
    part = client.get(address, headers={"HX-Request": "true"}).text
    assert "<html" not in part
    assert 'hx-trigger="every' not in part
    for text in ("Importance", "thal", "How the risk changes", "Would more patients help?"):
        assert text in part


@pytest.mark.parametrize(("metric", "improves"), [("auc_roc", "still climbs"), ("brier", "still falls")])
def test_a_learning_curve_is_read_in_the_direction_of_its_metric(
    client: TestClient, driver: Driver, runner: JobRunner, metric: str, improves: str
) -> None:
    search = make_search(client, folds=3, repeats=1, metric=metric)
    driver.run(Status.SUCCEEDED, Status.CRASHED)
    client.post(f"/searches/{search['id']}/explanation")
    assert runner.run_one()
    shown = client.get(f"/searches/{search['id']}/explanation").text
    assert [text for text in ("still climbs", "still falls") if text in shown] == [improves]


def test_an_explanation_that_failed_says_why_and_can_be_repeated(
    client: TestClient, driver: Driver, database: Database
) -> None:
    address = f"/searches/{finished(client, driver)['id']}/explanation"
    client.post(address)
    with database.session() as session:
        session.connection().exec_driver_sql(
            """UPDATE job SET status = 'failed', error = '{"code": "job-failed", "detail": "out of memory"}'"""
        )
    page = client.get(address).text
    assert "out of memory" in page
    assert "Compute it" in page
    told = "the explanation ended by an error of this server; its log tells more"
    with database.session() as session:
        session.execute(update(JobRow).values(error={"code": "job-failed", "detail": told}))
    page = client.get(address, headers={"Accept-Language": "de"}).text
    assert "dies endete durch einen Fehler dieses Servers (Erklärung)" in page


def test_every_outcome_has_an_accessible_explanation(page_at: PageAt, ended: dict[str, dict[str, Any]]) -> None:
    for kind, width in (("binary", 1280), ("times", NARROW), ("visits", 1280)):
        page = page_at(f"/searches/{ended[kind]['id']}/explanation", width=width)
        page.click("text=Compute it")
        page.wait_for_selector("#importance-title", timeout=180_000)
        assert_accessible(page)
        if kind == "binary":
            for looked_at in (NARROW, WIDE):
                page.set_viewport_size({"width": looked_at, "height": HEIGHT})
                assert_accessible(page)
                assert_looks(page, f"explanation-{looked_at}")
