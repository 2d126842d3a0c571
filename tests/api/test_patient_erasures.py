"""Erasure of one patient: from cohorts, from what was computed of them, and in the record of it."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from api.models.schemas import RecalibrationRequest
from api.models.service import recalibrate
from api.patient_erasures import service
from api.patient_erasures.schemas import PatientErasureRequest
from autoprog.cohort import from_parquet
from autoprog.errors import ConflictError
from autoprog.model import Member, dump_estimator
from autoprog.space import Configuration, Step, TableShape, build_pipeline
from autoprog.storage.database import Database
from autoprog.storage.files import Files, Kind, StoredFile
from autoprog.storage.repositories import CohortRepository, SelectionProblemRepository
from autoprog.storage.tables import Base, CohortRow, EvaluationRow, ModelRow, SearchRow, SearchStatus
from tests.api.conftest import MakeClient
from tests.api.searching import FILE, SPEC, Driver, make_cohort, multipart, patient, pointers, simple_result
from tests.cohorts import cleveland_cohort

ERASURES = "/v1/patient-erasures"
IDENTIFIER = "MRN-secret-0017"


def with_identifiers(content: bytes = gzip.decompress(FILE)) -> bytes:
    """The bundled file with a column of identifiers."""
    header, *rows = content.decode().splitlines()
    return "\n".join([f"mrn,{header}", *(f"MRN-secret-{i:04},{row}" for i, row in enumerate(rows))]).encode()


def upload(
    client: TestClient, spec: Mapping[str, object] | None = None, content: bytes | None = None
) -> dict[str, Any]:
    sent = multipart({**SPEC, "identifier": "mrn"} if spec is None else spec, content or with_identifiers())
    response = client.post("/v1/cohorts", files=sent)
    assert response.status_code == 201, response.text
    document: dict[str, Any] = response.json()
    return document


def run_search(client: TestClient, driver: Driver, cohort: dict[str, Any]) -> dict[str, Any]:
    posted = client.post("/v1/searches", json={"cohort_id": cohort["id"]})
    driver.run()
    document: dict[str, Any] = client.get(f"/v1/searches/{posted.json()['id']}").json()
    return document


def erase(client: TestClient, **changes: object) -> dict[str, Any]:
    response = client.post(ERASURES, json={"identifier": IDENTIFIER, **changes})
    assert response.status_code == 201, response.text
    document: dict[str, Any] = response.json()
    return document


def derived(erasure: dict[str, Any]) -> dict[tuple[str, str], tuple[str, bool]]:
    return {(each["kind"], each["id"]): (each["action"], each["keeps_rows"]) for each in erasure["derived"]}


def neighbours() -> Member:
    """A model that keeps its training patients."""
    cohort = cleveland_cohort()
    steps = (Step("median"), Step("none"), Step.of("k_nearest_neighbours", {"neighbours": 5}), Step("none"))
    pipeline = build_pipeline(Configuration(*steps), cohort.features, TableShape.of(cohort, 5), 0)
    return Member(1.0, dump_estimator(pipeline.fit(cohort.X, cohort.y)))


def test_patient_is_erased_from_cohorts_and_what_remains_is_marked(
    client: TestClient, driver: Driver, database: Database, files: Files
) -> None:
    cohort, other, unnamed = (
        upload(client),
        upload(client, {**SPEC, "name": "b", "identifier": "mrn"}),
        make_cohort(client),
    )
    search = run_search(client, driver, cohort)
    model = search["model_id"]
    update_ = client.post(f"/v1/models/{model}/recalibrations", json={"cohort_id": unnamed["id"]}).json()["id"]
    validation = client.post(f"/v1/models/{model}/validations", json={"cohort_id": other["id"]}).json()["id"]
    diagnosis = client.post(
        "/v1/diagnosis/models", json={"name": "d", "cohort_id": cohort["id"], "findings": ["sex", "exang"]}
    ).json()["id"]
    with database.session() as session:
        owner_id = session.scalars(select(CohortRow.owner_id)).first()
        assert owner_id is not None
        problem = SelectionProblemRepository(session).add(owner_id, name="p", document={}, cohort_id=cohort["id"]).id

    erasure = erase(client, reference="request 1")

    assert [(each["cohort_id"], each["n_rows"], each["n_patients"]) for each in erasure["cohorts"]] == [
        (cohort["id"], 1, 302),
        (other["id"], 1, 302),
    ]
    assert erasure["not_searched"] == [unnamed["id"]]
    assert derived(erasure) == {
        ("search", search["id"]): ("deleted", True),
        ("model", model): ("kept", False),
        ("model", update_): ("kept", False),
        ("diagnosis_model", diagnosis): ("deleted", True),
        ("test_selection_problem", problem): ("deleted", True),
        ("validation", validation): ("kept", False),
    }
    assert client.get(f"{ERASURES}/{erasure['id']}").json() == erasure
    assert client.get(ERASURES).json()["items"] == [erasure]
    for path in (f"searches/{search['id']}", f"diagnosis/models/{diagnosis}", f"test-selection/problems/{problem}"):
        assert client.get(f"/v1/{path}").status_code == 404
    for each in (model, update_):
        assert client.get(f"/v1/models/{each}").json()["patients_erased"] == 1
    with database.session(read_only=True) as session:
        assert session.scalars(select(EvaluationRow)).all() == []

    shown = client.get(f"/v1/cohorts/{cohort['id']}").json()
    assert (shown["n_patients"], shown["n_rows"], shown["has_identifiers"]) == (302, 302, True)
    (done, _) = erasure["cohorts"]
    assert (done["former_sha256"], done["sha256"]) == (cohort["sha256"], shown["sha256"])
    left = from_parquet(files.get("cohorts", shown["sha256"]))
    assert left.n_rows == 302
    whole = cleveland_cohort()
    assert (left.X[:17] == whole.X[:17]).all()
    assert (left.X[17:] == whole.X[18:]).sum() == (whole.X[18:] == whole.X[18:]).sum()
    assert not files.has(StoredFile("cohorts", other["sha256"]))

    again = erase(client)
    assert (again["cohorts"], again["derived"]) == ([], [])
    assert run_search(client, driver, shown)["status"] == "succeeded"
    assert client.post(f"/v1/models/{model}/predictions", json={"patients": [patient()]}).status_code == 200


def test_preview_says_what_the_erasure_does_and_changes_nothing(client: TestClient, driver: Driver) -> None:
    cohort = upload(client)
    search = run_search(client, driver, cohort)
    seen = client.post(f"{ERASURES}/previews", json={"identifier": IDENTIFIER, "models": "delete"})
    assert seen.status_code == 200, seen.text
    assert client.get(f"/v1/cohorts/{cohort['id']}").json() == cohort
    assert client.get(f"/v1/searches/{search['id']}").json() == search
    assert client.get(ERASURES).json()["items"] == []
    done = erase(client, models="delete")
    assert {name: value for name, value in done.items() if name not in {"id", "created_at"}} == seen.json()


@pytest.mark.parametrize(
    ("policy", "keeps", "action"),
    [
        ("keep", True, "kept"),
        ("delete_with_rows", True, "deleted"),
        ("delete_with_rows", False, "kept"),
        ("delete", False, "deleted"),
    ],
)
def test_models_are_deleted_by_the_policy(
    client: TestClient, driver: Driver, files: Files, policy: str, keeps: bool, action: str
) -> None:
    cohort = upload(client)
    client.post("/v1/searches", json={"cohort_id": cohort["id"]})
    claim = driver.claim()
    driver.explore(claim)
    result = simple_result()[0]
    if keeps:
        result = replace(result, model=replace(result.model, members=(neighbours(),)))
    driver.store.finish(claim, result, cancelled=False)
    (model,) = client.get("/v1/models").json()["items"]
    erasure = erase(client, models=policy)
    assert derived(erasure)["model", model["id"]] == (action, keeps)
    left = client.get(f"/v1/models/{model['id']}")
    assert left.status_code == (200 if action == "kept" else 404)
    assert files.has(StoredFile("models", model["sha256"])) == (action == "kept")
    if action == "kept":
        assert left.json()["patients_erased"] == 1


def test_models_without_their_search_are_found(client: TestClient, driver: Driver) -> None:
    cohort = upload(client)
    search = run_search(client, driver, cohort)
    assert client.delete(f"/v1/searches/{search['id']}").status_code == 204
    assert derived(erase(client)) == {("model", search["model_id"]): ("kept", False)}


def test_a_model_that_is_deleted_meanwhile_does_not_prevent_the_erasure(
    client: TestClient, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_search(client, driver, upload(client))
    delete_judged = service._delete

    def delete_all(session: Session, *arguments: Any) -> Any:
        session.connection().execute(delete(ModelRow))  # as another transaction would that ends first
        return delete_judged(session, *arguments)

    monkeypatch.setattr(service, "_delete", delete_all)
    assert erase(client)["cohorts"]


def test_updated_models_without_what_they_were_made_from_are_found(client: TestClient, driver: Driver) -> None:
    cohort, elsewhere = upload(client), {"cohort_id": make_cohort(client)["id"]}
    search = run_search(client, driver, cohort)
    version = client.post(f"/v1/models/{search['model_id']}/recalibrations", json=elsewhere).json()["id"]
    for gone in (f"models/{search['model_id']}", f"searches/{search['id']}"):
        assert client.delete(f"/v1/{gone}").status_code == 204
    assert derived(erase(client)) == {("model", version): ("kept", False)}
    assert client.get(f"/v1/models/{version}").json()["patients_erased"] == 1
    later = client.post(f"/v1/models/{version}/recalibrations", json=elsewhere).json()
    assert later["patients_erased"] == 1, "it is made from a fit on the patient, too"


def test_a_model_is_not_updated_while_a_patient_is_erased(
    client: TestClient, driver: Driver, local_app: FastAPI, database: Database, files: Files
) -> None:
    model_id = run_search(client, driver, upload(client))["model_id"]
    request = RecalibrationRequest(cohort_id=make_cohort(client)["id"])
    with database.session(read_only=True) as session:
        owner_id = session.scalars(select(ModelRow.owner_id)).one()
    context = replace(local_app.state.context, files=Racing(files, lambda: erase(client), before="put"))
    with pytest.raises(ConflictError, match="repeat the request"), database.session() as session:
        recalibrate(context, session, owner_id, model_id, request)
    assert [each["id"] for each in client.get("/v1/models").json()["items"]] == [model_id]


def test_a_model_that_cannot_be_read_counts_as_keeping_rows(
    client: TestClient, driver: Driver, database: Database
) -> None:
    search = run_search(client, driver, upload(client))
    with database.session() as session:
        session.execute(update(ModelRow).values(sha256="0" * 64))
    assert derived(erase(client))["model", search["model_id"]] == ("deleted", True)


def test_erasure_is_refused_while_a_search_runs(client: TestClient, driver: Driver, database: Database) -> None:
    cohort, other = upload(client), upload(client)
    client.post("/v1/searches", json={"cohort_id": other["id"]})
    driver.claim()
    refused = client.post(ERASURES, json={"identifier": IDENTIFIER})
    assert (refused.status_code, "cancel the running searches" in refused.json()["detail"]) == (409, True)
    assert [client.get(f"/v1/cohorts/{each['id']}").json() for each in (cohort, other)] == [cohort, other]
    with database.session() as session:
        session.execute(update(SearchRow).values(status=SearchStatus.FAILED))
    assert len(erase(client)["cohorts"]) == 2


def test_a_cohort_that_would_be_too_small_is_deleted(client: TestClient) -> None:
    rows = [f"{i},{50 + i},{'m' if i % 3 else 'f'},{int(i < 5)}" for i in range(20)]
    content = "\n".join(["id,age,sex,died", *rows]).encode()
    spec = {"name": "small", "identifier": "id", "outcome": {"column": "died", "positive": 1}}
    cohort = upload(client, spec, content)
    (erased,) = erase(client, identifier="3")["cohorts"]
    assert (erased["n_patients"], erased["sha256"]) == (None, None)
    assert client.get(f"/v1/cohorts/{cohort['id']}").status_code == 404


def test_a_patient_who_stands_for_others_is_one_row(client: TestClient) -> None:
    rows = [f"P{i},{60 + i % 7},{i % 2},{1 + i % 3}" for i in range(30)]
    content = "\n".join(["who,age,died,w", *rows]).encode()
    spec = {"name": "w", "identifier": "who", "weights": "w", "outcome": {"column": "died", "positive": 1}}
    cohort = upload(client, spec, content)
    assert (cohort["n_rows"], cohort["n_patients"], cohort["n_sampled"]) == (30, 60, 30)
    (erased,) = erase(client, identifier="P8")["cohorts"]
    assert (erased["n_rows"], erased["n_patients"]) == (1, 57)
    left = client.get(f"/v1/cohorts/{cohort['id']}").json()
    assert (left["n_rows"], left["n_patients"], left["n_sampled"]) == (29, 57, 29)


def test_visits_of_a_patient_go_together(client: TestClient) -> None:
    rows = [f"P{i},{day},{60 + i + day},{(i + day) % 2}" for i in range(20) for day in range(3)]
    content = "\n".join(["who,day,weight,worse", *rows]).encode()
    outcome = {"patient": "who", "visit_time": "day", "horizon": 2, "column": "worse", "positive": 1}
    cohort = upload(client, {"name": "visits", "mode": "temporal", "outcome": outcome}, content)
    assert cohort["has_identifiers"]
    (erased,) = erase(client, identifier="P7")["cohorts"]
    assert (erased["n_rows"], erased["n_patients"]) == (3, 19)
    assert client.get(f"/v1/cohorts/{cohort['id']}").json()["n_rows"] == 57


def test_other_owners_keep_the_patient_and_see_no_record(client_of: MakeClient, files: Files) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    hers, his = upload(ada), upload(bob)
    erasure = erase(ada)
    assert [each["file_kept"] for each in erasure["cohorts"]] == [True]
    assert files.has(StoredFile("cohorts", hers["sha256"]))
    assert bob.get(f"/v1/cohorts/{his['id']}").json() == his
    assert bob.get(f"{ERASURES}/{erasure['id']}").status_code == 404
    assert bob.get(ERASURES).json()["items"] == []
    assert [each["cohort_id"] for each in erase(bob)["cohorts"]] == [his["id"]]
    assert not files.has(StoredFile("cohorts", hers["sha256"]))


def test_the_identifier_is_stored_nowhere(
    client: TestClient, driver: Driver, database: Database, tmp_path: Path
) -> None:
    headers = {"Idempotency-Key": "k"}
    sent = multipart({**SPEC, "identifier": "mrn"}, with_identifiers())
    cohort = client.post("/v1/cohorts", files=sent, headers=headers).json()
    run_search(client, driver, cohort)
    asked = {"identifier": IDENTIFIER}
    first = client.post(ERASURES, json=asked, headers=headers)
    assert first.status_code == 201
    repeated = client.post(ERASURES, json=asked, headers=headers)
    assert (repeated.json(), repeated.headers["Idempotency-Replayed"]) == (first.json(), "true")
    with database.session(read_only=True) as session:
        stored = [str(session.execute(select(table)).all()) for table in Base.metadata.sorted_tables]
    stored += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert len(stored) > len(Base.metadata.sorted_tables)
    assert not [text for text in stored if IDENTIFIER in text]
    # The stored answer to the upload described the patient among others.
    posted = client.post("/v1/cohorts", files=sent, headers=headers)
    assert "Idempotency-Replayed" not in posted.headers


def test_what_was_computed_from_a_cohort_before_it_changed_is_refused(client: TestClient, database: Database) -> None:
    cohort = upload(client)
    with database.session() as session:
        owner_id = session.scalars(select(CohortRow.owner_id)).one()
    erase(client)
    with database.session() as session, pytest.raises(ConflictError, match="repeat the request"):
        CohortRepository(session).lock(owner_id, {cohort["id"]: cohort["sha256"]})


class Racing(Files):
    """Files before whose first reading, or writing, something else happens."""

    def __init__(self, files: Files, happens: Callable[[], object], *, before: str = "get") -> None:
        self.__dict__.update(files.__dict__)
        self._happening = {before: happens}

    def get(self, kind: Kind, sha256: str) -> bytes:
        self._happening.pop("get", bool)()
        return super().get(kind, sha256)

    def put(self, kind: Kind, content: bytes) -> str:
        self._happening.pop("put", bool)()
        return super().put(kind, content)


@pytest.mark.parametrize("other", ["erasure", "deletion"])
def test_a_cohort_that_changes_meanwhile_is_a_conflict(
    client: TestClient, local_app: FastAPI, database: Database, files: Files, other: str
) -> None:
    cohort = upload(client)
    with database.session(read_only=True) as session:
        owner_id = session.scalars(select(CohortRow.owner_id)).one()

    def happens() -> None:
        if other == "erasure":
            erase(client)
        else:
            assert client.delete(f"/v1/cohorts/{cohort['id']}").status_code == 204

    context = replace(local_app.state.context, files=Racing(files, happens))
    with pytest.raises(ConflictError, match="repeat the request"):
        service.preview(context, owner_id, PatientErasureRequest(identifier=IDENTIFIER))


@pytest.mark.parametrize("kind", ["identifiers", "cohorts"])
def test_a_cohort_whose_file_is_lost_does_not_keep_the_patient_in_others(
    kind: Kind, client: TestClient, database: Database, files: Files
) -> None:
    """The lost file is of no other cohort: its cohort has a patient fewer."""
    header, *rows = with_identifiers().splitlines()
    lost, other = upload(client, content=b"\n".join([header, *rows[:-1]])), upload(client)
    with database.session() as session:
        row = session.scalars(select(CohortRow).where(CohortRow.id == lost["id"])).one()
        assert row.identifiers_sha256 is not None
        files.delete(StoredFile(kind, row.identifiers_sha256 if kind == "identifiers" else row.sha256))
    erasure = erase(client)
    assert [each["cohort_id"] for each in erasure["cohorts"]] == [other["id"]]
    assert erasure["not_searched"] == [lost["id"]]


def test_faults_of_a_request_are_listed(client: TestClient) -> None:
    refused = client.post(ERASURES, json={"identifier": IDENTIFIER, "models": "some", "reference": 7, "other": 1})
    assert refused.status_code == 422
    assert sorted(pointers(refused)) == ["/models", "/other", "/reference"]
    assert client.post(ERASURES, json={"identifier": 17}).status_code == 422
