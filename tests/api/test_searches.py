"""Searches over HTTP, from the queue to the report."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from api.searches.schemas import EnsembleDocument
from autoprog.evaluation import Status
from autoprog.optimizer import Start
from autoprog.space import Configuration, Step
from autoprog.storage.database import Database
from autoprog.storage.tables import SearchRow
from tests.api.searching import (
    FILE,
    SIMPLE,
    SMALL_SPEC,
    SPEC,
    Driver,
    make_cohort,
    make_search,
    multipart,
    patient,
    pointers,
    simple_result,
    table,
)

RARE = table("age,died", *(f"{40 + i % 9},{int(i < 7)}" for i in range(40)))
RARE_SPEC = {"name": "rare", "outcome": {"column": "died", "positive": 1}}


def test_a_search_is_queued_with_its_settings_settled(client: TestClient) -> None:
    cohort = make_cohort(client)
    settings = {"metric": "brier", "budget": {"evaluations": 7}, "space": {"prediction": ["logistic_regression"]}}
    response = client.post("/v1/searches", json={"cohort_id": cohort["id"], **settings})
    assert response.status_code == 202
    search = response.json()
    assert response.headers["location"] == f"/v1/searches/{search['id']}"
    assert int(response.headers["retry-after"]) >= 1
    assert set(search) == {
        "id", "cohort_id", "model_id", "continues", "status", "phase", "progress", "account", "settings", "start",
        "warnings", "error", "created_at", "started_at", "finished_at",
    }  # fmt: skip
    assert (search["status"], search["cohort_id"], search["model_id"]) == ("queued", cohort["id"], None)
    assert search["settings"]["folds"] == 5
    assert search["settings"]["budget"] == {"evaluations": 7, "time_s": 600.0}
    assert search["progress"] == {
        "evaluations": {"succeeded": 0, "failed": 0, "budget": 7}, "elapsed_s": 0.0, "eta_s": None, "best_score": None,
    }  # fmt: skip
    assert client.get(response.headers["location"]).json() == search


def test_what_a_search_began_with_is_shown(client: TestClient) -> None:
    search = client.post("/v1/searches", json={"cohort_id": make_cohort(client)["id"]}).json()
    assert search["start"] is None
    simple = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))
    start = Start((simple,), {"prediction/ridge": 0.3}, {"subspaces": 5}, trust=0.4, n_cohorts=3)
    database: Database = client.app.state.context.database  # type: ignore[attr-defined]
    with database.session() as session:
        session.get_one(SearchRow, search["id"]).start = start.to_json()
    shown = client.get(f"/v1/searches/{search['id']}").json()["start"]
    assert shown == {"n_cohorts": 3, "trust": 0.4, "portfolio": [simple.to_json()]}


@pytest.mark.parametrize("asked", [{}, {"metric": "net_benefit", "thresholds": [0.02, 0.1]}])
def test_thresholds_are_a_setting_of_every_search(client: TestClient, asked: dict[str, object]) -> None:
    search = make_search(client, **asked)
    assert search["settings"]["thresholds"] == asked.get("thresholds", [0.05, 0.2])
    assert search["settings"]["metric"] == asked.get("metric", "auc_roc")


def test_a_file_becomes_a_cohort_and_a_search_in_one_call(client: TestClient) -> None:
    response = client.post("/v1/searches", files=multipart(search={"seed": 3}))
    assert response.status_code == 202
    assert response.json()["settings"]["seed"] == 3
    assert client.get(f"/v1/cohorts/{response.json()['cohort_id']}").json()["n_patients"] == 303


def test_the_part_with_the_settings_may_be_left_out(client: TestClient) -> None:
    assert client.post("/v1/searches", files=multipart()).status_code == 202


def test_the_faults_of_all_parts_come_in_one_answer(client: TestClient) -> None:
    content = table("age,died", *(f"{i},{i % 2}" for i in range(40)), "inf,1")
    spec = {**SMALL_SPEC, "ignore": ["weight"]}
    response = client.post("/v1/searches", files=multipart(spec, content, search={"folds": 1, "sead": 0}))
    assert response.status_code == 422
    expected = {"/spec/ignore/0", "/file/columns/age", "/search/folds", "/search/sead"}
    assert expected <= set(pointers(response))
    assert client.get("/v1/cohorts").json()["items"] == []


@pytest.mark.parametrize("uploaded", [True, False])
def test_a_setting_that_cannot_be_does_not_hide_what_the_cohort_cannot_bear(client: TestClient, uploaded: bool) -> None:
    settings = {"seed": -1, "sead": 0, "space": {"prediction": ["oracle"]}, "metric": "uno_c"}
    if uploaded:
        response = client.post("/v1/searches", files=multipart(search=settings))
    else:
        response = client.post("/v1/searches", json={"cohort_id": make_cohort(client)["id"], **settings})
    assert response.status_code == 422
    prefix = "/search" if uploaded else ""
    assert set(pointers(response)) == {f"{prefix}/{key}" for key in ("seed", "sead", "space/prediction", "metric")}


def test_what_an_unusable_setting_would_decide_is_not_judged_by_its_default(client: TestClient) -> None:
    settings = {"reduction": "none", "space": {"prediction": ["oracle"]}}
    response = client.post("/v1/searches", files=multipart(search=settings))
    assert pointers(response) == ["/search/reduction"]


def test_what_the_cohort_cannot_bear_is_a_fault_of_the_settings(client: TestClient) -> None:
    settings = {"folds": 8, "space": {"prediction": ["oracle"]}, "strata": {"high": 0.1, "medium": 0.3}}
    response = client.post("/v1/searches", files=multipart(RARE_SPEC, RARE, search=settings))
    assert response.status_code == 422
    faults = {fault["pointer"]: fault["detail"] for fault in response.json()["errors"]}
    assert set(faults) == {"/search/folds", "/search/space/prediction", "/search/strata/medium"}
    assert "8" in faults["/search/folds"]
    assert "7" in faults["/search/folds"]
    assert "oracle" in faults["/search/space/prediction"]
    assert client.get("/v1/cohorts").json()["items"] == []


def test_default_folds_are_lowered_with_a_warning(client: TestClient) -> None:
    groups = table("age,clinic,died", *(f"{40 + i % 9},{i % 4},{int(i < 20)}" for i in range(40)))
    spec = {**RARE_SPEC, "groups": "clinic"}
    search = client.post("/v1/searches", files=multipart(spec, groups)).json()
    assert search["settings"]["folds"] == 4
    assert any("4" in warning for warning in search["warnings"])


@pytest.mark.parametrize(
    ("settings", "pointer"),
    [
        ({"metric": "c_index"}, "/metric"),
        ({"thresholds": [0.3, 0.1]}, "/thresholds"),
        ({"thresholds": [0, 0.1]}, "/thresholds/0"),
        ({"thresholds": [0.1]}, "/thresholds/1"),
        ({"budget": {"evaluations": 0}}, "/budget/evaluations"),
        ({"limits": {"memory_mb": "lots"}}, "/limits/memory_mb"),
        ({"space": {"predicton": ["ridge"]}}, "/space/predicton"),
        ({"space": {"prediction": []}}, "/space/prediction"),
        ({"folds": 140}, "/folds"),
        ({"surprise": 1}, "/surprise"),
    ],
)
def test_a_bad_setting_is_a_fault_with_its_pointer(
    client: TestClient, settings: dict[str, object], pointer: str
) -> None:
    response = client.post("/v1/searches", json={"cohort_id": make_cohort(client)["id"], **settings})
    assert response.status_code == 422
    assert pointers(response) == [pointer]


@pytest.mark.parametrize("cohort_id", ["0" * 32, "nothing", "a\x00b", ""])
def test_an_unknown_cohort_is_not_found(client: TestClient, cohort_id: str) -> None:
    assert client.post("/v1/searches", json={"cohort_id": cohort_id}).status_code == 404


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"cohort_id": NaN}', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_search_is_a_fault(client: TestClient, content: bytes) -> None:
    response = client.post("/v1/searches", content=content, headers={"Content-Type": "application/json"})
    assert response.status_code == 422


def test_other_bodies_are_unsupported(client: TestClient) -> None:
    response = client.post("/v1/searches", content=b"a=1", headers={"Content-Type": "text/plain"})
    assert response.status_code == 415


def test_progress_is_told_while_a_search_runs(client: TestClient, driver: Driver) -> None:
    search = make_search(client, budget={"evaluations": 40, "time_s": 3600})
    claim = driver.claim()
    driver.explore(claim, Status.SUCCEEDED, Status.TIMEOUT, Status.SUCCEEDED, Status.MEMORY, Status.INVALID)
    now = client.get(f"/v1/searches/{search['id']}").json()
    assert (now["status"], now["phase"]) == ("running", "search")
    assert now["progress"]["evaluations"] == {"succeeded": 2, "failed": 3, "budget": 40}
    assert now["account"] == {"timeout": 1, "memory": 1, "crashed": 0, "invalid": 1, "raced_out": 0, "cancelled": 0}
    assert now["progress"]["best_score"] == pytest.approx(simple_result()[1].score)
    assert now["progress"]["elapsed_s"] > 0
    assert now["progress"]["eta_s"] == pytest.approx(now["progress"]["elapsed_s"] * 35 / 5)
    assert now["started_at"] is not None
    assert now["finished_at"] is None


def test_the_time_budget_bounds_the_expected_end(client: TestClient, driver: Driver) -> None:
    search = make_search(client, budget={"evaluations": 10_000, "time_s": 5})
    driver.claim()
    progress = client.get(f"/v1/searches/{search['id']}").json()["progress"]
    assert progress["eta_s"] == pytest.approx(5 - progress["elapsed_s"])


def test_a_finished_search_shows_its_results(client: TestClient, driver: Driver) -> None:
    search = make_search(client)
    driver.run(Status.SUCCEEDED, Status.TIMEOUT)
    result, _ = simple_result()
    done = client.get(f"/v1/searches/{search['id']}").json()
    assert (done["status"], done["phase"], done["progress"]["eta_s"]) == ("succeeded", None, None)
    assert "a warning of the end" in done["warnings"]
    ensemble = client.get(f"/v1/searches/{search['id']}/ensemble").json()
    assert ensemble == EnsembleDocument.model_validate(result.ensemble).model_dump(mode="json")
    assert ensemble["members"] == result.ensemble["members"]
    rules = client.get(f"/v1/searches/{search['id']}/rules").json()
    assert rules == {**result.rules, "horizons": [], "strata": [{**s, "horizon": None} for s in result.rules["strata"]]}
    assert rules["rules"]
    assert client.get(f"/v1/searches/{search['id']}/decomposition").json() == result.decomposition


def test_an_ensemble_of_before_measures_were_told_is_still_shown(client: TestClient, driver: Driver) -> None:
    search = make_search(client)
    claim = driver.claim()
    driver.explore(claim, Status.SUCCEEDED)
    result, _ = simple_result()
    baseline = {key: result.ensemble["baseline"][key] for key in ("configuration", "score")}
    old = {**{key: result.ensemble[key] for key in ("members", "score", "calibration")}, "baseline": baseline}
    driver.store.finish(claim, replace(result, ensemble=old), cancelled=False)
    shown = client.get(f"/v1/searches/{search['id']}/ensemble").json()
    assert (shown["performance"], shown["net_benefit"], shown["baseline"]["performance"]) == (None, None, None)
    assert client.get(f"/v1/searches/{search['id']}/report").status_code == 200


@pytest.mark.parametrize("result", ["ensemble", "rules", "decomposition", "report"])
def test_results_that_are_not_there_yet_are_a_conflict(client: TestClient, driver: Driver, result: str) -> None:
    path = f"/v1/searches/{make_search(client)['id']}"
    queued = client.get(f"{path}/{result}")
    assert (queued.status_code, queued.json()["type"]) == (409, "/problems/conflict")
    assert "queued" in queued.json()["detail"]
    claim = driver.claim()
    assert "running" in client.get(f"{path}/{result}").json()["detail"]
    driver.store.fail(claim, "search-failed", "no evaluation succeeded: 3 timeout")
    failed = client.get(f"{path}/{result}")
    assert (failed.status_code, "failed" in failed.json()["detail"]) == (409, True)


def test_a_failed_search_tells_its_problem(client: TestClient, driver: Driver) -> None:
    search = make_search(client)
    driver.store.fail(driver.claim(), "search-failed", "no evaluation succeeded: 3 timeout")
    done = client.get(f"/v1/searches/{search['id']}").json()
    assert done["status"] == "failed"
    assert done["error"]["type"] == "/problems/search-failed"
    assert done["error"]["detail"] == "no evaluation succeeded: 3 timeout"


def test_evaluations_are_listed_by_number_or_by_score(client: TestClient, driver: Driver) -> None:
    path = f"/v1/searches/{make_search(client)['id']}/evaluations"
    driver.explore(driver.claim(), Status.TIMEOUT, Status.SUCCEEDED, Status.SUCCEEDED, Status.CRASHED)
    created = client.get(path).json()
    assert [item["id"] for item in created["items"]] == ["0", "1", "2", "3"]
    assert created["next_cursor"] is None
    timeout, best = created["items"][:2]
    assert (timeout["status"], timeout["score"], timeout["fold_scores"]) == ("timeout", None, [])
    assert timeout["reason"] == "as the test says"
    assert best["configuration"] == SIMPLE.to_json()
    assert len(best["fold_scores"]) == 5
    by_score = client.get(path, params={"sort": "score"}).json()["items"]
    assert [item["id"] for item in by_score] == ["1", "2", "0", "3"]


@pytest.mark.parametrize("sort", ["created", "score"])
def test_a_cursor_leads_through_all_evaluations_once(client: TestClient, driver: Driver, sort: str) -> None:
    path = f"/v1/searches/{make_search(client)['id']}/evaluations"
    driver.explore(driver.claim(), *([Status.SUCCEEDED, Status.TIMEOUT] * 4))
    whole = client.get(path, params={"sort": sort}).json()["items"]
    seen, cursor = [], None
    for _ in range(3):
        page = client.get(path, params={"sort": sort, "limit": 3, **({"cursor": cursor} if cursor else {})}).json()
        seen += page["items"]
        cursor = page["next_cursor"]
    assert seen == whole
    assert cursor is None


def test_a_queued_search_is_cancelled_at_once(client: TestClient) -> None:
    path = f"/v1/searches/{make_search(client)['id']}"
    response = client.post(f"{path}/cancel")
    assert response.status_code == 202
    assert response.headers["location"] == path
    assert response.json()["status"] == "cancelled"
    assert client.post(f"{path}/cancel").status_code == 202


def test_a_running_search_hears_of_its_cancellation(client: TestClient, driver: Driver) -> None:
    path = f"/v1/searches/{make_search(client)['id']}"
    claim = driver.claim()
    assert client.post(f"{path}/cancel").json()["status"] == "running"
    assert driver.store.heartbeat(claim, 60.0)


def test_a_finished_search_cannot_be_cancelled(client: TestClient, driver: Driver) -> None:
    path = f"/v1/searches/{make_search(client)['id']}"
    driver.run()
    assert client.post(f"{path}/cancel").status_code == 409


def test_a_running_search_is_not_deleted(client: TestClient, driver: Driver) -> None:
    path = f"/v1/searches/{make_search(client)['id']}"
    claim = driver.claim()
    assert client.delete(path).status_code == 409
    driver.explore(claim, Status.SUCCEEDED)
    driver.finish(claim)
    model_id = client.get(path).json()["model_id"]
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404
    assert client.get(f"/v1/models/{model_id}").json()["search_id"] is None


def test_searches_are_listed_in_order_of_creation(client: TestClient) -> None:
    cohort_id = make_cohort(client)["id"]
    made = [client.post("/v1/searches", json={"cohort_id": cohort_id, "seed": i}).json()["id"] for i in range(5)]
    first = client.get("/v1/searches", params={"limit": 3}).json()
    second = client.get("/v1/searches", params={"limit": 3, "cursor": first["next_cursor"]}).json()
    assert [item["id"] for item in first["items"] + second["items"]] == made
    assert second["next_cursor"] is None


def test_predictions_of_a_search_are_those_of_its_model(client: TestClient, driver: Driver) -> None:
    path = f"/v1/searches/{make_search(client)['id']}"
    body = {"patients": [patient()]}
    assert client.post(f"{path}/predictions", json=body).status_code == 409
    driver.run()
    model_id = client.get(path).json()["model_id"]
    response = client.post(f"{path}/predictions", json=body)
    assert response.status_code == 200
    assert response.json() == client.post(f"/v1/models/{model_id}/predictions", json=body).json()
    assert response.json()["model_id"] == model_id
    client.delete(f"/v1/models/{model_id}")
    assert client.post(f"{path}/predictions", json=body).status_code == 409


def test_the_report_is_one_escaped_page(client: TestClient, driver: Driver) -> None:
    spec = {**SPEC, "name": "<script>alert(1)</script>"}
    search = client.post("/v1/searches", files=multipart(spec, FILE)).json()
    driver.run(Status.SUCCEEDED, Status.TIMEOUT)
    response = client.get(f"/v1/searches/{search['id']}/report")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"].startswith("default-src 'none'")
    page = response.text
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "src=" not in page
    assert "a warning of the end" in page
    assert "logistic_regression" in page
    assert "90 % interval" in page


def test_a_search_goes_on_as_a_new_one(client: TestClient, driver: Driver) -> None:
    search = make_search(client, seed=3)
    early = client.post(f"/v1/searches/{search['id']}/continuations", json={"time_s": 60})
    assert early.status_code == 409
    assert early.json()["detail"] == "the search is queued: it can be continued when it has ended"
    driver.run(Status.SUCCEEDED, Status.CANCELLED)
    ended = client.get(f"/v1/searches/{search['id']}").json()
    response = client.post(
        f"/v1/searches/{search['id']}/continuations",
        json={"time_s": 90, "evaluations": 20},
        headers={"Idempotency-Key": "a"},
    )
    assert response.status_code == 202
    more = response.json()
    assert response.headers["location"] == f"/v1/searches/{more['id']}"
    assert (more["continues"], more["status"], more["model_id"]) == (search["id"], "queued", None)
    assert more["settings"] == {**ended["settings"], "budget": {"time_s": 90.0, "evaluations": 20}}
    assert more["progress"]["evaluations"] == {"succeeded": 1, "failed": 0, "budget": 20}
    assert client.get(f"/v1/searches/{search['id']}").json() == ended
    again = client.post(
        f"/v1/searches/{search['id']}/continuations",
        json={"time_s": 90, "evaluations": 20},
        headers={"Idempotency-Key": "a"},
    )
    assert again.json() == more
    assert client.delete(f"/v1/searches/{search['id']}").status_code == 204
    assert client.get(f"/v1/searches/{more['id']}").json()["continues"] is None


@pytest.mark.parametrize(
    ("body", "status", "where"),
    [
        ({}, 422, ["/time_s"]),
        ({"time_s": 0, "evaluations": -1, "seconds": 3}, 422, ["/evaluations", "/seconds", "/time_s"]),
    ],
)
def test_a_continuation_is_refused_with_every_fault(
    client: TestClient, driver: Driver, body: dict[str, object], status: int, where: list[str]
) -> None:
    search = make_search(client)
    driver.run()
    response = client.post(f"/v1/searches/{search['id']}/continuations", json=body)
    assert response.status_code == status
    assert sorted(pointers(response)) == where


def test_nothing_cannot_be_delivered_again(client: TestClient, driver: Driver) -> None:
    search = make_search(client)
    driver.run()  # writes evaluations without a proposal
    response = client.post(f"/v1/searches/{search['id']}/continuations", json={"time_s": 60, "evaluations": 0})
    assert response.status_code == 409
    assert client.post("/v1/searches/none/continuations", json={"time_s": 60}).status_code == 404
