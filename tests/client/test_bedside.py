"""The client at the bedside: diagnosis, test selection and the status of models, in one process."""

from __future__ import annotations

import pytest

from autoprog import Client, ServerError
from autoprog.client import DiagnosisModel, Model, Search, SelectionProblem
from autoprog.jobs.runner import JobRunner
from tests.api.searching import FILE, SPEC, patient
from tests.client.test_client import model, runner, search

__all__ = ["model", "runner", "search"]  # fixtures

TESTS = [
    {"name": "talk", "cost": 0, "features": ["pain"]},
    {"name": "panel", "cost": 35, "minutes": 45, "features": ["dark urine"]},
    {"name": "ultrasound", "cost": 60, "minutes": 20, "features": ["wide bile ducts"]},
]


@pytest.fixture
def jaundice(client: Client) -> DiagnosisModel:
    return client.create_diagnosis_model(
        name="jaundice",
        objects=[{"name": "hepatitis"}, {"name": "haemolysis"}, {"name": "gallstone"}, {"name": "tumour"}],
        queries=[{"name": "pain"}, {"name": "dark urine"}, {"name": "wide bile ducts"}],
        responses=[[0, 1, 0], [0, 0, 0], [1, 1, 1], [0, 1, 1]],
    )


def test_session_of_diagnosis_ends_with_the_object_that_answers_so(client: Client, jaundice: DiagnosisModel) -> None:
    truth = {"pain": False, "dark urine": True, "wide bile ducts": True}
    session = jaundice.open_session()
    assert len(session.remaining) == 4
    asked = []
    while not session.is_done:
        assert session.question is not None
        asked.append(session.question)
        session.answer(truth[session.question])
    assert session.result is not None
    assert session.result["object"] == "tumour"
    assert client.diagnosis_session(session.id).document == session.document
    assert [each["id"] for each in jaundice.sessions()] == [session.id]
    with pytest.raises(ServerError, match="asks no question"):
        session.answer(True)

    session.undo()
    assert not session.is_done
    assert session.question == asked[-1]
    session.delete()
    assert jaundice.sessions() == []
    with pytest.raises(ServerError, match="no diagnosis session"):
        session.refresh()


def test_session_takes_what_is_known_and_several_answers(jaundice: DiagnosisModel) -> None:
    session = jaundice.open_session(known=[{"query": "pain", "answer": False}])
    assert {each["object"] for each in session.remaining} == {"hepatitis", "haemolysis", "tumour"}
    names = [each["name"] for each in session.batch(2)]
    assert names[0] == session.question
    assert sorted(names) == ["dark urine", "wide bile ducts"]
    for name in names:
        session.answer(False, name, volunteered=True)
    assert session.result is not None
    assert session.result["object"] == "haemolysis"
    with pytest.raises(ServerError) as refused:
        jaundice.open_session(known=[{"query": "fever", "answer": True}])
    assert [fault.pointer for fault in refused.value.faults] == ["/known/0/query"]


def test_undo_needs_an_answer(jaundice: DiagnosisModel) -> None:
    with pytest.raises(ServerError, match="no answer"):
        jaundice.open_session().undo()


def test_tests_of_a_catalogue_are_ordered_for_answers(client: Client, jaundice: DiagnosisModel) -> None:
    catalogue = client.create_catalogue("ward", TESTS)
    assert [each["name"] for each in catalogue.tests] == ["talk", "panel", "ultrasound"]
    assert client.catalogue(catalogue.id).document == catalogue.document
    session = jaundice.open_session(catalogue_id=catalogue.id)
    orders = []
    while not session.is_done:
        orders.append(session.order)
        session.answer(False)
    costs = {each["name"]: each["cost"] for each in TESTS}
    assert orders[0] == "talk"
    assert session.document["spent"]["cost"] == sum(costs[order] for order in orders) > 0
    catalogue.delete()
    assert client.catalogues() == []


def test_diagnosis_models_are_listed_drawn_and_deleted(client: Client, jaundice: DiagnosisModel) -> None:
    assert (jaundice.name, client.diagnosis_model(jaundice.id).document) == ("jaundice", jaundice.document)
    assert "gallstone" in jaundice.tree()
    assert [each.id for each in client.diagnosis_models()] == [jaundice.id]
    jaundice.delete()
    assert client.diagnosis_models() == []


