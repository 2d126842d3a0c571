"""What is shown of a search that runs: the phase, the time left, the plot of the best score so far."""

from __future__ import annotations

from fastapi.testclient import TestClient
from sqlalchemy import update

from api.pages.searches.progress import draw_progress
from autoprog.evaluation import Status
from autoprog.search.ports import Phase
from autoprog.storage.database import Database
from autoprog.storage.tables import SearchRow
from tests.api.searching import Driver, make_search
from tests.pages.test_frame import BROWSER

PHASES = {
    Phase.META_FEATURES: "Reading the cohort",
    Phase.SEARCH: "Trying pipelines",
    Phase.ENSEMBLE: "Fitting the model",
    Phase.VALIDATION: "Judging the model",
    Phase.RULES: "Looking for rules",
}


def test_a_running_search_says_what_it_does(client: TestClient, driver: Driver) -> None:
    address = f"/searches/{make_search(client)['id']}"

    def state() -> str:
        said = {
            client.get(path, headers=BROWSER).text.split('role="status"><strong>')[1].split("</strong>")[0]
            for path in (address, f"{address}/progress")
        }
        assert len(said) == 1
        return said.pop()

    assert state() == "Waiting for its turn"
    claim = driver.claim()
    assert state() == "Starting"
    for phase in Phase:
        driver.store.record_phase(claim, phase)
        assert state() == PHASES[phase]


def test_time_left_is_that_of_the_budget_or_less_at_the_pace_so_far(
    client: TestClient, driver: Driver, database: Database
) -> None:
    search = make_search(client, budget={"time_s": 100, "evaluations": 8})
    address = f"/searches/{search['id']}/progress"
    assert "<dt>Time left</dt><dd>–</dd>" in client.get(address).text
    claim = driver.claim()
    with database.session() as session:  # the clock stands still
        session.execute(update(SearchRow).values(spent_s=40.0, heard_at=None))
    running = client.get(address).text
    assert "<dt>Time left</dt><dd>about 60 s</dd>" in running
    assert '<progress max="100.0" value="40.0"' in running
    driver.explore(claim, *[Status.SUCCEEDED] * 4, Status.TIMEOUT)
    running = client.get(address).text
    assert "<dt>Time left</dt><dd>about 24 s</dd>" in running, "3 of 8 pipelines, of which 5 took 40 s"
    assert "<dd>4 " in running
    assert "and 1 without a score" in running


def test_a_search_that_is_being_stopped_says_so(client: TestClient, driver: Driver) -> None:
    address, said = f"/searches/{make_search(client)['id']}", "The search is being stopped"
    driver.explore(driver.claim(), Status.SUCCEEDED)
    running = client.get(address, headers=BROWSER).text
    assert (said in running, "Stop now" in running) == (False, True)
    stopping = client.post(f"{address}/stop", headers=BROWSER).text
    assert (said in stopping, "Stop now" in stopping) == (True, False)
    assert said in client.get(f"{address}/progress").text


def test_best_score_never_gets_worse_and_the_simple_pipeline_is_number_0() -> None:
    plot = draw_progress([(0, 0.7), (1, 0.6), (2, 0.8), (4, 0.75)], greater_is_better=True)
    assert plot is not None
    assert (plot.simple, plot.last) == (0.7, 0.8)
    heights = [float(point.split(",")[1]) for point in plot.best.split()]
    assert heights == sorted(heights, reverse=True), "upwards is a smaller v"
    smaller = draw_progress([(0, 0.2), (1, 0.3), (2, 0.1)], greater_is_better=False)
    assert smaller is not None
    assert smaller.last == 0.1


def test_no_other_pipeline_stands_for_the_simple_one() -> None:
    plot = draw_progress([(1, 0.6), (2, 0.8)], greater_is_better=True)
    assert plot is not None
    assert plot.simple is None
    assert draw_progress([], greater_is_better=True) is None
