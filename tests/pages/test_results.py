"""Results as pages: a model that knows nothing says so, and its strata and rules are withheld."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.pages.searches.results import choose_rules, find_doubts, list_horizons
from autoprog.endpoints import rules_document
from autoprog.evaluation import Status
from autoprog.model import external_validation
from autoprog.performance import THRESHOLDS
from autoprog.storage.database import Database
from autoprog.storage.tables import SearchRow
from tests.api.searching import Driver, make_search, multipart, patient, simple_result
from tests.cohorts import event_cohort, event_file, event_spec
from tests.event_models import cox_model
from tests.pages.test_frame import BROWSER

NOTHING = "This model knows nothing"


@pytest.fixture
def search(client: TestClient, driver: Driver) -> dict[str, Any]:
    made = make_search(client)
    driver.run()
    found: dict[str, Any] = client.get(f"/v1/searches/{made['id']}").json()
    return found


def forget(database: Database, search_id: str) -> None:
    """Let the stored result be that of a model that knows nothing."""
    with database.session() as session:
        row = session.get_one(SearchRow, search_id)
        assert row.ensemble is not None
        measures = row.ensemble["performance"]
        ends = {**measures["intervals"], "auc_roc": {"lower": 0.46, "upper": 0.61}}
        row.ensemble = {**row.ensemble, "performance": {**measures, "intervals": ends, "brier_skill": -0.01}}


def test_a_result_links_its_report_in_every_form(client: TestClient, search: dict[str, Any]) -> None:
    for page in (f"/searches/{search['id']}", f"/models/{search['model_id']}"):
        text = client.get(page, headers=BROWSER).text
        at = f'href="/searches/{search["id"]}/report'
        for link in (f'{at}"', f'{at}?format=docx"', f'{at}?format=md"'):
            assert link in text


def test_a_search_that_found_nothing_better_says_that_the_model_is_the_simple_one(
    client: TestClient, database: Database, search: dict[str, Any]
) -> None:
    page = f"/searches/{search['id']}"
    with database.session() as session:
        row = session.get_one(SearchRow, search["id"])
        assert row.ensemble is not None
        (member,) = row.ensemble["members"]
        simple = {**row.ensemble["baseline"], "configuration": member["configuration"]}
        gain = {"auc_roc": {"estimate": 0.013, "lower": 0.000486, "upper": 0.026}}
        row.ensemble = {**row.ensemble, "baseline": simple, "gain_over_baseline": gain}
    text = client.get(page, headers=BROWSER).text
    assert "The model is the simple model: the search found nothing better." in text
    assert "0.0130 " in text
    assert "0.0005 to 0.0260" in text


def test_every_link_leads_to_a_page(client: TestClient, search: dict[str, Any]) -> None:
    waiting, seen = ["/", f"/searches/{search['id']}"], set()
    while waiting:
        address = waiting.pop()
        if address in seen or address.endswith("docx"):  # takes seconds, and has tests of its own
            continue
        seen.add(address)
        page = client.get(address, headers=BROWSER)
        assert page.status_code == 200, address
        if not address.startswith("/v1/"):
            waiting += [html.unescape(link) for link in re.findall(r'<a [^>]*href="(/[^"#]*)', page.text)]
    assert f"/models/{search['model_id']}" in seen


def test_an_ended_search_goes_on_with_more_time(client: TestClient, driver: Driver, search: dict[str, Any]) -> None:
    address = f"/searches/{search['id']}"
    page = client.get(address, headers=BROWSER).text
    form = re.search(rf'<form method="post" action="({address}/continue)".*?</form>', page, re.DOTALL)
    assert form is not None
    offered = re.findall(r'name="minutes" value="(\d+)"', form[0])
    assert offered == ["1", "5", "15"]
    refused = client.post(form[1], data={"minutes": "7"}, headers=BROWSER)
    assert refused.status_code == 422
    assert "choose one of 1, 5, 15 minutes" in refused.text
    token = re.search(r'name="once" value="(\w+)"', form[0])
    assert token is not None
    fields = {"minutes": offered[1], "once": token[1]}
    sent, again = (client.post(form[1], data=fields, headers=BROWSER, follow_redirects=False) for _ in range(2))
    assert sent.status_code == 303
    assert again.headers["location"] == sent.headers["location"], "a second press starts no other search"
    further = sent.headers["location"]
    assert "Waiting for its turn" in client.get(further, headers=BROWSER).text
    queued = client.get(f"/v1{further}").json()
    assert (queued["continues"], queued["settings"]["budget"]["time_s"]) == (search["id"], 300)
    assert queued["progress"]["evaluations"]["succeeded"] == 1, "what was found is not lost"
    driver.run(Status.SUCCEEDED, Status.SUCCEEDED)
    done = client.get(f"/v1{further}").json()
    assert done["progress"]["evaluations"]["succeeded"] == 2
    model_id = done["model_id"]
    assert f'href="/models/{model_id}/calculator"' in client.get(further, headers=BROWSER).text
    assert client.get(f"/v1{address}").json() == search


def test_a_model_that_knows_something_shows_its_strata_and_rules(client: TestClient, search: dict[str, Any]) -> None:
    assert NOTHING not in client.get(f"/searches/{search['id']}", headers=BROWSER).text
    assert "stratum:" in calculated(client, search["model_id"])


def test_a_model_that_knows_nothing_says_so_and_withholds_them(
    client: TestClient, database: Database, search: dict[str, Any]
) -> None:
    forget(database, search["id"])
    for page in (
        f"/searches/{search['id']}", f"/models/{search['model_id']}", f"/models/{search['model_id']}/calculator"
    ):  # fmt: skip
        text = client.get(page, headers=BROWSER).text
        first = text.index("Read this first")
        assert first < text.index(NOTHING) < text.index("0.460 to 0.610") < text.index("Brier skill is −0.010")
        assert "Rules for the risk strata" not in text
        assert "stratum:" not in text
    answer = calculated(client, search["model_id"])
    assert "stratum:" not in answer
    assert "Rules that this patient meets" not in answer


def test_a_model_that_knows_nothing_is_not_called_better_than_the_simple_one(
    client: TestClient, database: Database, search: dict[str, Any]
) -> None:
    forget(database, search["id"])
    with database.session() as session:
        row = session.get_one(SearchRow, search["id"])
        assert row.ensemble is not None
        other = {**row.ensemble["baseline"], "configuration": {}}
        gain = {"brier": {"estimate": -0.013, "lower": -0.023, "upper": -0.002}}
        row.ensemble = {**row.ensemble, "baseline": other, "gain_over_baseline": gain}
    text = client.get(f"/searches/{search['id']}", headers=BROWSER).text
    assert "It differs from the simple model on these patients, but" in text
    assert "Yes, on these patients" not in text


def calculated(client: TestClient, model_id: str) -> str:
    known = {f"x-{i}": str(value) for i, value in enumerate(patient().values()) if value is not None}
    return client.post(f"/models/{model_id}/calculator", data=known, headers={"HX-Request": "true"}).text


def test_rules_are_those_of_the_last_horizon_that_knows_something() -> None:
    def horizon(time: float, skill: float) -> dict[str, Any]:
        ends = {"auc": {"lower": 0.6, "upper": 0.8}}
        return {"horizon": time, "performance": {"brier_skill": skill, "intervals": ends}}

    rules = {"rules": [{"horizon": 1.0, "n": 1}, {"horizon": 2.0, "n": 2}, {"horizon": 2.0, "n": 3}]}
    everywhere = find_doubts({"horizons": [horizon(1.0, 0.2), horizon(2.0, 0.1)]})
    assert everywhere.doubts == ()
    assert [rule["n"] for rule in choose_rules(rules, everywhere)] == [2, 3]
    partly = find_doubts({"horizons": [horizon(1.0, 0.2), horizon(2.0, 0.0)]})
    assert [doubt.time for doubt in partly.doubts] == [2.0]
    assert not partly.is_nothing
    assert [rule["n"] for rule in choose_rules(rules, partly)] == [1]
    nowhere = find_doubts({"horizons": [horizon(1.0, -0.2), horizon(2.0, 0.0)]})
    assert nowhere.is_nothing
    assert choose_rules(rules, nowhere) == []
    assert find_doubts(None).doubts == ()


@pytest.mark.parametrize("name", ["veteran", "bmt137"])  # the second has a competing cause
def test_risks_of_event_times_have_a_calibration_curve_at_every_horizon(
    client: TestClient, driver: Driver, name: str
) -> None:
    cohort = event_cohort(name)
    model = cox_model(cohort)
    measured = external_validation(model, cohort, THRESHOLDS)
    score = measured["scores"]["time_dependent_auc"]
    ensemble = {**measured, "score": score, "rule": "model_averaging", "members": [], "baseline": None}
    made = client.post("/v1/searches", files=multipart(event_spec(name), event_file(name)))
    assert made.status_code == 202, made.text
    rules = rules_document(model.rule_sets, model.horizons)
    claim = driver.claim()
    driver.store.finish(
        claim,
        replace(simple_result()[0], model=model, ensemble=ensemble, rules=rules, decomposition=None),
        cancelled=False,
    )
    result = client.get(f"/searches/{made.json()['id']}", headers=BROWSER)
    search = client.get(f"/v1/searches/{made.json()['id']}").json()
    asked = {"cohort": search["cohort_id"]}
    validation = client.post(f"/models/{search['model_id']}/validate", data=asked, headers=BROWSER)
    for page in (result, validation):
        assert page.status_code == 200, page.text
        assert page.text.count("Calibration: do the risks come true?") == len(cohort.horizons)


def test_the_band_of_the_decision_curve_is_drawn_to_its_top() -> None:
    curve = {
        "thresholds": [0.1, 0.2, 0.3],
        "range": [0.1, 0.3],
        "model": [0.3, 0.2, 0.1],
        "model_interval": {"lower": [0.2, 0.1, -0.5], "upper": [0.6, 0.4, 0.2]},
    }
    (found,) = list_horizons({"net_benefit": curve})
    assert found.decisions is not None
    assert found.decisions.band is not None
    heights = [float(point.split(",")[1]) for point in found.decisions.band.split()]
    assert min(heights) >= 0
    assert found.decisions.down.place(0.6) == pytest.approx(min(heights), abs=0.1)
