"""Reports and figures over HTTP, in every form."""

from __future__ import annotations

import gzip
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import docx
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from scipy.special import logit

from api.reports import Renderings
from autoprog.errors import MissingPackageError
from autoprog.report.digits import significant
from autoprog.storage.database import Database
from autoprog.storage.tables import CohortRow
from tests.api.searching import FILE, SPEC, Driver, make_search, multipart, patient

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.fixture
def url(client: TestClient, driver: Driver) -> str:
    search = make_search(client)
    driver.run()
    return f"/v1/searches/{search['id']}"


def test_a_report_has_the_form_that_is_asked_for(client: TestClient, url: str) -> None:
    for query, accept, kind in (
        ("", "*/*", "text/html"),
        ("", "text/markdown", "text/markdown"),
        ("", f"text/plain, {WORD};q=0.9", WORD),
        ("?format=md", "text/html", "text/markdown"),
        ("?format=docx", "*/*", WORD),
        ("?format=html", "text/markdown", "text/html"),
    ):
        response = client.get(f"{url}/report{query}", headers={"Accept": accept})
        assert response.status_code == 200
        assert response.headers["content-type"].split(";")[0] == kind
        assert response.headers["vary"] == "Accept"
    assert docx.Document(BytesIO(client.get(f"{url}/report?format=docx").content)).tables
    assert client.get(f"{url}/report?format=pdf").status_code == 422


def test_characteristics_are_those_of_the_stored_cohort(client: TestClient, url: str) -> None:
    text = client.get(f"{url}/report?format=md").text
    assert "age (years), mean (SD) | 54.4 (9.04) |" in text


def test_the_sample_size_of_a_cohort_that_an_earlier_version_stored_is_counted_anew(
    client: TestClient, url: str, database: Database
) -> None:
    cohort_id = client.get(url).json()["cohort_id"]
    with database.session() as session:
        row = session.get_one(CohortRow, cohort_id)
        size = row.document["sample_size"]
        former = {"riley_minimum": 7, "events_per_predictor": 99.9, "verdict": "sufficient"}
        row.document = {**row.document, "sample_size": former}
    text = client.get(f"{url}/report?format=md").text
    events = significant(size["events_per_predictor"])
    assert f"There were {events} patients with the rarer outcome per candidate" in text
    assert f"| {size['riley_minimum']:,} |" in text
    assert "99.9" not in text


def test_figures_are_served_as_svg_and_png(client: TestClient, url: str) -> None:
    drawn = client.get(f"{url}/figures/flow.svg")
    assert drawn.headers["content-type"].startswith("image/svg+xml")
    assert drawn.headers["content-security-policy"] == "default-src 'none'"
    assert drawn.text.startswith("<svg")
    picture = client.get(f"{url}/figures/flow.png")
    assert Image.open(BytesIO(picture.content)).info["dpi"] == pytest.approx((300, 300), abs=0.1)
    absent = client.get(f"{url}/figures/none.svg")
    assert absent.status_code == 404
    assert "flow" in absent.json()["detail"]
    assert client.get(f"{url}/figures/flow.pdf").status_code == 404


def test_without_its_extra_a_form_is_refused_by_name(
    client: TestClient, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What was rendered before is still served.
    for kept in ("_documents", "_pictures"):
        monkeypatch.setattr(f"api.reports.{kept}", Renderings(most=2))
    for module, path in (("docx", "report?format=docx"), ("matplotlib", "figures/flow.png")):
        monkeypatch.setitem(sys.modules, module, None)
        refused = client.get(f"{url}/{path}")
        assert refused.status_code == 501
        assert refused.json()["type"].endswith("missing-package")
        assert "pip install 'autoprog[" in refused.json()["detail"]
        assert client.get(f"{url}/report").status_code == 200


def test_a_rendering_is_made_once_for_all_who_wait_for_it() -> None:
    kept, started = Renderings(most=2), threading.Event()
    begun: list[int] = []

    def render() -> bytes:
        begun.append(1)
        started.wait(10)
        return b"done"

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(kept.get, "a", render) for _ in range(4)]
        started.set()
        assert [each.result(10) for each in found] == [b"done"] * 4
    assert len(begun) == 1
    for what in ("b", "c", "a"):
        kept.get(what, render)
    assert len(begun) == 4


