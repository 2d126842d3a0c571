"""Pages of models: the list, one model, the calculator, a validation, deleting."""

from __future__ import annotations

import gzip
import html
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from api.cohorts.schemas import TimeToEventDocument
from api.pages.models.calculator import Answer, Bar, Choice, squares
from api.pages.rendering import _environment
from autoprog.cohort import CohortSpec, read_cohort
from autoprog.evaluation import Status
from autoprog.interpreter import explain, make_strata
from autoprog.model import Member, ModelMetadata, PrognosticModel, dump_estimator
from autoprog.space import TableShape, build_pipeline
from autoprog.storage.database import Database
from autoprog.storage.tables import ModelRow
from autoprog.validation import FeatureDistribution, Refit, fit_patient_intervals
from tests.api.searching import FILE, SIMPLE, SPEC, Driver, make_search, multipart, patient, simple_result, table
from tests.cohorts import cleveland_cohort, event_cohort, event_file, event_spec
from tests.event_models import cox_model
from tests.pages.test_frame import BROWSER

NAMES = list(patient())


@pytest.fixture
def model_id(client: TestClient, driver: Driver) -> str:
    search = make_search(client)
    driver.run()
    found: str = client.get(f"/v1/searches/{search['id']}").json()["model_id"]
    return found


def form(**values: object) -> dict[str, str]:
    """What a browser sends: every field, empty where nothing was entered."""
    return {f"x-{i}": str(values.get(name, "")) for i, name in enumerate(NAMES)}


def calculate(client: TestClient, model_id: str, **values: object) -> tuple[int, str]:
    page = client.post(f"/models/{model_id}/calculator", data=form(**values), headers={"HX-Request": "true"})
    return page.status_code, page.text


def test_models_are_listed_found_by_name_and_deleted_after_a_question(client: TestClient, model_id: str) -> None:
    name = client.get("/v1/cohorts").json()["items"][0]["name"]
    assert f"/models/{model_id}" in client.get("/models", headers=BROWSER).text
    assert f"/models/{model_id}" in client.get(f"/models?q={name[1:4]}", headers=BROWSER).text
    assert f"/models/{model_id}" not in client.get("/models?q=nothing", headers=BROWSER).text
    assert "This cannot be undone" in client.get(f"/models/{model_id}/delete", headers=BROWSER).text
    assert client.get(f"/v1/models/{model_id}").status_code == 200
    assert client.post(f"/models/{model_id}/delete", follow_redirects=False).status_code == 303
    assert client.get(f"/v1/models/{model_id}").status_code == 404


def test_a_model_shows_its_score_beside_the_simple_models(client: TestClient, model_id: str) -> None:
    text = client.get(f"/models/{model_id}", headers=BROWSER).text
    search_id = client.get(f"/v1/models/{model_id}").json()["search_id"]
    ensemble = client.get(f"/v1/searches/{search_id}/ensemble").json()
    assert f"{ensemble['score']['estimate']:.3f}" in text
    assert f"{ensemble['baseline']['score']['estimate']:.3f}" in text


def test_a_model_says_how_many_of_its_patients_were_erased(
    client: TestClient, model_id: str, database: Database
) -> None:
    assert "Erased since" not in client.get(f"/models/{model_id}", headers=BROWSER).text
    with database.session() as session:
        session.execute(update(ModelRow).values(patients_erased=2))
    assert "2 patients whom it was fitted on" in client.get(f"/models/{model_id}", headers=BROWSER).text


def test_the_calculator_says_what_the_model_predicts(client: TestClient, model_id: str) -> None:
    known = {name: value for name, value in patient().items() if value is not None}
    body = {"patients": [patient()], "explain": True}
    expected = client.post(f"/v1/models/{model_id}/predictions", json=body).json()["items"][0]
    code, text = calculate(client, model_id, **known)
    assert code == 200
    assert f"{100 * expected['risk']:.1f} %" in text
    assert f"stratum: {expected['stratum']}" in text
    assert f"{round(100 * expected['risk'])} of 100 patients like this" in text
    assert text.count('class="has"') == round(100 * expected["risk"])
    largest = expected["contributions"][0]
    assert f"{100 * largest['risk']:+.1f}" in text.replace("−", "-")