def _problem(client: Client, **fields: object) -> SelectionProblem:
    tests = [
        {"name": "history", "cost": 1, "features": ["age"]},
        {"name": "laboratory", "cost": 20, "features": ["trestbps"]},
    ]
    asked = {"structure": "cascade", "trade_off": 0.001, "seed": 0, "tests": tests, **fields}
    return client.create_selection_problem("chest pain", **asked)


def test_rounds_with_classifiers_go_from_test_to_test_to_a_prediction(client: Client, runner: JobRunner) -> None:
    problem = _problem(client, cohort=client.create_cohort(FILE, SPEC))
    assert problem.status == "training"
    with pytest.raises(TimeoutError, match="is training after 0 s"):
        problem.wait(timeout_s=0)
    with pytest.raises(ServerError):
        problem.open_round()
    assert runner.run_one()
    found = problem.wait().open_round()
    assert found.tests[0] == "history"
    measured = {"history": {"age": 61}, "laboratory": {"trestbps": None}}
    while (test := found.next_test) is not None:
        assert not found.is_closed
        found.measure(measured[test])
    assert found.is_closed
    assert found.prediction in {0, 1}
    assert problem.round(found.id).document == found.document
    assert [each.id for each in problem.rounds()] == [found.id]
    with pytest.raises(ServerError):
        found.delete()


def test_rounds_take_predictions_of_other_classifiers(client: Client) -> None:
    problem = _problem(client, tests=[{"name": "history", "cost": 1}, {"name": "laboratory", "cost": 20}])
    found = problem.wait().open_round()
    assert (found.next_test, found.prediction) == (None, None)
    found.predict({"1": 1, "2": 1})
    assert (found.is_closed, found.prediction) == (True, 1)
    problem.open_round().delete()
    assert len(problem.rounds()) == 1
    assert [each.id for each in client.selection_problems()] == [problem.id]
    assert client.selection_problem(problem.id).status == "ready"
    problem.delete()
    assert client.selection_problems() == []


def test_failed_training_is_told(client: Client) -> None:
    problem = _problem(client, tests=[{"name": "history", "cost": 1}])
    problem.refresh = lambda: problem  # type: ignore[method-assign]
    problem.document = {**problem.document, "status": "failed", "error": {"detail": "too few patients"}}
    with pytest.raises(ServerError, match="too few patients"):
        problem.wait()


def test_frontier_shows_what_tests_are_worth(search: Search, runner: JobRunner) -> None:
    tests = [
        {"name": "history", "cost": 1, "features": ["age", "sex", "cp"]},
        {"name": "exercise ECG", "cost": 87.3, "features": ["thalach", "exang"]},
    ]
    frontier = search.create_frontier(tests=tests)
    assert frontier.points.empty
    with pytest.raises(TimeoutError):
        frontier.wait(timeout_s=0)
    assert runner.run_one()
    points = frontier.wait().points
    assert [set(names) for names in points["tests"]] == [
        {"history"}, {"exercise ECG"}, {"history", "exercise ECG"},
    ]  # fmt: skip
    assert points["cost"].tolist() == pytest.approx([1, 87.3, 88.3])
    assert points["score"].between(0.5, 1).all()
    ranked = frontier.missing_tests(patient(thalach=None, exang=None))
    assert [each["test"] for each in ranked["items"]] == ["exercise ECG"]
    assert [each.id for each in search.frontiers()] == [frontier.id]
    frontier.delete()
    assert search.frontiers() == []
    with pytest.raises(ServerError) as refused:
        search.create_frontier(tests=[{"name": "history", "cost": -1, "features": ["agee"]}])
    assert len(refused.value.faults) >= 2


def test_model_is_approved_retired_and_rolled_back(client: Client, model: Model) -> None:
    assert model.status == "draft"
    assert not client.approved_only
    client.approved_only = True
    assert client.approved_only
    assert model.change_status("approved", "reviewed on 3 June").status == "approved"
    newer = model.recalibrate(model.document["cohort_id"])
    newer.change_status("approved", replaces=model)
    assert model.refresh().status == "retired"
    with pytest.raises(ServerError, match=r"(?i)retired"):
        model.predict([patient()])
    model.change_status("approved", replaces=newer.id)
    assert newer.refresh().status == "retired"
    assert [(each["status"], each["note"]) for each in model.status_changes()] == [
        ("approved", "reviewed on 3 June"),
        ("retired", f"replaced by model {newer.id}"),
        ("approved", None),
    ]
    assert len(model.predict([patient()])) == 1
    with pytest.raises(ServerError):
        model.change_status("approved")
