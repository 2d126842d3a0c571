"""The start page in process: guesses, specs, and odd input."""

from __future__ import annotations

import html
import re
from datetime import date, timedelta
from io import BytesIO
from typing import Any

import pytest
from fastapi.testclient import TestClient
from openpyxl import Workbook

from autoprog.storage.database import Database
from autoprog.storage.repositories import AuditRepository
from tests.api.conftest import MakeClient
from tests.api.searching import FILE, SMALL, table
from tests.pages.conftest import DATA

HTMX = {"HX-Request": "true"}


def columns(client: TestClient, content: bytes, name: str = "patients.csv", **fields: object) -> str:
    response = client.post("/start/columns", files={"file": (name, content)}, data=fields, headers=HTMX)
    assert response.status_code == 200, response.text
    return str(response.text)


def filled_in(part: str) -> dict[str, Any]:
    """What a browser would send of the form as it stands."""
    fields: dict[str, Any] = {}
    for tag in re.findall(r"<input [^>]*>", part):
        found = {key: html.unescape(value) for key, value in re.findall(r'([\w-]+)="([^"]*)"', tag)}
        if found.get("name", "file") == "file":
            continue
        if found.get("type") not in {"radio", "checkbox"} or " checked" in tag:
            fields[found["name"]] = found.get("value", "")
    for name, options in re.findall(r'<select[^>]* name="([^"]*)"[^>]*>(.*?)</select>', part, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options)
        fields[name] = html.unescape(chosen.group(1)) if chosen else ""
    return fields


def start(client: TestClient, content: bytes, fields: dict[str, Any]) -> Any:
    return client.post("/start", files={"file": ("patients.csv", content)}, data=fields, headers=HTMX)


def errors(response: Any) -> dict[str, str]:
    assert response.status_code == 422, response.text
    found = re.findall(r'class="error" id="([\w-]+)-error"[^>]*>([^<]*)', response.text)
    return {name: html.unescape(text) for name, text in found}


@pytest.mark.parametrize(
    ("file", "mode", "outcome"),
    [
        ("hepatitis", "classification", {"column": "outcome", "positive": "1"}),
        (
            "reference/bmt137", "survival",
            {
                "time": "time", "event": "event", "event_of_interest": "1", "competing": ["2"], "censored": "0",
                "horizons": [100.0, 200.0, 390.0],
            },
        ),
        (
            "reference/pbcseq", "temporal",
            {
                "patient": "patient_id", "visit_time": "visit_time", "time": "time", "event": "event",
                "event_of_interest": "1", "competing": ["2"], "censored": "0", "horizon": 1200.0,
            },
        ),
    ],
)  # fmt: skip
def test_guesses_alone_start_a_search(client: TestClient, file: str, mode: str, outcome: dict[str, Any]) -> None:
    content = (DATA / f"{file}.csv.gz").read_bytes()
    response = start(client, content, filled_in(columns(client, content)))
    assert response.status_code == 200, response.text
    search = client.get("/v1" + response.headers["HX-Redirect"]).json()
    assert search["settings"]["budget"]["time_s"] == 60
    cohort = client.get(f"/v1/cohorts/{search['cohort_id']}").json()
    assert cohort["mode"] == mode
    assert {key: cohort["outcome"].get(key) for key in outcome} == outcome


def test_the_audit_trail_names_the_search_that_was_started(client: TestClient, database: Database) -> None:
    place = start(client, FILE, filled_in(columns(client, FILE))).headers["HX-Redirect"]
    with database.session(read_only=True) as session:
        event = [each for each in AuditRepository(session).after(0) if each.action == "POST /start"][-1]
    assert (event.result, place) == ("200", f"/searches/{event.resource}")


def test_form_without_htmx_is_redirected(client: TestClient) -> None:
    fields = filled_in(columns(client, FILE))
    response = client.post("/start", files={"file": ("a.csv.gz", FILE)}, data=fields, follow_redirects=False)
    assert response.status_code == 303
    assert re.fullmatch(r"/searches/[0-9a-f]{32}", response.headers["location"])