def test_pages_say_what_is_predicted_by_the_name_that_it_was_given(
    client: TestClient, driver: Driver, database: Database
) -> None:
    spec = {**SPEC, "outcome": {**SPEC["outcome"], "label": "Stenosis <b>"}}
    made = client.post("/v1/searches", files=multipart(spec)).json()
    driver.run()
    search = client.get(f"/v1/searches/{made['id']}").json()
    with database.session() as session:  # the driver's model is of a cohort without a name for it
        (row,) = session.scalars(select(ModelRow))
        row.document = {**row.document, "outcome": {**row.document["outcome"], "label": "Stenosis <b>"}}
    model, cohort_id = f"/models/{search['model_id']}", search["cohort_id"]
    validation = client.post(f"/v1{model}/validations", json={"cohort_id": cohort_id}).json()["id"]
    for page in (f"/searches/{search['id']}", f"{model}/calculator", f"{model}/validations/{validation}"):
        assert "Predicted: Stenosis &lt;b&gt; (outcome = 1)" in client.get(page, headers=BROWSER).text
    for page in (model, "/models", "/cohorts", f"/cohorts/{cohort_id}"):
        assert "Stenosis &lt;b&gt; (outcome = 1)" in client.get(page, headers=BROWSER).text


def test_the_calculator_names_units_and_ranges(client: TestClient, model_id: str) -> None:
    text = client.get(f"/models/{model_id}/calculator", headers=BROWSER).text
    for name, unit, values in (
        ("age", "years", "29 to 77"),
        ("trestbps", "mm Hg", "94 to 200"),
        ("chol", "mg/dl", "126 to 564"),
        ("thalach", "1/min", "71 to 202"),
        ("oldpeak", "mm", "0 to 6.2"),
    ):
        field = f"x-{NAMES.index(name)}"
        assert f'<label for="{field}">{name} <span class="ends">({unit})</span></label>' in text
        assert f'id="{field}-hint">patients had {values}</p>' in text
    thal = f"x-{NAMES.index('thal')}"
    levels = "".join(f'<option value="{level}">{level}</option>' for level in (3, 6, 7))
    assert f'name="{thal}"><option value="">unknown</option>{levels}</select>' in text


def test_the_calculator_shows_the_interval_of_the_risk_where_the_model_has_one(
    client: TestClient, driver: Driver
) -> None:
    cohort, (result, cv) = cleveland_cohort(), simple_result()
    q = cv.risks.astype(np.float64)
    rng = np.random.default_rng(0)
    refits = [
        Refit(np.where(rng.random(len(q)) < 0.5, q + 0.2 * q * (1 - q) * rng.normal(size=len(q)), np.nan), q)
        for _ in range(20)
    ]
    intervals = fit_patient_intervals(
        cohort.features, cohort.X, q[None], np.ones(1), q, refits,
        folds=5, covariance=0.01 * np.eye(2), lack_of_fit=0.1,
    )  # fmt: skip
    search = make_search(client)
    claim = driver.claim()
    driver.explore(claim, Status.SUCCEEDED)
    driver.store.finish(claim, replace(result, model=replace(result.model, intervals=(intervals,))), cancelled=False)
    model_id = client.get(f"/v1/searches/{search['id']}").json()["model_id"]
    known = {name: value for name, value in patient().items() if value is not None}
    for values, hint in ((known, None), (known | {"age": None}, "1 finding is unknown: the interval covers")):
        body = {"patients": [values]}
        expected = client.post(f"/v1/models/{model_id}/predictions", json=body).json()["items"][0]
        lower, upper = (100 * end for end in expected["interval"])
        assert 0 < lower < 100 * expected["risk"] < upper < 100
        code, text = calculate(client, model_id, **{k: v for k, v in values.items() if v is not None})
        assert code == 200
        assert f"90 % interval {lower:.1f} % to {upper:.1f} %" in text
        assert hint in text if hint else "unknown" not in text


def test_without_time_for_intervals_the_calculator_says_so(client: TestClient, model_id: str) -> None:
    text = calculate(client, model_id, age=50)[1]
    assert "The search had no time to estimate how uncertain this is" in text
    assert "% interval" not in text


