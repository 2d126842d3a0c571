"""Every failure is a problem document, and none tells more than it should."""

from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient
from structlog.testing import capture_logs

from api.app import create_app
from api.problems import PROBLEM_TYPES, build_problem, faults_of_validation, to_pointer
from autoprog import errors
from autoprog.errors import AutoprogError, Fault
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from tests.api.conftest import LOCAL

SECRET = "patient 4711 has 97"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not-found"),
        ("GET", "/v1/cohorts/x/y", 404, "not-found"),
        ("GET", "/v1/cohorts/", 404, "not-found"),
        ("POST", "/v1/searches/", 404, "not-found"),
        ("PUT", "/v1/cohorts", 405, "method-not-allowed"),
        ("GET", "/v1/cohorts/%00", 404, "not-found"),
        ("GET", "/v1/searches/../../etc/passwd", 404, "not-found"),
        ("GET", "/problems/none", 404, "not-found"),
    ],
)
def test_what_is_not_there_is_a_problem(client: TestClient, method: str, path: str, status: int, code: str) -> None:
    response = client.request(method, path)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["type"] == f"/problems/{code}"
    assert document["status"] == status
    assert document["instance"].startswith("/")
    assert document["title"] == PROBLEM_TYPES[code].title


def test_a_method_that_is_not_allowed_names_those_that_are(client: TestClient) -> None:
    assert client.put("/v1/space").headers["allow"] == "GET"
    assert client.put("/v1/cohorts").headers["allow"] == "GET, POST"
    assert client.patch("/v1/models/one").headers["allow"] == "DELETE, GET"


@pytest.mark.parametrize("code", PROBLEM_TYPES)
def test_the_type_of_a_problem_leads_to_its_explanation(client: TestClient, code: str) -> None:
    response = client.get(f"/problems/{code}")
    assert response.status_code == 200
    assert response.json()["title"] == PROBLEM_TYPES[code].title


def test_an_unexpected_error_tells_nothing_and_logs_no_value(database: Database, files: Files) -> None:
    app = create_app(Settings(), database, files, local_owner=True)

    @app.get("/broken")
    def broken() -> None:
        raise ValueError(SECRET)

    with capture_logs() as logs:
        response = TestClient(app, base_url=LOCAL).get("/broken")
    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json() == {
        "type": "/problems/internal", "title": PROBLEM_TYPES["internal"].title, "status": 500,
        "detail": PROBLEM_TYPES["internal"].detail, "instance": "/broken",
    }  # fmt: skip
    assert SECRET not in json.dumps(logs)
    (entry,) = logs
    assert entry["error"] == "ValueError"
    assert any("broken" in frame for frame in entry["frames"])


def _all_errors(root: type[AutoprogError]) -> list[type[AutoprogError]]:
    return [root, *(found for child in root.__subclasses__() for found in _all_errors(child))]


@pytest.mark.parametrize("error", [e for e in _all_errors(AutoprogError) if e.__module__ == errors.__name__])
def test_every_error_that_a_caller_can_act_on_has_its_problem_type(error: type[AutoprogError]) -> None:
    raised = error([Fault("/x", "y")]) if error is errors.InvalidInputError else error("z")
    internal = {"internal", "lease-lost", "unreadable-value"}  # the others never leave a runner
    assert (build_problem(raised).type == "/problems/internal") == (error.code in internal)


def test_pointers_are_escaped_and_values_are_not_repeated() -> None:
    found = [{"type": "x", "loc": ("features", "a/b~c", "[key]"), "msg": "is wrong", "input": SECRET}]
    assert faults_of_validation(found, "/spec") == (Fault("/spec/features/a~1b~0c", "is wrong"),)
    assert to_pointer(("values", "[key]")) == "/values/[key]"


def test_answers_carry_headers_against_misuse(client: TestClient) -> None:
    for response in (client.get("/v1/cohorts"), client.get("/nowhere")):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
