"""Liveness, readiness, metrics."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from fastapi.testclient import TestClient
from sqlalchemy import update

from api.app import create_app, create_operations
from autoprog.errors import EngineUnavailableError
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.tables import SearchRow
from tests.api.conftest import LOCAL, MakeClient
from tests.api.searching import make_cohort

RULES = Path(__file__).parents[2] / "docs" / "prometheus-rules.yml"


def read_metrics(client: TestClient) -> dict[str, float]:
    """The samples of the metrics, by name and labels."""
    lines = [line for line in client.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_a_server_that_can_serve_is_ready(client: TestClient) -> None:
    assert client.get("/livez").json() == {"status": "alive"}
    assert client.get("/readyz").json() == {"status": "ready", "database": True, "engine": None}


def _no_scheduler() -> bool:
    raise EngineUnavailableError("no scheduler at 10.0.0.7")


def test_readiness_asks_the_engine(database: Database, files: Files) -> None:
    app = create_app(Settings(), database, files, local_owner=False, engine_health=lambda: True)
    assert TestClient(app).get("/readyz").json()["engine"] is True


@pytest.mark.parametrize("engine_health", [lambda: False, _no_scheduler], ids=["no worker", "no scheduler"])
def test_without_an_engine_a_server_is_not_ready(
    database: Database, files: Files, engine_health: Callable[[], bool]
) -> None:
    app = create_app(Settings(), database, files, local_owner=False, engine_health=engine_health)
    response = TestClient(app).get("/readyz")
    assert response.status_code == 503
    assert response.json()["type"] == "/problems/not-ready"
    assert response.json()["detail"] == "no worker can be reached"


def test_a_database_without_tables_is_not_ready(empty_database: Database, files: Files) -> None:
    response = TestClient(create_app(Settings(), empty_database, files, local_owner=False)).get("/readyz")
    assert response.status_code == 503
    assert "autoprog db upgrade" in response.json()["detail"]


def test_a_database_that_cannot_be_reached_is_not_ready(tmp_path: Path, files: Files) -> None:
    database = Database(f"sqlite:///{tmp_path / 'no' / 'such' / 'folder.db'}")
    client = TestClient(create_app(Settings(), database, files, local_owner=True), base_url="http://localhost")
    response = client.get("/readyz")
    assert response.status_code == 503
    assert "reached" in response.json()["detail"]
    assert str(tmp_path) not in response.text
    assert client.get("/livez").status_code == 200
    response = client.get("/v1/cohorts")
    assert (response.status_code, response.json()["type"]) == (503, "/problems/store-unavailable")
    assert response.headers["Retry-After"] == "5"
    assert "open" not in response.text  # SQLite's own words: they are for the operator


def test_metrics_name_routes_and_no_resources(client_of: MakeClient) -> None:
    client = client_of("ada")
    before = read_metrics(client)
    cohort = make_cohort(client)
    client.get(f"/v1/cohorts/{cohort['id']}")
    client.get("/v1/cohorts/unknown")
    client.get("/nowhere/at/all")
    client.request("MADEUP", "/nowhere")
    client.get("/livez")
    text = client.get("/metrics").text
    assert cohort["id"] not in text
    assert "livez" not in text
    counts = {name: n - before.get(name, 0) for name, n in read_metrics(client).items()}
    assert {name: n for name, n in counts.items() if n and name.startswith("http_requests_total")} == {
        'http_requests_total{handler="/v1/cohorts",method="POST",status="2xx"}': 1,
        'http_requests_total{handler="/v1/cohorts/{cohort_id}",method="GET",status="2xx"}': 1,
        'http_requests_total{handler="/v1/cohorts/{cohort_id}",method="GET",status="4xx"}': 1,
        'http_requests_total{handler="none",method="GET",status="4xx"}': 1,
        'http_requests_total{handler="none",method="other",status="4xx"}': 1,
    }
    assert counts['http_request_duration_seconds_count{handler="/v1/cohorts",method="POST"}'] == 1


def test_metrics_tell_of_the_queue_and_the_disks(client_of: MakeClient, database: Database) -> None:
    client = client_of("ada")
    ids = [client.post("/v1/searches", json={"cohort_id": make_cohort(client)["id"]}).json()["id"] for _ in range(4)]
    changes = {
        ids[0]: {"created_at": datetime.now(UTC) - timedelta(seconds=100)},
        ids[1]: {"status": "running", "lease_until": datetime.now(UTC) - timedelta(seconds=1), "losses": 2},
        ids[2]: {"status": "failed", "finished_at": datetime.now(UTC) - timedelta(minutes=59)},
        ids[3]: {"status": "failed", "finished_at": datetime.now(UTC) - timedelta(minutes=61)},
    }
    with database.session() as session:
        for key, values in changes.items():
            session.execute(update(SearchRow).where(SearchRow.id == key).values(**values))
    found = read_metrics(client)
    assert 100 <= found.pop('autoprog_waiting_seconds{kind="search"}') < 200
    numbers = {"waiting": 1, "running": 1, "left": 1, "lost_leases": 2, "failed": 1}
    assert {name: found[f'autoprog_{name}{{kind="search"}}'] for name in numbers} == numbers
    assert not any(found[f'autoprog_{name}{{kind="job"}}'] for name in numbers)
    assert found["autoprog_database_up"] == 1
    assert found['autoprog_free_bytes{place="files"}'] > 0


def test_metrics_are_told_without_a_database(empty_database: Database, files: Files) -> None:
    client = TestClient(create_app(Settings(), empty_database, files, local_owner=True), base_url=LOCAL)
    found = read_metrics(client)
    assert found["autoprog_database_up"] == 0
    assert not any(name.startswith("autoprog_waiting") for name in found)


def test_alerts_ask_for_metrics_that_there_are(client_of: MakeClient) -> None:
    client = client_of("ada")
    client.get("/v1/cohorts")
    known = {name.partition("{")[0] for name in read_metrics(client)} | {"up"}
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    asked = {name for rule in group["rules"] for name in re.findall(r"\b(?:autoprog|http)_\w+|\bup\b", rule["expr"])}
    assert len(group["rules"]) == len({rule["alert"] for rule in group["rules"]}) >= 10
    assert asked <= known
    assert {name for name in known if name.startswith("autoprog_")} - asked == set()


def test_operators_may_look_elsewhere(database: Database, files: Files) -> None:
    app = create_app(Settings(), database, files, local_owner=True, operations_apart=True)
    client, operator = TestClient(app, base_url=LOCAL), TestClient(create_operations(app))
    assert client.get("/v1/cohorts").status_code == 200
    for path in ("/metrics", "/docs", "/openapi.json"):
        assert client.get(path).status_code == 404, path
        assert operator.get(path).status_code == 200, path
    assert 'handler="/v1/cohorts"' in operator.get("/metrics").text
    assert "/v1/cohorts" in operator.get("/openapi.json").json()["paths"]
    assert operator.get("/v1/cohorts").status_code == 404
    for each in (client, operator):
        assert each.get("/livez").status_code == each.get("/readyz").status_code == 200
