"""Models of a diagnosis and sessions on them, as a client makes them."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from httpx2 import Response

MODELS, SESSIONS = "/v1/diagnosis/models", "/v1/diagnosis/sessions"
DATA = Path(__file__).parents[1] / "data"

# Figure 1 of Bellala, Bhavnani & Scott 2012.
RESPONSES = [[0, 1, 1], [1, 1, 0], [0, 1, 0], [1, 0, 0]]
TOY: dict[str, Any] = {
    "name": "toy",
    "objects": [{"name": f"o{i}", "group": "12"[i == 4]} for i in range(1, 5)],
    "queries": [{"name": f"q{i}"} for i in range(1, 4)],
    "responses": RESPONSES,
}


def toy(**changes: Any) -> dict[str, Any]:
    return {**TOY, **changes}


def without_groups(**changes: Any) -> dict[str, Any]:
    return toy(objects=[{"name": f"o{i}"} for i in range(1, 5)], **changes)


def made(response: Response, status: int = 201) -> dict[str, Any]:
    """The document of an answer that must have this status."""
    assert response.status_code == status, response.text
    document: dict[str, Any] = response.json()
    return document


def make_model(client: TestClient, **changes: Any) -> dict[str, Any]:
    return made(client.post(MODELS, json=toy(**changes)))


def find_faults(response: Response) -> dict[str, str]:
    """What is wrong with a request, by pointer; each place is told once."""
    assert response.status_code == 422, response.text
    errors = response.json()["errors"]
    found = {error["pointer"]: error["detail"] for error in errors}
    assert len(found) == len(errors)
    return found


def upload(content: bytes, **spec: Any) -> list[tuple[str, Any]]:
    """The parts of an upload."""
    text = json.dumps({"name": "uploaded", **spec})
    return [("file", ("matrix", content)), ("spec", (None, text, "application/json"))]


@cache
def real(name: str) -> bytes:
    """A matrix of `tests/data`."""
    return (DATA / f"{name}.csv.gz").read_bytes()


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(gzip.decompress(content).decode())))


def open_session(client: TestClient, model_id: str, **body: Any) -> dict[str, Any]:
    return made(client.post(f"{MODELS}/{model_id}/sessions", json=body))


def give(client: TestClient, session: Mapping[str, Any], answer: object, query: str | None = None) -> Response:
    """Answer the question of a session, or another one."""
    body = {"query": session["next_query"]["name"] if query is None else query, "answer": answer}
    return client.post(f"{SESSIONS}/{session['id']}/answers", json=body)


def run_session(client: TestClient, model_id: str, answer: Callable[[str], object]) -> dict[str, Any]:
    """Answer until the session is done."""
    session = open_session(client, model_id)
    while not session["done"]:
        session = made(give(client, session, answer(session["next_query"]["name"])), 200)
    return session


def packed(matrix: object) -> bytes:
    """A matrix as packed bits, in the form of numpy."""
    file = io.BytesIO()
    np.save(file, np.packbits(np.array(matrix, dtype=np.uint8), axis=1))
    return file.getvalue()
