"""Problems of test selection and their rounds, as a client makes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from httpx2 import Response

from tests.api.diagnosing import made

PROBLEMS = "/v1/test-selection/problems"

# Costs of Pima's tests as the Ontario schedule of fees has them.
PIMA: dict[str, Any] = {
    "name": "pima",
    "structure": "cascade",
    "algorithm": "ts",
    "tests": [{"name": "history", "cost": 1}, {"name": "glucose", "cost": 17.61}, {"name": "insulin", "cost": 22.78}],
    "trade_off": 0.01,
    "seed": 7,
}

CLEVELAND_TESTS: list[dict[str, Any]] = [
    {"name": "history", "cost": 1, "features": ["age", "sex", "cp"]},
    {"name": "blood", "cost": 7.27, "features": ["chol", "fbs"]},
    {"name": "ECG", "cost": 15.5, "features": ["restecg"]},
    {"name": "exercise", "cost": 87.3, "features": ["thalach", "exang"]},
]


def make_problem(client: TestClient, **changes: Any) -> dict[str, Any]:
    return made(client.post(PROBLEMS, json={**PIMA, **changes}))


def send(client: TestClient, url: str, body: Mapping[str, Any]) -> Response:
    """Post JSON that may hold half a surrogate pair, which other clients than ours can spell."""
    return client.post(url, content=json.dumps(body), headers={"Content-Type": "application/json"})


def rounds_of(problem: Mapping[str, Any]) -> str:
    return f"{PROBLEMS}/{problem['id']}/rounds"


def open_round(client: TestClient, problem: Mapping[str, Any]) -> dict[str, Any]:
    return made(client.post(rounds_of(problem)))


def give(client: TestClient, opened: Mapping[str, Any], **body: Any) -> Response:
    return send(client, f"{PROBLEMS}/{opened['problem_id']}/rounds/{opened['id']}/feedback", body)


def outputs(opened: Mapping[str, Any], row: Sequence[int]) -> dict[str, int]:
    """What the arms of a cascade say of a patient, as far as the chosen one makes it known."""
    return {str(i + 1): int(row[i]) for i in range(int(opened["arm"]))}


def patients(n: int, seed: int = 0, arms: int = 3) -> np.ndarray[Any, Any]:
    """Outputs of all arms, of which later ones differ from the first in a fifth and a quarter of the patients."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, n)
    return np.stack([first, *(first ^ (rng.random(n) < 0.2 + 0.05 * i) for i in range(arms - 1))], axis=1)
