"""Cohorts over HTTP: what is made, what is shown back, what is refused."""

from __future__ import annotations

import gzip
import hashlib
import json
import tracemalloc

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from autoprog.cohort import from_parquet
from autoprog.errors import ArtifactError
from autoprog.evaluation import Status
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from tests.api.conftest import LOCAL
from tests.api.searching import (
    FILE,
    SMALL,
    SMALL_SPEC,
    SPEC,
    Driver,
    make_cohort,
    make_search,
    multipart,
    pointers,
    table,
)
from tests.cohorts import cleveland_cohort


def test_a_cohort_is_made_and_shown_back(client: TestClient, files: Files) -> None:
    response = client.post("/v1/cohorts", files=multipart())
    assert response.status_code == 201
    document = response.json()
    assert response.headers["location"] == f"/v1/cohorts/{document['id']}"
    assert document["name"] == "Cleveland heart disease"
    assert (document["n_patients"], document["n_rows"], document["n_dropped"]) == (303, 303, 0)
    assert document["event_rate"] == pytest.approx(139 / 303)
    assert document["outcome"] == {"column": "outcome", "positive": "1", "negative": "0", "label": None}
    assert len(document["features"]) == 13
    assert document["features"][0] == {
        "name": "age", "kind": "numeric", "unit": "years", "meta_group": "demographics", "levels": [],
        "missing_fraction": 0.0, "minimum": 29.0, "maximum": 77.0, "label": None,
    }  # fmt: skip
    assert document["sample_size"]["verdict"] == "insufficient"
    assert document["sample_size"]["riley_minimum"] * 10 == document["sample_size"]["flexible_minimum"]
    assert document["sample_size"]["validation_minimum"] > 100
    content = files.get("cohorts", document["sha256"])
    assert hashlib.sha256(content).hexdigest() == document["sha256"]
    assert from_parquet(content).n_patients == cleveland_cohort().n_patients
    assert client.get(response.headers["location"]).json() == document


@pytest.mark.parametrize("content", [gzip.decompress(FILE), FILE], ids=["csv", "gzip"])
def test_the_file_is_told_by_its_content(client: TestClient, content: bytes) -> None:
    parts = [("file", ("patients.parquet", content, "application/pdf")), *multipart()[1:]]
    assert client.post("/v1/cohorts", files=parts).status_code == 201


def test_the_spec_may_come_as_a_file_part(client: TestClient) -> None:
    parts = [("file", ("x", FILE)), ("spec", ("spec.json", json.dumps(SPEC)))]
    assert client.post("/v1/cohorts", files=parts).status_code == 201


def test_rows_without_an_outcome_are_dropped_and_warned_of(client: TestClient) -> None:
    response = client.post("/v1/cohorts", files=multipart(SMALL_SPEC, table(*SMALL, "99,m,")))
    document = response.json()
    assert (document["n_rows"], document["n_patients"], document["n_dropped"]) == (21, 20, 1)
    assert any("dropped" in warning for warning in document["warnings"])


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        (b"", "/file"),
        (b"age,sex,died\n", "/file"),
        (table("age,age,died", *SMALL[1:]), "/file"),
        (table(*SMALL, "50,m"), "/file"),
        (table(*SMALL).replace(b",m,", b",\x81\x8d,", 1), "/file"),
        (table("age,sex,dead", *SMALL[1:]), "/spec/outcome/column"),
        (table("age,sex,died", *(f"{i},m,1" for i in range(20))), "/file/columns/died"),
        (table(*SMALL, "50,m,2"), "/file/columns/died"),
        (table(*SMALL, *(["50,m,"] * 30)), "/file/columns/died"),
        (table(*SMALL, "inf,m,1"), "/file/columns/age"),
        (table(*SMALL, "old,m,1"), "/file/columns/age"),
        (table("age,sex,died", *(f"{i},m,{int(i < 4)}" for i in range(20))), "/file/columns/died"),
        (table(",".join([f"c{i}" for i in range(5001)] + ["died"]), *(["1," * 5001 + "1"] * 2)), "/file"),
    ],
    ids=[
        "empty", "header only", "duplicate names", "ragged", "encoding", "outcome absent", "outcome constant",
        "outcome of three values", "outcome mostly missing", "infinite", "words", "small class", "too many columns",
    ],
)  # fmt: skip
def test_a_bad_file_is_a_problem_that_names_the_place(client: TestClient, content: bytes, pointer: str) -> None:
    response = client.post("/v1/cohorts", files=multipart(SMALL_SPEC, content))
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["type"] == "/problems/invalid-input"
    assert pointer in pointers(response)
    assert client.get("/v1/cohorts").json()["items"] == []


