"""The client against the application, in one process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx2
import numpy as np
import pandas as pd
import pytest

import autoprog
from autoprog import Client, ServerError
from autoprog.client import Model, Search
from autoprog.client.connection import retry_after_s
from autoprog.client.tables import chunks, patients_of
from autoprog.jobs.runner import JobRunner
from tests.api.searching import FILE, SPEC, Driver, patient, simple_result
from tests.api.test_test_frontiers import runner
from tests.client.conftest import Unreliable

__all__ = ["runner"]


def frame(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    died = np.arange(n) % 2
    return pd.DataFrame({
        "age": rng.normal(60, 10, n) + 5 * died,
        "sex": pd.Categorical(rng.choice(["f", "m"], n)),
        "smoker": pd.array(rng.choice([True, False, None], n), dtype="boolean"),
        "died": died,
    })  # fmt: skip


@pytest.fixture
def search(client: Client, driver: Driver) -> Search:
    found = client.start_search(client.create_cohort(FILE, SPEC), time_s=60)
    driver.run()
    return found.wait(poll_s=0.01)


@pytest.fixture
def model(search: Search) -> Model:
    return search.model


def test_patient_is_erased(client: Client, driver: Driver) -> None:
    patients = frame().assign(mrn=[f"P{i}" for i in range(40)])
    cohort = client.create_cohort(patients, outcome={"column": "died", "positive": 1}, identifier="mrn")
    expected = client.erase_patient("P7", reference="request 1", preview=True)
    assert client.patient_erasures() == []
    assert cohort.refresh().n_patients == 40
    erased = client.erase_patient("P7", reference="request 1")
    assert [each["cohort_id"] for each in erased["cohorts"]] == [cohort.id]
    assert erased.items() > expected.items()
    assert client.patient_erasures() == [erased]
    assert cohort.refresh().n_patients == 39
    client.start_search(cohort, time_s=60)
    driver.claim()
    with pytest.raises(ServerError, match="cancel the running searches") as refused:
        client.erase_patient("P8", models="delete")
    assert refused.value.status == 409


def test_data_frame_becomes_cohort(client: Client) -> None:
    cohort = client.create_cohort(frame(), name="small", outcome={"column": "died", "positive": 1})
    assert (cohort.name, cohort.n_patients) == ("small", 40)
    kinds = {feature["name"]: feature["kind"] for feature in cohort.document["features"]}
    assert kinds == {"age": "numeric", "sex": "binary", "smoker": "binary"}
    assert client.cohort(cohort.id).document == cohort.document
    assert [each.id for each in client.cohorts()] == [cohort.id]
    cohort.delete()
    assert client.cohorts() == []


def test_categories_of_a_data_frame_keep_what_they_are(client: Client) -> None:
    stage = pd.Categorical.from_codes(np.arange(40) % 3, ["mild", "severe", "worst"], ordered=True)
    ward = pd.Categorical(np.arange(40) % 4 + 1)
    table = frame().assign(stage=stage, ward=ward, side=pd.Categorical(["left", "right"] * 20, ordered=True))
    outcome = {"column": "died", "positive": 1}
    features = client.create_cohort(table, outcome=outcome).document["features"]
    assert {each["name"]: each["kind"] for each in features}.items() >= {
        "stage": "ordinal", "ward": "categorical", "side": "binary",
    }.items()  # fmt: skip
    assert next(each["levels"] for each in features if each["name"] == "stage") == ["mild", "severe", "worst"]
    told = client.create_cohort(table, outcome=outcome, features={"ward": {"kind": "numeric"}}, ignore=["stage"])
    assert {each["name"]: each["kind"] for each in told.document["features"]}["ward"] == "numeric"
    assert "stage" not in {each["name"] for each in told.document["features"]}


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "string", "category", "object"])
def test_unknown_values_of_any_type_are_null(dtype: str) -> None:
    data = pd.DataFrame({"stage": pd.Series(["1", None], dtype="object").astype(dtype), "age": [np.nan, 60.0]})
    first, second = patients_of(data)
    assert (first["age"], second) == (None, {"stage": None, "age": 60.0})
    assert str(first["stage"])[0] == "1"


def test_file_becomes_cohort_of_its_name(client: Client, tmp_path: Path) -> None:
    (tmp_path / "ward.csv").write_text(frame().to_csv(index=False))
    assert client.create_cohort(tmp_path / "ward.csv", outcome={"column": "died", "positive": 1}).name == "ward"


def test_mode_follows_from_the_outcome(client: Client) -> None:
    table = frame().assign(months=np.arange(1, 41))
    outcome = {"time": "months", "event": "died", "horizons": [12, 24]}
    cohort = client.create_cohort(table, outcome=outcome)
    assert cohort.document["mode"] == "survival"
    assert cohort.document["outcome"]["horizons"] == [12, 24]


def test_faults_of_a_request_are_named(client: Client) -> None:
    with pytest.raises(ServerError, match="did you mean 'died'") as refused:
        client.create_cohort(frame(), outcome={"column": "dead", "positive": 1}, ignore=["nobody"])
    assert refused.value.status == 422
    assert refused.value.problem == "invalid-input"
    assert [fault.pointer for fault in refused.value.faults] == ["/spec/outcome/column", "/spec/ignore/0"]
    with pytest.raises(ServerError) as refused:
        client.search("0" * 32)
    assert (refused.value.status, refused.value.problem, refused.value.faults) == (404, "not-found", ())


def test_search_has_score_rules_and_leaderboard(search: Search, tmp_path: Path) -> None:
    assert (search.status, search.is_finished) == ("succeeded", True)
    assert search.score["lower"] < search.score["estimate"] < search.score["upper"]
    assert list(search.rules.columns[:3]) == ["rule", "horizon", "stratum"]
    assert len(search.rules) > 0
    assert {stratum["name"] for stratum in search.strata} == {"high", "medium", "low"}
    board = search.leaderboard
    assert board["score"].dropna().is_monotonic_decreasing
    assert board.loc[0, "prediction"] == "logistic_regression"
    assert search.summary().startswith("auc_roc 0.")
    search.report(tmp_path / "report.html")
    assert "<h1>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    search.report(tmp_path / "report.docx")
    assert (tmp_path / "report.docx").read_bytes().startswith(b"PK")
    with pytest.raises(ValueError, match=r"not as \.txt"):
        search.report(tmp_path / "report.txt")


def test_predictions_are_those_of_the_model(model: Model) -> None:
    patients = pd.DataFrame([patient(), patient(age=97, chol=None)], index=["ada", "bob"])
    table = model.predict(patients.assign(comment="not a feature"))
    expected = [risk.risk for risk in simple_result()[0].model.predict([patient(), patient(age=97, chol=None)])]
    np.testing.assert_allclose(table["risk"], expected)
    assert table.index.tolist() == ["ada", "bob"]
    assert table.loc["ada", "warnings"] == ""
    assert "chol was imputed" in table.loc["bob", "warnings"]
    pd.testing.assert_frame_equal(model.predict([patient()]).reset_index(drop=True), table[:1].reset_index(drop=True))


def test_many_patients_go_in_several_requests(
    model: Model, network: Unreliable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoprog.client.tables._MOST_CELLS", 13 * 4)
    before = len(network.requests)
    table = model.predict(pd.DataFrame([patient(age=age) for age in range(40, 50)]))
    assert len(network.requests) - before == 3
    assert table["risk"].is_monotonic_increasing or table["risk"].is_monotonic_decreasing
    assert len(table) == 10


def test_faults_name_patients_by_their_place_among_all(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoprog.client.tables._MOST_PATIENTS", 2)
    with pytest.raises(ServerError, match=r"\n  /patients/3/age: expected a number or null") as refused:
        model.predict([patient(age="old" if i == 3 else 50) for i in range(6)])
    assert [fault.pointer for fault in refused.value.faults] == ["/patients/3/age"]
    assert (refused.value.status, refused.value.problem) == (422, "invalid-input")


def test_requests_are_as_large_as_their_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoprog.client.tables._MOST_CELLS", 20)
    visit = {"day": 1, "crp": 2.0, "stage": "I"}
    patients = [{"visits": [visit] * n} for n in (1, 5, 2, 9, 1)]
    assert [(start, len(some)) for start, some in chunks(patients)] == [(0, 2), (2, 1), (3, 1), (4, 1)]
    assert [start for start, _ in chunks([{"age": 60, "visits": 3}] * 21)] == [0, 10, 20]
    assert list(chunks([])) == []


def test_records_of_a_table_are_patients(model: Model) -> None:
    table = pd.DataFrame([patient(), patient(chol=np.nan)], dtype=float)
    records = [{name: np.float64(value) for name, value in row.items()} for row in table.to_dict("records")]
    records[0]["age"] = np.int64(table["age"][0])
    pd.testing.assert_frame_equal(model.predict(records), model.predict(table))
    assert patients_of([{"visits": [{"day": np.int64(1), "crp": np.nan, "stage": pd.NA}]}]) == [
        {"visits": [{"day": 1, "crp": None, "stage": None}]}
    ]


def test_models_are_validated_and_recalibrated(client: Client, model: Model, tmp_path: Path) -> None:
    other = client.create_cohort(FILE, {**SPEC, "name": "other"})
    validation = model.validate(other)
    assert validation.scores["auc_roc"]["estimate"] > 0.7
    assert [each.id for each in model.validations()] == [validation.id]
    assert validation.refresh().document["model_id"] == model.id
    validation.report(tmp_path / "report.md")
    assert "## Apparent performance" in (tmp_path / "report.md").read_text(encoding="utf-8"), "it is the same file"
    assert model.recalibrate(other, "intercept").document["parent_id"] == model.id
    validation.delete()
    assert model.validations() == []
    model.delete()
    assert model.id not in [each.id for each in client.models()]


def test_next_tests_are_ranked(client: Client, model: Model) -> None:
    known = patient()
    withheld = next(name for name in model.features if known.get(name) is not None)
    found = model.next_tests({**known, withheld: None})
    assert withheld in [each["test"] for each in found["items"]]
    with pytest.raises(ServerError, match="no test catalogue"):
        model.next_tests(known, catalogue_id="nobody")


def test_models_are_compared(client: Client, model: Model) -> None:
    cohort = client.create_cohort(FILE, {**SPEC, "name": "elsewhere"})
    (found,) = model.compare(model, cohort)["horizons"]
    assert found["difference"]["auc_roc"]["estimate"] == 0
    assert found["model"] == found["other"]


def test_explanation_is_waited_for(search: Search, runner: JobRunner) -> None:
    with pytest.raises(TimeoutError, match="is queued after 0 s"):
        search.explain(timeout_s=0)
    assert runner.run_one()
    assert search.explain()["folds"] == search.document["settings"]["folds"]


def test_search_is_cancelled_continued_and_deleted(client: Client, driver: Driver) -> None:
    first = client.start_search(client.create_cohort(FILE, SPEC), evaluations=5, seed=3)
    assert first.document["settings"]["budget"]["evaluations"] == 5
    driver.run()
    again = first.continue_for(60, evaluations=2)
    assert again.document["continues"] == first.id
    assert again.cancel().status == "cancelled"
    with pytest.raises(ServerError, match="it ended as cancelled"):
        again.wait(poll_s=0.01)
    again.delete()
    assert [each.id for each in client.searches()] == [first.id]


def test_waiting_has_an_end(client: Client) -> None:
    search = client.start_search(client.create_cohort(FILE, SPEC))
    with pytest.raises(TimeoutError, match=r"is queued after 0\.05 s"):
        search.wait(timeout_s=0.05, poll_s=0.02)
    with pytest.raises(ServerError, match="no model: it is queued"):
        search.model  # noqa: B018  asking is the test


def test_progress_is_shown_on_request(client: Client, driver: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    search = client.start_search(client.create_cohort(FILE, SPEC))
    with pytest.raises(TimeoutError):
        search.wait(timeout_s=0.05, poll_s=0.02, verbose=1)
    assert "queued: 0 pipelines" in capsys.readouterr().err
    with pytest.raises(TimeoutError):
        search.wait(timeout_s=0.05, poll_s=0.02)
    assert capsys.readouterr().err == ""


def test_lost_answer_is_asked_for_again_and_the_work_is_done_once(client: Client, network: Unreliable) -> None:
    network.coming = ["cut", "lose"]
    cohort = client.create_cohort(frame(), outcome={"column": "died", "positive": 1})
    assert [request.method for request in network.requests] == ["POST"] * 3
    assert len({request.headers["Idempotency-Key"] for request in network.requests}) == 1
    assert [each.id for each in client.cohorts()] == [cohort.id]
    network.coming = ["lose"]
    cohort.delete()  # a second time there is nothing to delete
    assert client.cohorts() == []


def test_busy_server_says_when_to_ask_again(client: Client, network: Unreliable) -> None:
    network.coming = [httpx2.Response(503, headers={"Retry-After": "0.4"}), httpx2.Response(429), "pass"]
    began = time.monotonic()
    assert client.cohorts() == []
    assert 0.4 <= time.monotonic() - began < 3
    assert len(network.requests) == 3


def test_patience_ends(make_client: Callable[..., Client], network: Unreliable) -> None:
    client = make_client(patience_s=0.6)
    network.coming = ["cut"] * 100
    with pytest.raises(ServerError, match="cannot be reached: connection refused") as away:
        client.cohorts()
    assert (away.value.problem, away.value.status) == ("unreachable", None)
    assert 2 <= len(network.requests) < 10
    network.coming = [httpx2.Response(503, headers={"Retry-After": "60"})]
    began = time.monotonic()
    with pytest.raises(ServerError, match="the server answered 503"):
        client.cohorts()
    assert time.monotonic() - began < 1


def test_other_faults_are_not_repeated(client: Client, network: Unreliable) -> None:
    with pytest.raises(ServerError):
        client.model("nobody")
    assert len(network.requests) == 1


def test_retry_after_is_a_number_or_a_date() -> None:
    assert retry_after_s(None) is None
    assert retry_after_s("soon") is None
    assert retry_after_s("2") == 2
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert retry_after_s(later) == pytest.approx(30, abs=2)


def test_client_needs_few_packages() -> None:
    code = (
        "import sys; from autoprog import Client; Client('http://127.0.0.1:1').close(); "
        "print(' '.join({m.split('.')[0] for m in sys.modules}))"
    )
    names = set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.decode().split())
    assert "httpx2" in names
    heavy = {"numpy", "pandas", "scipy", "sklearn", "torch", "xgboost", "lightgbm", "fastapi", "sqlalchemy", "dask"}
    assert names & heavy == set()


def test_package_is_typed() -> None:
    assert (Path(autoprog.__file__).parent / "py.typed").exists()