AGES = [age for k, age in enumerate((20, *range(27, 73, 5), 80)) for _ in range(k + 1)]
KNOWN = table(
    "age,crp,sex,ward,died",
    *(
        f"{age},{3 + i % 7 if i % 3 else ''},{'fm'[i % 2]},{'ABC'[i % 3]},{int(i % 5 == 0)}"
        for i, age in enumerate(AGES)
    ),
)


def test_a_column_shows_its_type_its_range_its_missing_share_and_its_histogram(client: TestClient) -> None:
    part = columns(client, KNOWN)

    def entry(i: int) -> str:
        found = re.search(rf'<li id="column-{i}".*?</li>', part, re.DOTALL)
        assert found is not None
        return found[0]

    for i, name, facts, kind in (
        (0, "age", "20 to 80, median 62 · complete", "Number"),
        (1, "crp", "3 to 9, median 6 · 33.3 % missing", "Number"),
        (2, "sex", "f: 39, m: 39 · complete", "One of two"),
        (3, "ward", "A: 26, B: 26, C: 26 · complete", "Category"),
        (4, "died", "0: 62, 1: 16 · complete", None),
    ):
        shown = entry(i)
        assert f"<h3>{name}</h3>" in shown
        line = re.search(r'class="facts-line">(.*?)</p>', shown, re.DOTALL)
        assert line is not None
        assert " ".join(line[1].split()) == facts
        assert re.findall(r" selected>([^<]*)</option>", shown) == ([kind] if kind else [])
        assert f'aria-label="Distribution of {name}"' in shown
    assert '<span class="badge good">Outcome</span>' in entry(4)

    def bars(i: int, size: str) -> list[float]:
        return [float(value) for value in re.findall(rf'<rect [^>]*{size}="([\d.]+)"', entry(i))]

    assert bars(0, " height") == [3 * (k + 1) for k in range(12)], "k + 1 patients in each bin of 5 years"


ODD = table(
    "patient_id,age,admitted,crp,discharge_code,site,died",
    *(
        f"P{i:03},{40 + i % 37},2021-0{1 + i % 9}-1{i % 10},{-9 if i % 9 == 0 else 3 + i % 13},"
        f"{9 if i % 4 == 0 else i % 3},Oslo,{'yes' if i % 4 == 0 else 'no'}"
        for i in range(120)
    ),
)


def test_identifiers_dates_constants_leaks_and_codes_of_missing_are_pointed_out(client: TestClient) -> None:
    part = columns(client, ODD)
    for text in (
        "Looks like an identifier of patients.",
        "Dates, which models can use as the time since another date; this file has none.",
        "tick it above if it means missing",
        "The same in every row.",
        "alone gives the outcome away",
        "Leave it out unless it is known when a risk is predicted.",
    ):
        assert text in part
    assert "name it in ignore" not in part
    assert "name it in na_values" not in part
    fields = filled_in(part)
    # patient_id, admitted and site; the leak stays until it is left out
    assert [fields.get(f"kind-{i}") == "leave_out" for i in range(7)] == [True, False, True, False, False, True, False]
    assert (fields["column"], fields["positive"]) == ("died", "yes")
    assert re.search(r'name="na_value" value="-9"', part)


def test_a_column_that_identifies_patients_lets_one_be_erased(client: TestClient) -> None:
    assert "Identifies the patient" in columns(client, ODD)
    fields = filled_in(columns(client, ODD)) | {"kind-0": "identifier", "kind-4": "leave_out"}
    response = start(client, ODD, fields | {"kind-5": "identifier"})
    assert errors(response) == {"column-5": "Another column identifies the patient already."}
    response = start(client, ODD, fields)
    search = client.get("/v1" + response.headers["HX-Redirect"]).json()
    assert client.delete("/v1" + response.headers["HX-Redirect"]).status_code == 204
    first = ODD.decode().splitlines()[1].split(",")[0]
    erased = client.post("/v1/patient-erasures", json={"identifier": first}).json()
    assert [each["cohort_id"] for each in erased["cohorts"]] == [search["cohort_id"]]