def test_a_rendering_that_failed_is_tried_again() -> None:
    kept = Renderings(most=2)

    def fail() -> bytes:
        raise MissingPackageError("no docx")

    for _ in range(2):
        with pytest.raises(MissingPackageError):
            kept.get("a", fail)
    assert kept.get("a", lambda: b"done") == b"done"


def test_a_validation_has_a_report(client: TestClient, url: str) -> None:
    model_id = client.get(url).json()["model_id"]
    cohort = client.post("/v1/cohorts", files=multipart({**SPEC, "name": "elsewhere"}, older_patients())).json()
    found = client.post(f"/v1/models/{model_id}/validations", json={"cohort_id": cohort["id"]}).json()
    assert found["operating"]["thresholds"]
    place = f"/v1/models/{model_id}/validations/{found['id']}"
    page = client.get(f"{place}/report")
    assert page.status_code == 200
    assert "elsewhere" in page.text
    assert "Performance in other patients" in page.text
    assert client.get(f"{place}/figures/validation-roc.svg").status_code == 200
    client.delete(url)
    assert client.get(f"{place}/report").status_code == 409


def test_the_report_of_a_later_version_is_of_that_version(client: TestClient, url: str) -> None:
    first = client.get(url).json()["model_id"]
    near, far = (
        client.post("/v1/cohorts", files=multipart({**SPEC, "name": name}, older_patients(years))).json()["id"]
        for name, years in (("next door", 1), ("elsewhere", 2))
    )
    asked = {"cohort_id": near, "method": "intercept"}
    second = client.post(f"/v1/models/{first}/recalibrations", json=asked).json()["id"]
    found = client.post(f"/v1/models/{second}/validations", json={"cohort_id": far}).json()
    text = client.get(f"/v1/models/{second}/validations/{found['id']}/report?format=md").text
    assert f"Identifier of the model: {second}. Version 2 of the model is version 1, recalibrated to" in text
    assert "recalibrated to the cohort “next door”" in text
    assert first not in text
    ((intercept, slope),) = re.findall(r"Recalibration of version 2: .* = (\S+) \+ (\S+) × log odds", text)
    assert float(slope) == 1, "the method fits the intercept alone"
    body = {"patients": [patient()]}
    before, after = (
        client.post(f"/v1/models/{each}/predictions", json=body).json()["items"][0] for each in (first, second)
    )
    assert logit(after["risk"]) - logit(before["risk"]) == pytest.approx(float(intercept))
    client.delete(f"/v1/cohorts/{near}")
    again = client.get(f"/v1/models/{second}/validations/{found['id']}/report?format=md").text
    assert "recalibrated to another cohort" in again


def older_patients(years: int = 1) -> bytes:
    """The bundled cohort, of whom each patient is some years older, so that none is one of the training cohort."""
    head, *lines = gzip.decompress(FILE).decode().splitlines()
    place = head.split(",").index("age")
    rows = [line.split(",") for line in lines]
    older = [[*row[:place], str(int(row[place]) + years), *row[place + 1 :]] for row in rows]
    return "\n".join([head, *map(",".join, older)]).encode()


def test_the_report_of_a_validation_in_the_training_patients_does_not_call_it_external(
    client: TestClient, url: str
) -> None:
    search = client.get(url).json()
    models = f"/v1/models/{search['model_id']}/validations"
    found = client.post(models, json={"cohort_id": search["cohort_id"]}).json()
    text = client.get(f"{models}/{found['id']}/report?format=md").text
    assert "## Apparent performance\n" in text
    assert "100.0 % of its rows are rows that the model was fitted on" in text
    assert "in other patients\n" not in text
    assert "## External validation" not in text
