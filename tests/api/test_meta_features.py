"""Meta-features over HTTP."""

from __future__ import annotations

from fastapi.testclient import TestClient

from autoprog.metalearning import META_FEATURES, meta_features
from tests.api.conftest import MakeClient
from tests.api.searching import SPEC, make_cohort, multipart, table
from tests.cohorts import cleveland_cohort


def test_the_55_of_a_cohort_and_where_each_feature_was_counted(client: TestClient) -> None:
    document = client.get(f"/v1/cohorts/{make_cohort(client)['id']}/meta-features").json()
    values = meta_features(cleveland_cohort()).values
    assert document["items"] == [
        {"name": m.name, "group": m.group, "value": value} for m, value in zip(META_FEATURES, values, strict=True)
    ]
    assert document["features"][4] == {"name": "chol", "meta_group": "laboratory", "evidence": "meta_group"}
    assert [f["name"] for f in document["features"]] == [f.name for f in cleveland_cohort().features]
    assert document["warnings"] == []


def test_the_client_may_say_where_a_feature_belongs(client: TestClient) -> None:
    spec = {**SPEC, "features": {**SPEC["features"], "chol": {"kind": "numeric", "meta_group": "genetics"}}}
    cohort = client.post("/v1/cohorts", files=multipart(spec)).json()
    document = client.get(f"/v1/cohorts/{cohort['id']}/meta-features").json()
    values = {item["name"]: item["value"] for item in document["items"]}
    assert (values["genetics_share"], values["laboratory_share"]) == (0.0769231, 0.0769231)


def test_a_cohort_of_meaningless_names_is_told_so_twice(client: TestClient) -> None:
    rows = [f"{v},{v % 7},{v % 2}" for v in range(30)]
    spec = {"name": "nameless", "outcome": {"column": "died", "positive": 1}}
    cohort = client.post("/v1/cohorts", files=multipart(spec, table("v1,v2,died", *rows))).json()
    document = client.get(f"/v1/cohorts/{cohort['id']}/meta-features").json()
    assert {item["value"] for item in document["items"] if item["group"] == "clinical"} == {0}
    (warning,) = document["warnings"]
    assert warning in cohort["warnings"]


def test_another_owner_s_cohort_is_not_found(client_of: MakeClient) -> None:
    cohort = make_cohort(client_of("a"))
    response = client_of("b").get(f"/v1/cohorts/{cohort['id']}/meta-features")
    assert response.status_code == 404
    assert response.json()["type"] == "/problems/not-found"