def test_patients_with_several_rows_are_pointed_out_until_they_are_identified(client: TestClient) -> None:
    lines = ODD.splitlines()
    content = b"\n".join([*lines, lines[-1]])
    part = columns(client, content)
    assert "some with several rows. Choose “Identifies the patient”" in part
    assert re.search(r'Look at these columns first:.*"#column-0">patient_id</a>', part)
    fields = filled_in(part) | {"kind-0": "identifier"}
    part = columns(client, content, **fields)
    assert "some with several rows" not in part
    assert "1 row has the identifier of an earlier row" in part
    assert "some with several rows" not in columns(client, ODD)


def test_words_among_numbers_are_shown_and_can_mean_missing(client: TestClient) -> None:
    content = table("pulse,age,died", *(f"{'not done' if i == 7 else 60 + i},{40 + i % 30},{i % 2}" for i in range(60)))
    part = columns(client, content)
    assert "1 cell is no number: row 9; correct them in the file, tick them above if they mean missing" in part
    assert "(found there: &#39;not done&#39;)" in part
    assert "na_values" not in part
    part = columns(client, content, **(filled_in(part) | {"na_value": "not done"}))
    assert "is no number" not in part
    assert "&#39;not done&#39; was read as missing in &#39;pulse&#39; (1 cell)" in part


def test_age_is_the_years_since_the_birth(client: TestClient) -> None:
    content = table(
        "born,admitted,pulse,died",
        *(
            f"{date(1950, 1, 1) + timedelta(97 * i)},{date(2020, 1, 1) + timedelta(i)},{60 + i},{i % 2}"
            for i in range(90)
        ),
    )
    part = columns(client, content)
    assert "Years since born" in part
    response = start(client, content, filled_in(part) | {"kind-1": "years-since-0"})
    search = client.get("/v1" + response.headers["HX-Redirect"]).json()
    features = client.get(f"/v1/cohorts/{search['cohort_id']}").json()["features"]
    age = next(each for each in features if each["name"] == "years from born to admitted")
    assert age["unit"] == "years"
    assert 40 < age["minimum"] < age["maximum"] == pytest.approx(70, abs=0.1)


def test_outcome_with_one_negative_time_is_guessed_and_its_row_named(client: TestClient) -> None:
    content = table("months,status,age", *(f"{-2 if i == 7 else 3 + i},{i % 2},{40 + i % 30}" for i in range(60)))
    part = columns(client, content)
    fields = filled_in(part)
    assert (fields["mode"], fields["time"], fields["event"]) == ("survival", "months", "status")
    assert "1 time is negative: row 9" in part


def test_german_outcomes_are_guessed(client: TestClient) -> None:
    content = table(
        "Zustand;Verstorben;Alter", *(f"{i % 3};{'ja' if i % 4 == 0 else 'nein'};{40 + i}" for i in range(60))
    )
    fields = filled_in(columns(client, content))
    assert (fields["column"], fields["positive"]) == ("Verstorben", "ja")


def test_leak_that_is_left_out_and_code_that_means_missing_reach_the_cohort(client: TestClient) -> None:
    fields = filled_in(columns(client, ODD)) | {"kind-4": "leave_out", "na_value": "-9", "unit-1": "years"}
    part = columns(client, ODD, **fields)
    assert "alone gives the outcome away" not in part
    assert filled_in(part)["unit-1"] == "years"
    response = start(client, ODD, fields)
    search = client.get("/v1" + response.headers["HX-Redirect"]).json()
    cohort = client.get(f"/v1/cohorts/{search['cohort_id']}").json()
    features = {feature["name"]: feature for feature in cohort["features"]}
    assert set(features) == {"age", "crp"}
    assert features["age"]["unit"] == "years"
    assert features["crp"]["minimum"] == 3
    assert features["crp"]["missing_fraction"] > 0.1


REGISTRY = table(
    "diagnosed,admitted,last_contact,age,status",
    *(
        f"{date(2019, 1, 1) + timedelta(i)},{date(2020, 1, 1) + timedelta(i)},{date(2020, 3, 1) + timedelta(3 * i)},"
        f"{40 + i % 37},{1 if i % 3 == 0 else 0}"
        for i in range(120)
    ),
)


