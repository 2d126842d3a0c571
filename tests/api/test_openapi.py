"""The generated document: complete enough to write a client against."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin

import pytest
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator

from tests.api.searching import multipart


@pytest.fixture
def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def _operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for path in document["paths"].values() for operation in path.values()]


def _references(node: object) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*(_references(child) for child in node.values()))
    if isinstance(node, list):
        return set().union(*(_references(child) for child in node))
    return set()


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    for reference in _references(document):
        node: Any = document
        for step in reference.removeprefix("#/").split("/"):
            node = node[step]
        assert node


def test_every_example_is_what_its_schema_asks_for(document: dict[str, Any]) -> None:
    n_examples = 0
    for schema in document["components"]["schemas"].values():
        checked = Draft202012Validator(schema | {"components": document["components"]})
        for example in schema.get("examples", ()):
            checked.validate(example)
            n_examples += 1
    assert n_examples > 10


def test_every_operation_is_named_and_described(document: dict[str, Any]) -> None:
    operations = _operations(document)
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert all(operation["summary"] and operation["description"] for operation in operations)


def test_every_refusal_is_a_problem(document: dict[str, Any]) -> None:
    for operation in _operations(document):
        for status, response in operation["responses"].items():
            if status >= "400":
                assert list(response["content"]) == ["application/problem+json"]
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_headers_that_clients_act_on_are_described(document: dict[str, Any]) -> None:
    made = [o["responses"][s] for o in _operations(document) for s in ("201", "202") if s in o["responses"]]
    assert len(made) > 15
    assert all(response["headers"]["Location"]["schema"] == {"type": "string"} for response in made)
    for operation in _operations(document):
        names = {each["name"].lower() for each in operation.get("parameters", [])}
        for status, response in operation["responses"].items():
            headers = response.get("headers", {})
            assert ("Retry-After" in headers) == (status in {"202", "429", "503"})
            assert ("Idempotency-Replayed" in headers) == ("idempotency-key" in names and status < "300")


def test_described_headers_come(client: TestClient, document: dict[str, Any]) -> None:
    for _ in range(2):
        answer = client.post("/v1/cohorts", files=multipart(), headers={"Idempotency-Key": "k"})
    described = document["paths"]["/v1/cohorts"]["post"]["responses"]["201"]["headers"]
    assert set(described) == {"Location", "Idempotency-Replayed"} <= {name.title() for name in answer.headers}
    search = client.post("/v1/searches", json={"cohort_id": answer.json()["id"]})
    described = document["paths"]["/v1/searches"]["post"]["responses"]["202"]["headers"]
    needed = {name for name, header in described.items() if header["required"]}
    assert needed == {"Location", "Retry-After"} <= {name.title() for name in search.headers}


def test_bodies_that_are_read_by_hand_are_described(document: dict[str, Any]) -> None:
    cohort = document["paths"]["/v1/cohorts"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert cohort["required"] == ["file", "spec"]
    search = document["paths"]["/v1/searches"]["post"]["requestBody"]["content"]
    assert set(search) == {"application/json", "multipart/form-data"}
    assert search["multipart/form-data"]["schema"]["required"] == ["file", "spec"]
    settings = document["components"]["schemas"]["SearchRequest"]
    assert settings["required"] == ["cohort_id"]
    assert "budget" in settings["properties"]


def test_the_page_to_browse_it_needs_no_other_server(client: TestClient) -> None:
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    parts = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    parts.remove("data:,")
    types = {client.get(urljoin("/docs", part)).headers["content-type"].split(";")[0] for part in parts}
    assert types == {"text/css", "text/javascript"}
    assert "SwaggerUIBundle" in client.get("/docs/swagger-ui-bundle.js").text
    (shown,) = re.findall(r'url: "([^"]*)"', client.get("/docs/start.js").text)
    assert client.get(urljoin("/docs", shown)).json()["info"]["title"] == "autoprog"
    assert "://" not in page.text + client.get("/docs/start.js").text


def test_no_foreign_script_runs_where_keys_are_typed_in(client: TestClient) -> None:
    page = client.get("/docs")
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert re.search(r"<script(?! src=)|\bon\w+=", page.text) is None
    for path in ("/redoc", "/docs/redoc.standalone.js", "/docs/../api/app.py"):
        assert client.get(path).status_code == 404
