"""The outlook over HTTP: from one's own earlier cohorts, and those that others share."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from autoprog.metalearning import meta_features
from autoprog.storage.database import Database
from autoprog.storage.repositories import CohortStatisticsRepository
from autoprog.storage.tables import CohortRow
from tests.api.conftest import MakeClient
from tests.api.searching import SPEC, make_cohort, multipart
from tests.cohorts import cleveland_cohort
from tests.metalearning.repositories import collect_statistics, copies_count

__all__ = ["copies_count"]


@pytest.fixture
def without_open_cohorts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if none were shipped."""
    monkeypatch.setattr("autoprog.metalearning.shipped.open_cohorts", tuple)


def teach(
    client: TestClient, database: Database, gains: list[float], *, shared: bool = False, metric: str = "auc_roc"
) -> list[str]:
    """Cohorts that differ in their names alone, whose searches have taught these gains."""
    m, ids = meta_features(cleveland_cohort()), []
    for number, gain in enumerate(gains):
        spec = {**SPEC, "name": f"earlier {shared} {number}", "share_statistics": shared}
        response = client.post("/v1/cohorts", files=multipart(spec))
        assert response.status_code == 201, response.text
        ids.append(response.json()["id"])
        with database.session() as session:
            cohort = session.get_one(CohortRow, ids[-1])
            CohortStatisticsRepository(session).keep(cohort, collect_statistics("", m, [gain], metric=metric))
    return ids


def outlook_of(client: TestClient, cohort_id: str, query: str = "") -> dict[str, Any]:
    response = client.get(f"/v1/cohorts/{cohort_id}/outlook{query}")
    assert response.status_code == 200, response.text
    document: dict[str, Any] = response.json()
    return document


@pytest.mark.usefixtures("without_open_cohorts", "copies_count")
def test_without_earlier_cohorts_the_outlook_is_unknown(client: TestClient) -> None:
    document = outlook_of(client, make_cohort(client)["id"])
    assert document == {
        "metric": "auc_roc", "level": 0.8, "expectation": None, "n_similar": 0, "n_comparable": 0, "nearest": [],
    }  # fmt: skip


@pytest.mark.usefixtures("without_open_cohorts", "copies_count")
def test_similar_cohorts_tell_what_to_expect(client: TestClient, database: Database) -> None:
    ids = teach(client, database, [0.01, 0.02, 0.03, 0.02, 0.02, 0.02])
    document = outlook_of(client, make_cohort(client)["id"])
    expectation = document["expectation"]
    assert expectation["algorithm"] == "a00"
    assert expectation["lower"] < expectation["gain"] < expectation["upper"]
    assert 0.9 < expectation["probability"] <= 1
    assert (document["n_similar"], document["n_comparable"]) == (6, 6)
    assert {near["cohort_id"] for near in document["nearest"]} == set(ids)
    assert outlook_of(client, make_cohort(client)["id"], "?metric=brier")["n_comparable"] == 0


@pytest.mark.usefixtures("without_open_cohorts", "copies_count")
def test_a_shared_cohort_counts_and_is_not_named(client_of: MakeClient, database: Database) -> None:
    a, b = client_of("a"), client_of("b")
    teach(a, database, [0.01, 0.02])
    teach(a, database, [0.03, 0.04, 0.05], shared=True)
    own = outlook_of(a, make_cohort(a)["id"])
    foreign = outlook_of(b, make_cohort(b)["id"])
    assert (own["n_comparable"], foreign["n_comparable"]) == (5, 3)
    assert {near["cohort_id"] for near in foreign["nearest"]} == {None}
    assert foreign["expectation"] is None


@pytest.mark.usefixtures("without_open_cohorts", "copies_count")
def test_net_benefit_is_that_over_the_default_thresholds(client: TestClient, database: Database) -> None:
    teach(client, database, [0.01], metric="net_benefit 0.4 to 0.6")
    teach(client, database, [0.01, 0.02], metric="net_benefit 0.05 to 0.2")
    document = outlook_of(client, make_cohort(client)["id"], "?metric=net_benefit")
    assert (document["metric"], document["n_comparable"]) == ("net_benefit", 2)


def test_open_cohorts_count_and_are_named(client: TestClient) -> None:
    document = outlook_of(client, make_cohort(client)["id"])
    assert document["n_comparable"] > 0
    assert all(near["cohort_id"] is None and near["open_cohort"] for near in document["nearest"])
    assert not {near["open_cohort"] for near in document["nearest"]} & {"heart_cleveland", "heart_uci4"}


def test_a_metric_that_does_not_suit_is_a_fault(client: TestClient) -> None:
    cohort_id = make_cohort(client)["id"]
    for metric in ("uno_c", "accuracy"):
        assert client.get(f"/v1/cohorts/{cohort_id}/outlook?metric={metric}").status_code == 422


def test_another_owner_s_cohort_is_not_found(client_of: MakeClient) -> None:
    cohort = make_cohort(client_of("a"))
    assert client_of("b").get(f"/v1/cohorts/{cohort['id']}/outlook").status_code == 404