def test_follow_up_between_two_dates_and_days_since_a_date(client: TestClient) -> None:
    fields = filled_in(columns(client, REGISTRY)) | {"mode": "survival", "time": "last_contact"}
    fields |= {"event": "status", "since": "admitted", "unit": "months", "kind-0": "since-1"}
    part = columns(client, REGISTRY, **fields)
    assert "Days since admitted" in part
    chosen = filled_in(part)
    assert (chosen["since"], chosen["unit"], chosen["kind-0"]) == ("admitted", "months", "since-1")
    assert chosen["horizons"]  # of the months between the dates
    response = start(client, REGISTRY, chosen)
    assert response.status_code == 200, errors(response)
    search = client.get("/v1" + response.headers["HX-Redirect"]).json()
    cohort = client.get(f"/v1/cohorts/{search['cohort_id']}").json()
    assert cohort["outcome"]["time"] == "months from admitted to last_contact"
    assert [f["name"] for f in cohort["features"]] == ["age", "days from admitted to diagnosed"]
    assert {float(h) for h in chosen["horizons"].split(";")} <= {float(h) for h in cohort["outcome"]["horizons"]}


def test_outcome_and_times_are_called_what_they_are(client: TestClient) -> None:
    content = (DATA / "reference/bmt137.csv.gz").read_bytes()
    fields = filled_in(columns(client, content)) | {"label": " Death or relapse ", "time_unit": "days"}
    assert filled_in(columns(client, content, **fields))["label"] == "Death or relapse"
    response = start(client, content, fields)
    search = client.get("/v1" + response.headers["HX-Redirect"]).json()
    outcome = client.get(f"/v1/cohorts/{search['cohort_id']}").json()["outcome"]
    assert (outcome["label"], outcome["time_unit"]) == ("Death or relapse", "days")


def test_date_of_the_last_contact_alone_asks_for_the_first(client: TestClient) -> None:
    content = table("last_contact,age,status", *(f"2020-0{1 + i % 9}-11,{40 + i},{i % 2}" for i in range(60)))
    fields = filled_in(columns(client, content)) | {"mode": "survival", "time": "last_contact"}
    found = errors(start(client, content, fields))
    assert found["since"] == "Choose the column with the date from which the time counts."


def test_a_sheet_of_a_workbook_is_chosen(client: TestClient) -> None:
    book = Workbook()
    book.create_sheet("Notes", 0).append(["nothing here"])
    sheet = book.create_sheet("Patients")
    for line in SMALL:
        sheet.append(line.split(","))
    file = BytesIO()
    book.save(file)
    content = file.getvalue()
    part = columns(client, content, "patients.xlsx")
    assert 'value="Notes"' in part
    assert 'id="outcome-title"' not in part
    fields = filled_in(columns(client, content, "patients.xlsx", sheet="Patients"))
    assert fields["sheet"] == "Patients"
    assert start(client, content, fields).status_code == 200
    other = filled_in(columns(client, table(*SMALL), sheet="Patients"))
    assert start(client, table(*SMALL), other | {"sheet": "Patients"}).status_code == 200


def test_columns_kept_by_choice_become_features(client: TestClient) -> None:
    fields = filled_in(columns(client, ODD)) | {"kind-2": "categorical", "kind-4": "categorical"}
    response = start(client, ODD, fields)
    search = client.get("/v1" + response.headers["HX-Redirect"]).json()
    cohort = client.get(f"/v1/cohorts/{search['cohort_id']}").json()
    kinds = {feature["name"]: feature["kind"] for feature in cohort["features"]}
    assert kinds["admitted"] == kinds["discharge_code"] == "categorical"


def test_faults_stand_beside_their_fields_and_nothing_typed_is_lost(client: TestClient) -> None:
    content = (DATA / "reference" / "bmt137.csv.gz").read_bytes()
    typed = {"horizons": "1; 99999", "name": "My <cohort>", "role-2": "interest", "time_s": "soon", "unit-3": "years"}
    fields = filled_in(columns(client, content)) | typed
    found = errors(start(client, content, fields))
    assert set(found) == {"roles", "time_s"}
    response = start(client, content, fields | {"role-2": "competing", "time_s": "0.1"})
    assert set(errors(response)) == {"horizons", "time_s"}
    assert "too far ahead" in errors(response)["horizons"]
    sent = filled_in(response.text)
    assert (sent["horizons"], sent["name"], sent["unit-3"]) == ("1; 99999", "My <cohort>", "years")