def test_all_faults_of_file_and_spec_come_in_one_answer(client: TestClient) -> None:
    spec = {**SMALL_SPEC, "ignore": ["weight"], "features": {"height": {"kind": "numeric"}}}
    response = client.post("/v1/cohorts", files=multipart(spec, table(*SMALL, "old,m,1", "inf,f,0")))
    assert response.status_code == 422
    assert {"/spec/ignore/0", "/spec/features/height", "/file/columns/age"} <= set(pointers(response))


@pytest.mark.parametrize(
    ("spec", "content"),
    [
        (SMALL_SPEC, table(*SMALL, "secret,m,1")),
        (SMALL_SPEC, table(*SMALL, "50,m,secret")),
        ({**SMALL_SPEC, "features": {"sex": {"kind": "binary"}}}, table(*SMALL, "50,secret,1")),
        ({**SMALL_SPEC, "features": {"sex": {"kind": "ordinal", "levels": ["f", "m"]}}}, table(*SMALL, "5,secret,1")),
        (
            {"name": "times", "mode": "survival", "outcome": {"time": "age", "event": "died"}},
            table(*SMALL, "50,m,secret"),
        ),
    ],
    ids=["number", "outcome", "binary", "ordinal", "event"],
)
def test_a_fault_tells_the_row_of_a_cell_and_quotes_it_to_the_owner_alone(
    client: TestClient, spec: dict[str, object], content: bytes
) -> None:
    key = {"Idempotency-Key": "quoted-once"}
    response = client.post("/v1/cohorts", files=multipart(spec, content), headers=key)
    assert response.status_code == 422
    faults = response.json()["errors"]
    assert any("'secret'" in fault.get("values", ()) for fault in faults)
    assert not any("secret" in fault["detail"] for fault in faults)
    again = client.post("/v1/cohorts", files=multipart(spec, content), headers=key)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "secret" not in again.text  # the database must not hold it
    assert f"row {len(SMALL) + 1}" in response.text or f", {len(SMALL) + 1}" in response.text


def test_the_place_of_a_name_that_is_no_columns_is_the_name(client: TestClient) -> None:
    response = client.post("/v1/cohorts", files=multipart({**SMALL_SPEC, "features": {"x" * 201: {}}}))
    assert pointers(response) == ["/spec/features/" + "x" * 201]


def test_all_faults_of_the_parts_come_in_one_answer(client: TestClient) -> None:
    parts = [("spec", (None, json.dumps({"name": "", "mode": "regression"}))), ("extra", (None, "1"))]
    response = client.post("/v1/cohorts", files=parts)
    assert response.status_code == 422
    assert {"/file", "/extra", "/spec/name", "/spec/mode", "/spec/outcome"} <= set(pointers(response))


@pytest.mark.parametrize(
    ("changes", "content", "expected"),
    [
        ({"zz": 1}, table(*SMALL, "old,m,1"), {"/spec/zz", "/file/columns/age"}),
        ({"name": "", "ignore": ["weight"]}, table(*SMALL), {"/spec/name", "/spec/ignore/0"}),
        ({"na_values": 5}, table(*SMALL, "old,m,1", "1"), {"/spec/na_values", "/file"}),
        ({"mode": "regression"}, gzip.compress(table(*SMALL), mtime=0)[:-9], {"/spec/mode", "/file"}),
        ({"outcome": 1}, b"PK\x03\x04", {"/spec/outcome", "/file"}),
        ({"zz": 1}, b"PK\x03\x04", {"/spec/zz", "/file"}),
    ],
)
def test_a_spec_with_faults_does_not_hide_those_of_the_file(
    client: TestClient, changes: dict[str, object], content: bytes, expected: set[str]
) -> None:
    response = client.post("/v1/cohorts", files=multipart({**SMALL_SPEC, **changes}, content))
    assert response.status_code == 422
    assert set(pointers(response)) == expected


def test_a_file_that_cannot_be_read_is_told_as_such_where_all_else_is_right(client: TestClient) -> None:
    assert client.post("/v1/cohorts", files=multipart(SMALL_SPEC, b"PK\x03\x04")).status_code == 415


@pytest.mark.parametrize("text", ["{", "[1]", '"x"', '{"name": "\\ud800"}', "[" * 100_000], ids=str.__len__)
def test_a_spec_that_is_no_spec_is_a_fault(client: TestClient, text: str) -> None:
    response = client.post("/v1/cohorts", files=[("file", ("x", FILE)), ("spec", (None, text))])
    assert response.status_code == 422
    assert all(pointer.startswith("/spec") for pointer in pointers(response))


def test_a_name_that_no_database_can_keep_is_a_fault(client: TestClient) -> None:
    response = client.post("/v1/cohorts", files=multipart({**SPEC, "name": "a\x00b"}))
    assert response.status_code == 422
    assert pointers(response) == ["/spec/name"]