def test_risks_and_drawings_name_their_horizon_with_its_unit() -> None:
    outcome = TimeToEventDocument(
        time="t", event="e", event_of_interest="1", competing=[], censored="0", time_unit="years", horizons=[1.0, 5.0]
    )
    page = (
        _environment("en")
        .get_template("models/answer.html")
        .render(
            model=SimpleNamespace(id="0", outcome=outcome, horizons=outcome.horizons),
            answers=[Answer(1.0, 0.05, None, None, {}), Answer(5.0, 0.12, None, None, {})],
            bars=[Bar("age", "60", 0.02, 150.0, 150.0)],
            met=[{"conditions": [], "stratum": "high", "horizon": 5.0}],
            prediction=SimpleNamespace(warnings=(), widened_most_by=None),
            squares=squares, texts={}, imputed=[], ranked=None, choice=Choice(),
        )
    )  # fmt: skip
    for text in (
        "Risk until 1 years", "Risk until 5 years", "12 of 100 patients like this until 5 years</figcaption>",
        'aria-label="12 of 100 patients like this have the outcome until 5 years"',
        "What counts most here until 5 years", "until time 5 years",
    ):  # fmt: skip
        assert text in page, text


def test_concordance_with_competing_events_is_wolberss() -> None:
    template = _environment("en").from_string(
        '{% from "_cohort_macros.html" import metric_name %}{{ metric_name("uno_c", outcome)|trim }}'
    )
    names = [template.render(outcome={"competing": competing}) for competing in ([], ["2"])]
    assert [name.partition("(")[2] for name in names] == ["Uno's concordance)", "Wolbers's concordance)"]


def test_nothing_known_is_a_patient_too(client: TestClient, model_id: str) -> None:
    page = client.get(f"/models/{model_id}/calculator", headers=BROWSER)
    assert page.status_code == 200
    assert f"{len(NAMES)} findings are unknown" in page.text
    assert "What counts most here" not in page.text


def test_unusual_values_are_named_and_words_in_a_number_are_faults(client: TestClient, model_id: str) -> None:
    code, text = calculate(client, model_id, age=97)
    assert code == 200
    assert "age 97 is outside the training range" in text
    code, text = calculate(client, model_id, age="old")
    assert code == 422
    assert "age: give a number" in text
    assert "big-number" not in text
    page = client.post(f"/models/{model_id}/calculator", data=form(age="old"), headers=BROWSER)
    assert page.status_code == 422
    assert 'value="old"' in page.text, "what was entered stays"
    assert calculate(client, model_id, age="1e999")[0] == 422
    assert calculate(client, model_id, age="<script>")[1].count("<script>") == 0


def test_a_fault_stands_beside_a_field_whose_name_has_a_slash(client: TestClient, driver: Driver) -> None:
    rows = table("a/b,c,died", *(f"{37 * i % 101},{53 * i % 97},{i % 2}" for i in range(40)))
    spec = CohortSpec.model_validate({"name": "slash", "outcome": {"column": "died", "positive": 1}})
    cohort = read_cohort(rows, spec).cohort
    pipeline = build_pipeline(SIMPLE, cohort.features, TableShape.of(cohort, 5), 0).fit(cohort.X, cohort.y)
    risks = pipeline.predict_proba(cohort.X)[:, 1]
    rules, member = explain(cohort, risks, make_strata(risks)), Member(1.0, dump_estimator(pipeline))
    distribution = FeatureDistribution.fit(cohort.features, cohort.X)
    model = PrognosticModel(
        cohort.features, cohort.outcome, (member,), (rules,), ModelMetadata.of(cohort), distribution=distribution
    )
    search = make_search(client)
    driver.store.finish(driver.claim(), replace(simple_result()[0], model=model), cancelled=False)
    made = client.get(f"/v1/searches/{search['id']}").json()["model_id"]
    page = client.post(f"/models/{made}/calculator", data={"x-0": "1e200"}, headers=BROWSER)
    assert page.status_code == 422
    assert "<li>a/b: expected a number below 1e+100 in size" in page.text
    assert page.text.count('class="error" role="alert">expected a number below') == 1


def test_a_decimal_comma_is_a_point(client: TestClient, model_id: str) -> None:
    assert calculate(client, model_id, oldpeak="1,5")[1] == calculate(client, model_id, oldpeak="1.5")[1].replace(
        "1.5", "1,5"
    )