@pytest.mark.parametrize(
    ("typed", "horizons"),
    [("200", [200]), ("100; 200", [100, 200]), ("200, 100", [100, 200]), ("100.5 200", [100.5, 200]), ("", None)],
)
def test_horizons_are_read_as_people_write_them(client: TestClient, typed: str, horizons: list[float] | None) -> None:
    content = (DATA / "reference" / "bmt137.csv.gz").read_bytes()
    response = start(client, content, filled_in(columns(client, content)) | {"horizons": typed})
    search = client.get("/v1" + response.headers["HX-Redirect"]).json()
    cohort = client.get(f"/v1/cohorts/{search['cohort_id']}").json()
    assert cohort["outcome"]["horizons"] == (horizons or [100, 200, 390])


def test_horizons_that_are_no_numbers_are_a_fault(client: TestClient) -> None:
    content = (DATA / "reference" / "bmt137.csv.gz").read_bytes()
    for typed in ("one year", "365,1825", "nan", "inf"):
        fields = filled_in(columns(client, content)) | {"horizons": typed}
        assert errors(start(client, content, fields)) == {"horizons": "Give numbers, separated by semicolons."}, typed
    fields = filled_in(columns(client, content)) | {"horizons": "1,825"}
    assert "two ways: write '1825'" in errors(start(client, content, fields))["horizons"]


def test_outcome_that_is_not_chosen_is_asked_for(client: TestClient) -> None:
    content = table("age,weight", *(f"{50 + i},{60 + 2 * i}" for i in range(30)))
    part = columns(client, content)
    assert "No column has exactly two values" in part
    assert errors(start(client, content, filled_in(part))) == {
        "column": "Choose the column that says who had the outcome."
    }


def test_choices_for_another_file_do_not_count(client: TestClient) -> None:
    fields = filled_in(columns(client, table(*SMALL))) | {"positive": "0", "kind-0": "leave_out"}
    assert filled_in(columns(client, table(*SMALL), **fields))["positive"] == "0"
    found = filled_in(columns(client, ODD, **fields))
    assert (found["column"], found["kind-1"]) == ("died", "numeric")


def test_value_chosen_for_one_column_does_not_count_for_another(client: TestClient) -> None:
    content = table("age,sex,died", *(f"{50 + i},{'m' if i % 3 else 'f'},{i % 2}" for i in range(20)))
    fields = filled_in(columns(client, content)) | {"column": "sex"}
    found = filled_in(columns(client, content, **fields))
    assert (found["column"], found["positive_of"], found["positive"]) == ("sex", "sex", "f")


@pytest.mark.parametrize(
    ("content", "status", "text"),
    [
        (b"%PDF-1.7", 415, "the file is a PDF"),
        (b"a,b\n1,2,3\n", 200, "1 row has 3 cells where the header has 2"),
        (b"", 200, "the file is empty"),
        (b"only one line", 200, "the file has a header but no rows"),
        (b"\x00\x01\x02" * 100, 415, "the file is no text"),
        ("naïve,died\n".encode() + "".join(f"ü{i},{i % 2}\n" for i in range(30)).encode(), 200, "naïve"),
        (b"<script>alert(1)</script>,died\n" + b"1,0\n2,1\n" * 15, 200, "&lt;script&gt;"),
    ],
)  # fmt: skip
def test_odd_files_are_explained(client: TestClient, content: bytes, status: int, text: str) -> None:
    response = client.post("/start/columns", files={"file": ("x", content)}, headers=HTMX)
    assert response.status_code == status
    assert text in html.unescape(response.text) or text in response.text
    assert "<script>" not in response.text