def test_a_gzip_bomb_is_not_unpacked(database: Database, files: Files) -> None:
    bomb = gzip.compress(b"age,died\n" + b"1,1\n" * 10_000_000, 9)
    client = TestClient(
        create_app(Settings(upload_mb=1, decompressed_mb=1), database, files, local_owner=True), base_url=LOCAL
    )
    # Modules and connections that a first upload brings are not the bomb's.
    assert client.post("/v1/cohorts", files=multipart(SMALL_SPEC, gzip.compress(b"age,died\n1,1\n"))).status_code < 500
    tracemalloc.start()
    response = client.post("/v1/cohorts", files=multipart(SMALL_SPEC, bomb))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert response.status_code == 413
    assert response.json()["type"] == "/problems/too-large"
    assert peak < 10 * 2**20


def test_content_that_is_no_table_is_unsupported(client: TestClient) -> None:
    response = client.post("/v1/cohorts", files=multipart(SMALL_SPEC, b"PK\x03\x04" + bytes(range(256)) * 4))
    assert response.status_code == 415
    assert response.json()["type"] == "/problems/unsupported-media"


@pytest.mark.parametrize("content_type", ["application/json", "text/csv", ""])
def test_a_body_that_is_not_multipart_is_unsupported(client: TestClient, content_type: str) -> None:
    response = client.post("/v1/cohorts", content=b"{}", headers={"Content-Type": content_type})
    assert response.status_code == 415


@pytest.mark.parametrize("charset", ["\0", "punycode", "undefined"])
def test_parts_in_no_readable_character_set_are_a_fault(client: TestClient, charset: str) -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="sp\xe4c"\r\n\r\n{}\r\n--b--\r\n'
    headers = {"Content-Type": f"multipart/form-data; boundary=b; charset={charset}"}
    response = client.post("/v1/cohorts", content=body, headers=headers)
    assert response.status_code == 422
    assert pointers(response) == ["/headers/content-type"]


def test_a_part_of_half_a_surrogate_pair_is_a_fault(client: TestClient) -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="+2AA-/~"\r\n\r\n+2AA-\r\n--b--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=b; charset=utf-7"}
    response = client.post("/v1/cohorts", content=body, headers=headers)
    assert response.status_code == 422
    assert {"/spec", "/file", "/?~1~0"} <= set(pointers(response))


def test_a_broken_multipart_body_is_a_bad_request(client: TestClient) -> None:
    headers = {"Content-Type": "multipart/form-data"}
    response = client.post("/v1/cohorts", content=b"--x\r\n", headers=headers)
    assert response.status_code == 400
    assert response.json()["type"] == "/problems/bad-request"


def test_deleting_a_cohort_erases_its_file(client: TestClient, files: Files) -> None:
    first, second = make_cohort(client), make_cohort(client)
    assert first["sha256"] == second["sha256"]
    assert client.delete(f"/v1/cohorts/{first['id']}").status_code == 204
    assert client.get(f"/v1/cohorts/{first['id']}").status_code == 404
    assert files.get("cohorts", second["sha256"])  # the other cohort still needs it
    assert client.delete(f"/v1/cohorts/{second['id']}").status_code == 204
    response = client.post("/v1/searches", json={"cohort_id": second["id"]})
    assert response.status_code == 404
    with pytest.raises(ArtifactError, match="missing"):
        files.get("cohorts", second["sha256"])


@pytest.mark.parametrize(("models", "status"), [("keep", 200), ("delete", 404)])
def test_deleting_a_cohort_keeps_or_deletes_its_models(
    client: TestClient, driver: Driver, models: str, status: int
) -> None:
    search = make_search(client)
    driver.run(Status.SUCCEEDED)
    model_id = client.get(f"/v1/searches/{search['id']}").json()["model_id"]
    assert client.delete(f"/v1/cohorts/{search['cohort_id']}?models={models}").status_code == 204
    assert client.get(f"/v1/searches/{search['id']}").status_code == 404
    response = client.get(f"/v1/models/{model_id}")
    assert response.status_code == status
    if models == "keep":
        assert (response.json()["cohort_id"], response.json()["search_id"]) == (None, None)


def test_a_cohort_with_a_running_search_stays(client: TestClient, driver: Driver) -> None:
    search = make_search(client)
    driver.claim()
    response = client.delete(f"/v1/cohorts/{search['cohort_id']}")
    assert response.status_code == 409
    assert response.json()["type"] == "/problems/conflict"
    assert client.get(f"/v1/cohorts/{search['cohort_id']}").status_code == 200


def test_an_unknown_choice_of_what_becomes_of_models_is_a_fault(client: TestClient) -> None:
    response = client.delete(f"/v1/cohorts/{make_cohort(client)['id']}?models=burn")
    assert response.status_code == 422
    assert pointers(response) == ["/models"]