@pytest.mark.parametrize(
    ("language", "typed", "said"),
    [
        ("en", "1,564", "this can be read in two ways: write &#39;1564&#39; or &#39;1.564&#39;"),
        ("en", "2,616,000.5", "write &#39;2616000.5&#39;, without separators of thousands"),
        ("de", "1.564", "dies lässt sich auf zwei Arten lesen: schreiben Sie &#39;1564&#39; oder &#39;1,564&#39;"),
        ("en", "nan", "give a number"),
        ("en", "-inf", "give a number"),
        ("en", "1_000", "give a number"),
    ],
)
def test_a_number_that_is_grouped_or_infinite_is_a_fault(
    client: TestClient, model_id: str, language: str, typed: str, said: str
) -> None:
    headers = {"HX-Request": "true", "Accept-Language": language}
    page = client.post(f"/models/{model_id}/calculator", data=form(chol=typed), headers=headers)
    assert page.status_code == 422
    assert said in page.text
    assert "big-number" not in page.text


def test_three_decimals_after_the_sign_of_the_language_are_a_number(client: TestClient, model_id: str) -> None:
    for language, typed in (("de", "1,234"), ("en", "1.234"), ("en", "0,234")):
        headers = {"HX-Request": "true", "Accept-Language": language}
        page = client.post(f"/models/{model_id}/calculator", data=form(oldpeak=typed), headers=headers)
        assert page.status_code == 200, typed


def test_a_retired_model_gives_no_risk(client: TestClient, model_id: str) -> None:
    client.post(f"/v1/models/{model_id}/status-changes", json={"status": "retired"})
    page = client.get(f"/models/{model_id}/calculator", headers=BROWSER)
    assert page.status_code == 409
    assert "retired" in page.text


def test_a_validation_warns_of_the_training_patients(client: TestClient, model_id: str) -> None:
    cohort_id = client.get(f"/v1/models/{model_id}").json()["cohort_id"]
    page = client.post(f"/models/{model_id}/validate", data={"cohort": cohort_id}, headers=BROWSER)
    assert page.status_code == 200
    assert "/validations/" in str(page.url)
    assert "Read this first" in page.text
    assert "fitted on" in page.text
    assert "<h1>Performance in the training patients: " in page.text
    none = client.post(f"/models/{model_id}/validate", data={}, headers=BROWSER)
    assert none.status_code in {415, 422}


@pytest.mark.parametrize(
    ("language", "heading"),
    [
        ("en", "Performance in training and other patients: "),
        ("de", "Güte bei Patienten der Entwicklung und anderen: "),
    ],
)
def test_a_validation_in_some_of_the_training_patients_names_the_others(
    client: TestClient, model_id: str, language: str, heading: str
) -> None:
    head, *lines = gzip.decompress(FILE).decode().splitlines()
    parts = [line.split(",", 2) for line in lines[:200]]
    others = (f"{outcome},{int(age) + 1},{rest}" for outcome, age, rest in parts[:100])
    mixed = table(head, *others, *lines[100:200])
    cohort_id = client.post("/v1/cohorts", files=multipart({**SPEC, "name": "Mixed"}, mixed)).json()["id"]
    found = client.post(f"/v1/models/{model_id}/validations", json={"cohort_id": cohort_id}).json()
    assert (found["is_training_cohort"], found["training_share"]) == (True, 0.5)
    headers = {**BROWSER, "Accept-Language": language}
    page = client.get(f"/models/{model_id}/validations/{found['id']}", headers=headers)
    assert f"<h1>{heading}" in page.text


def make_other_cohort(client: TestClient) -> str:
    """Store 200 patients of whom none is one of the training cohort."""
    head, *lines = gzip.decompress(FILE).decode().splitlines()
    parts = [line.split(",", 2) for line in lines[:200]]
    others = table(head, *(f"{outcome},{int(age) + 1},{rest}" for outcome, age, rest in parts))
    response = client.post("/v1/cohorts", files=multipart({**SPEC, "name": "Other clinic"}, others))
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def read_choices(page: str, action: str) -> dict[str, dict[str, str]]:
    """Offered values and their texts of each choice of a form."""
    form = re.search(rf'<form [^>]*action="{action}".*?</form>', page, re.DOTALL)
    assert form is not None
    choices = re.findall(r'<select [^>]*name="(\w+)">(.*?)</select>', form[0], re.DOTALL)
    return {
        name: {value: html.unescape(text) for value, text in re.findall(r'value="(\w+)">([^<]*)<', options)}
        for name, options in choices
    }