@pytest.mark.parametrize(
    "fields",
    [
        {"mode": "nonsense", "column": "nowhere", "positive": "\x00", "time_s": "-1"},
        {"mode": "temporal", "patient": "age", "visit_time": "age", "time": "age", "event": "sex", "horizon": "1; 2"},
        {"mode": "survival", "time": "age", "event": "age"},
        {"mode": "temporal", "visit_outcome": "label", "horizon": "soon"},
        {"name": "x" * 500},
        {"kind-0": "no such kind"},
        {"na_value": ["-9", "", "é"]},
    ],
)
def test_odd_forms_are_answered_with_a_form(client: TestClient, fields: dict[str, Any]) -> None:
    content = table(*SMALL)
    sent = filled_in(columns(client, content)) | fields
    columns(client, content, **sent)
    response = start(client, content, sent)
    assert response.status_code in {200, 422}, response.text
    if response.status_code == 422:
        assert 'role="alert"' in response.text


def test_form_without_a_file_asks_for_one(client: TestClient) -> None:
    response = client.post("/start/columns", data={"mode": "survival"}, headers=HTMX)
    assert response.status_code == 422
    assert "Choose a file." in response.text


def test_file_above_the_limit_is_refused_in_words(client: TestClient) -> None:
    content = b"a,b\n" + b"1,2\n" * 600_000
    response = client.post("/start/columns", files={"file": ("x.csv", content)}, headers=HTMX)
    assert response.status_code == 413
    assert response.headers["content-type"].startswith("text/html")
    assert "exceeds" in response.text


def test_example_can_be_read(client: TestClient) -> None:
    response = client.get("/example.csv")
    assert "attachment" in response.headers["content-disposition"]
    assert filled_in(columns(client, response.content))["column"] == "outcome"


def test_key_without_the_scope_to_write_starts_nothing(client_of: MakeClient) -> None:
    reader = client_of("reader", "read")
    assert reader.get("/", headers={"Accept": "text/html"}).status_code == 200
    for path in ("/start", "/start/columns"):
        assert reader.post(path, files={"file": ("x.csv", table(*SMALL))}, headers=HTMX).status_code == 403


def test_ranges_are_shown_in_their_order_and_read_as_ordered(client: TestClient) -> None:
    rows = ["age group,died", *(f"{group},{i % 2}" for i, group in enumerate(["65+", "<18", "18-64"] * 20))]
    part = columns(client, "\n".join(rows).encode())
    assert "&lt;18: 20, 18-64: 20, 65+: 20" in " ".join(part.split())
    options = re.findall(r'<option value="(\w+)"( selected)?>([^<]*)<', part)
    assert ("ordinal", " selected", "Ordered category") in options
    assert ("categorical", "", "Category") in options


def test_another_file_with_the_same_columns_has_its_own_name_unless_one_was_typed(client: TestClient) -> None:
    fields = filled_in(columns(client, KNOWN, "Oslo 2019.csv"))
    assert fields["name"] == "Oslo 2019"
    for typed, kept in ((fields["name"], "Oslo 2020"), ("Mine", "Mine")):
        sent = {"file": ("Oslo 2020.csv", KNOWN)}
        part = client.post("/start/columns", files=sent, data={**fields, "name": typed}, headers=HTMX).text
        assert filled_in(part)["name"] == kept


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("Oslo 03.05.2020.csv", "Oslo 03.05.2020"),
        ("a.CSV.gz", "a"),
        ("C:\\data\\b.sas7bdat", "b"),
        (".csv", "cohort"),
        ("%22a%22.csv", '"a"'),
    ],
)
def test_a_cohort_is_called_as_its_file(client: TestClient, file: str, name: str) -> None:
    assert filled_in(columns(client, KNOWN, file))["name"] == name


@pytest.mark.parametrize("content", [b"%PDF-1.7 not a table", b""])
def test_a_file_that_cannot_be_read_takes_back_what_was_said_of_the_one_before(
    client: TestClient, content: bytes
) -> None:
    headers = {**HTMX, "HX-Target": "columns"}
    part = client.post("/start/columns", files={"file": ("x.csv", content)}, headers=headers).text
    assert re.search(r'id="file-status" hx-swap-oob="true"></p>', part)
    assert 'role="alert"' in part