def test_a_model_is_validated_on_another_file(client: TestClient, model_id: str) -> None:
    cohort_id = make_other_cohort(client)
    offered = read_choices(client.get(f"/models/{model_id}", headers=BROWSER).text, f"/models/{model_id}/validate")
    assert sorted(offered["cohort"].values()) == ["Cleveland heart disease (the training patients)", "Other clinic"]
    assert offered["cohort"][cohort_id] == "Other clinic"
    page = client.post(f"/models/{model_id}/validate", data={"cohort": cohort_id}, headers=BROWSER)
    assert page.status_code == 200
    assert "In the cohort “Other clinic”: 200 patients, " in " ".join(page.text.split())
    assert "fitted on" not in page.text
    assert "<h1>Validation: " in page.text
    address = str(page.url.path)
    stored = client.get(f"/v1{address}").json()
    assert (stored["cohort_id"], stored["n_patients"], stored["is_training_cohort"]) == (cohort_id, 200, False)
    performance = stored["performance"]
    assert f'<td class="number">{performance["auc_roc"]:.3f} ' in page.text
    assert "treat everybody" in page.text
    assert "simple model" not in page.text, "no line of it is drawn"
    ends = performance["intervals"]["auc_roc"]
    assert f"({ends['lower']:.3f} – {ends['upper']:.3f})" in page.text
    assert f'href="{address}"' in client.get(f"/models/{model_id}", headers=BROWSER).text


def test_a_later_version_links_the_report_of_its_validation_and_none_of_the_first(
    client: TestClient, model_id: str
) -> None:
    asked = {"cohort_id": make_other_cohort(client), "method": "intercept"}
    version = client.post(f"/v1/models/{model_id}/recalibrations", json=asked).json()
    report = f'href="/searches/{version["search_id"]}/report"'
    first, second = (client.get(f"/models/{each}", headers=BROWSER).text for each in (model_id, version["id"]))
    assert report in first
    assert report not in second
    page = client.post(f"/models/{version['id']}/validate", data={"cohort": asked["cohort_id"]}, headers=BROWSER)
    link = f"{page.url.path}/report"
    assert f'href="{link}"' in page.text
    assert "Version 2 of the model is version 1, recalibrated to" in client.get(link).text


def test_two_models_are_compared_on_the_patients_that_are_chosen(client: TestClient, model_id: str) -> None:
    cohort_id = make_other_cohort(client)
    asked = {"cohort_id": cohort_id, "method": "intercept"}
    other_id = client.post(f"/v1/models/{model_id}/recalibrations", json=asked).json()["id"]
    address = f"/models/{model_id}/comparison"
    offered = read_choices(client.get(f"/models/{model_id}", headers=BROWSER).text, address)
    assert set(offered["other"]) == {other_id}
    for chosen, name in offered["cohort"].items():
        page = client.get(address, params={"other": other_id, "cohort": chosen}, headers=BROWSER)
        assert page.status_code == 200
        cohort = client.get(f"/v1/cohorts/{chosen}").json()
        assert f"In the cohort “{cohort['name']}”: {cohort['n_patients']} patients, " in " ".join(page.text.split())
        assert name.startswith(cohort["name"])
        for each in (model_id, other_id):
            assert f'<dd><a href="/models/{each}">' in page.text
        body = {"other_model_id": other_id, "cohort_id": chosen}
        (horizon,) = client.post(f"/v1/models/{model_id}/comparisons", json=body).json()["horizons"]
        for measures in (horizon["model"], horizon["other"]):
            assert f'<td class="number">{measures["brier"]["estimate"]:.3f} ' in page.text
    assert len(offered["cohort"]) == 2


def make_event_model(
    client: TestClient, driver: Driver, unit: str | None = None, horizons: tuple[float, ...] = (200, 400)
) -> dict[str, Any]:
    """A cohort of event times in a unit, and a model of it."""
    spec, outcome = event_spec("bmt137"), replace(event_cohort("bmt137").outcome, time_unit=unit, horizons=horizons)
    named = {"horizons": horizons} if unit is None else {"horizons": horizons, "time_unit": unit}
    spec = {**spec, "name": f"in {unit}", "outcome": {**spec["outcome"], **named}}
    made = client.post("/v1/searches", files=multipart(spec, event_file("bmt137")))
    assert made.status_code == 202, made.text
    claim, result = driver.claim(), simple_result()[0]
    model = cox_model(replace(event_cohort("bmt137"), outcome=outcome))
    driver.store.finish(claim, replace(result, model=model), cancelled=False)
    found: dict[str, Any] = client.get(f"/v1/searches/{made.json()['id']}").json()
    return found


def test_models_and_cohorts_of_other_times_are_not_offered(client: TestClient, driver: Driver, model_id: str) -> None:
    one, same, unknown, other = (make_event_model(client, driver, unit) for unit in ("days", "Day ", None, "months"))
    later = make_event_model(client, driver, "days", (300,))
    address = f"/models/{one['model_id']}"
    page = client.get(address, headers=BROWSER).text
    offered = read_choices(page, f"{address}/comparison")
    assert set(offered["other"]) == {same["model_id"], unknown["model_id"]}
    fitting = {each["cohort_id"] for each in (one, same, unknown, later)}
    assert set(offered["cohort"]) == set(read_choices(page, f"{address}/validate")["cohort"]) == fitting
    cohort_id, query = other["cohort_id"], {"other": other["model_id"], "cohort": one["cohort_id"]}
    for refused in (
        client.post(f"{address}/validate", data={"cohort": cohort_id}, headers=BROWSER),
        client.get(f"{address}/comparison", params=query, headers=BROWSER),
    ):
        assert refused.status_code == 422
        assert re.search("in months (here|in the model)", refused.text)
        assert "<h1>Model: in days</h1>" in refused.text


def test_a_validation_of_event_times_shows_the_intervals_of_the_calibration(client: TestClient, driver: Driver) -> None:
    made = make_event_model(client, driver)
    page = client.post(f"/models/{made['model_id']}/validate", data={"cohort": made["cohort_id"]}, headers=BROWSER)
    found = client.get(f"/v1{page.url.path}").json()
    assert len(found["horizons"]) == 2
    for each in found["horizons"]:
        for name in ("slope", "expected_observed"):
            estimate, lower, upper = (each["performance"][name][end] for end in ("estimate", "lower", "upper"))
            cell = f'<td class="number">{estimate:.3f} <span class="ends">({lower:.3f} – {upper:.3f})</span>'
            assert cell in page.text.replace("−", "-")


def test_a_cohort_that_does_not_fit_is_told_beside_the_choice_of_another(client: TestClient, model_id: str) -> None:
    lacking = re.sub(rb",[^,]*$", b"", gzip.decompress(FILE).replace(b"\r", b""), flags=re.MULTILINE)
    spec = {**SPEC, "name": "Lacks a column", "features": {k: v for k, v in SPEC["features"].items() if k != "thal"}}
    cohort_id = client.post("/v1/cohorts", files=multipart(spec, lacking)).json()["id"]
    page = client.post(f"/models/{model_id}/validate", data={"cohort": cohort_id}, headers=BROWSER)
    assert page.status_code == 422
    assert "the cohort has no feature &#39;thal&#39;" in page.text
    assert f'<option value="{cohort_id}" selected>Lacks a column</option>' in page.text
    german = {**BROWSER, "Accept-Language": "de"}
    page = client.post(f"/models/{model_id}/validate", data={"cohort": ""}, headers=german)
    assert "<li>wählen Sie die Kohorte der anderen Patienten</li>" in page.text


def test_a_model_whose_search_was_deleted_says_that_nobody_knows_how_good_it_is(
    client: TestClient, model_id: str
) -> None:
    said = "The search that made this model was deleted"
    pages = (f"/models/{model_id}", f"/models/{model_id}/calculator")
    assert not [page for page in pages if said in client.get(page, headers=BROWSER).text]
    search_id = client.get(f"/v1/models/{model_id}").json()["search_id"]
    asked = client.get(f"/searches/{search_id}/delete", headers=BROWSER).text
    assert "loses its score and report" in asked
    client.post(f"/searches/{search_id}/delete", headers=BROWSER)
    assert not [page for page in pages if said not in client.get(page, headers=BROWSER).text]


@pytest.mark.parametrize("path", ["/models/{}", "/models/{}/calculator", "/models/{}/delete"])
def test_there_is_no_page_of_another_model(client: TestClient, model_id: str, path: str) -> None:
    assert client.get(path.format(model_id), headers=BROWSER).status_code == 200
    assert client.get(path.format("0" * 32), headers=BROWSER).status_code == 404
