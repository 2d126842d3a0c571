"""What the services say: complete catalogues, and each sentence found again by what it says."""

from __future__ import annotations

import gzip
import html
import re

import pytest
from babel.messages.pofile import read_po
from fastapi.testclient import TestClient

from api.pages.languages import LANGUAGES, SOURCE, load_services
from api.problems import PROBLEM_TYPES
from autoprog.cohort import cleveland
from tests.api.searching import SMALL, patient, table
from tests.pages.test_models import model_id
from tests.pages.test_start import ODD, filled_in
from tests.system.server import ROOT
from tools.service_texts import list_messages, read_module

__all__ = ["model_id"]

TRANSLATED = pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {SOURCE}))
PLACEHOLDER = re.compile(r"%\((\w+)\)s")


def read_catalogue(language: str) -> dict[str | tuple[str, str], str | tuple[str, str]]:
    path = ROOT / "api" / "pages" / "locale" / language / "LC_MESSAGES" / "services.po"
    with path.open("rb") as file:
        found = read_po(file, locale=language, abort_invalid=True)
    return {m.id if isinstance(m.id, str) else tuple(m.id): m.string for m in found if m.id}


@TRANSLATED
def test_catalogue_has_every_sentence_and_no_other(language: str) -> None:
    said, kept = {message for message, _ in list_messages()}, set(read_catalogue(language))
    assert (said - kept, kept - said) == (set(), set()), "run `make messages`, then translate"


@TRANSLATED
def test_every_sentence_is_translated(language: str) -> None:
    for said, translation in read_catalogue(language).items():
        pairs = [(said, translation)] if isinstance(said, str) else zip(said, translation, strict=True)
        for one, its in pairs:
            assert its, one
            # A translation may leave out a verb that goes with a number, but not add what nobody says.
            assert set(PLACEHOLDER.findall(its)) <= set(PLACEHOLDER.findall(one)), one
            ends = [re.fullmatch(r"( ?;? ?).*?( ?)", each).groups() for each in (one, its)]  # type: ignore[union-attr]
            assert ends[0] == ends[1], one
            assert its.replace("%%", "").count("%") == len(PLACEHOLDER.findall(its)), one


@TRANSLATED
@pytest.mark.parametrize("value", ["'v{}'", "1{}"], ids=["quoted", "numbers"])
def test_every_sentence_is_found_by_what_it_says(language: str, value: str) -> None:
    services = load_services(language)
    for said, translation in read_catalogue(language).items():
        if not isinstance(said, str) or said[:1] in {" ", ";"} or len(PLACEHOLDER.sub("", said).split()) < 3:
            continue
        values = {name: value.format(i) for i, name in enumerate(PLACEHOLDER.findall(said))}
        shown = services.translate(said % values if values else said.replace("%%", "%"))
        assert shown == (str(translation) % values if values else str(translation).replace("%%", "%")), said


ZERO = (
    "12 of 1,303 rows were dropped: the time 't' is 0, which leaves nothing to predict; 1 event among them: give a "
    "small time to what is to count"
)
ZERO_GERMAN = (
    "12 von 1.303 Zeilen weggelassen: die Zeit 't' ist 0, dann bleibt nichts vorherzusagen; darunter 1 Ereignis: geben "
    "Sie eine kleine Zeit an, damit sie zählen"
)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("the file has no column 'agee'; did you mean 'age'?", "die Datei hat keine Spalte 'agee'; meinten Sie 'age'?"),
        ("the file has no column 'a; b'", "die Datei hat keine Spalte 'a; b'"),
        (ZERO, ZERO_GERMAN),
        (
            "the event is missing in 12 of 2,000 patients ('a' read as missing); at most half may lack it",
            "das Ereignis fehlt bei 12 von 2.000 Patienten ('a' als fehlend gelesen); höchstens die Hälfte darf fehlen",
        ),
        (
            "the time is missing in 21 of 40 rows; at most half may lack it",
            "die Zeit fehlt bei 21 von 40 Zeilen; höchstens die Hälfte darf fehlen",
        ),
        ("'NA' was read as missing in 'in' (3 cells)", "'NA' wurde als fehlend gelesen in 'in' (3 Zellen)"),
        (
            (
                "column 'hbsag' is constant in every row that has a value ('-', '?' read as missing) and was left out; "
                "declare it in features to keep it"
            ),
            (
                "Spalte 'hbsag' ist in jeder Zeile mit einem Wert ('-', '?' als fehlend gelesen) konstant und wurde "
                "weggelassen; geben Sie eine Art für sie an, um sie zu behalten"
            ),
        ),
        (
            "visit 101.5 is outside the training range 29 to 1,000",
            "visit 101,5 liegt außerhalb des Bereichs beim Training, 29 bis 1.000",
        ),
        ("age: expected a number or null, got 'x'", "age: erwartet: eine Zahl oder null, erhalten: 'x'"),
        ("the file has more than 50,000 cells", "die Datei hat mehr als 50.000 Zellen"),
        ("at most 200 rows and 1,500 cells are read", "höchstens 200 Zeilen und 1.500 Zellen werden gelesen"),
        ("body: must be a list of 1 to 7 patients", "body: muss eine Liste mit 1 bis 7 Patienten sein"),
        ("rows 2, 3, 4, 5, 6 and 2,995 more", "Zeilen 2, 3, 4, 5, 6 und 2.995 weitere"),
        (
            "of 1,200 visits 1 have the outcome; at least 2 must have it, and 2 not",
            "von 1.200 Visiten haben 1 das Ereignis; mindestens 2 müssen es haben und 2 nicht",
        ),
        (
            (
                "Arm 1 costs the same as arms 2, 3 and 4 more. Which of them is right more often cannot be seen "
                "without the truth, whatever the rounds say: that with the most tests is played."
            ),
            (
                "Arm 1 kostet so viel wie die Arme 2, 3 und 4 weitere. Welcher von ihnen öfter recht hat, lässt sich "
                "ohne die Wahrheit nicht sehen, was die Runden auch sagen: gespielt wird der mit den meisten Tests."
            ),
        ),
        (
            "its Brier skill is \N{MINUS SIGN}0.002: giving every patient the average risk does as well",
            "sein Brier-Skill-Score ist -0,002: jedem Patienten das mittlere Risiko zu geben ist genauso gut",
        ),
        (
            (
                "only 7 patients are known not to have the outcome until the model's horizon 5; a recalibration takes "
                "at least 10"
            ),
            (
                "nur 7 Patienten ohne das Ereignis bis zum Vorhersagezeitpunkt des Modells 5; eine "
                "Rekalibrierung braucht mindestens 10"
            ),
        ),
        (
            "validation of this model takes visits with times to an event; those of this cohort have labels",
            (
                "Validierung dieses Modells braucht Visiten mit Zeiten bis zu einem Ereignis; die dieser Kohorte haben "
                "Ja-Nein-Angaben"
            ),
        ),
    ],
)
def test_parts_of_a_sentence_are_translated_and_names_stay(said: str, shown: str) -> None:
    assert load_services("de").translate(said) == shown


@pytest.mark.parametrize("text", ["no service says this", "this in that", "The end: of it"])
def test_what_no_service_says_has_no_translation(text: str) -> None:
    assert load_services("de").translate(text) is None


def test_texts_and_f_strings_are_messages_and_documentation_is_none() -> None:
    source = '''
"""A module."""
KIND: Literal["not a message"] = "one word"
def explain(n: int = Field(description="for programs")) -> str:
    """Explain it."""
    _log.info("in the log")
    where = "in a row" if n else "in no row"
    if where == "a comparison of it":
        raise ValueError(f"{count_text(n, 'row')} of {table.name!r} {where}; 100 % of it")
'''
    assert set(read_module(source)) == {
        "one word",
        "in a row",
        "in no row",
        "%(n)s of %(name)s %(where)s; 100 %% of it",
        ("%(num)s row", "%(num)s rows"),
    }


GERMAN = {"Accept": "text/html", "Accept-Language": "de", "HX-Request": "true"}
PLANTED = "a warning of the end"  # of the tests' searches
ENGLISH = re.compile(r"\b(?:the|of|is|are|and|with|without|not|this|must|should)\b")


def assert_german(page: str) -> None:
    """No text is marked as English, and no word of it is within what a page says but a quoted name or value."""
    assert '<html lang="en"' not in page
    assert set(re.findall(r'<span lang="en">(.*?)</span>', page, flags=re.DOTALL)) <= {PLANTED}
    page = page.replace(PLANTED, "")
    shown = html.unescape(re.sub(r"<(?:script|style|code|option)\b.*?</|<[^>]*>", " ", page, flags=re.DOTALL))
    left = re.sub(r"""'[^']*'|"[^"]*"|`[^`]*`|„[^“]*“""", "", shown)
    assert [line.strip() for line in left.splitlines() if ENGLISH.search(line)] == []


PLAIN = b"x,y,out\n" + b"".join(b"%d,%d,%d\n" % (i, i * i % 37, i % 3 == 0) for i in range(60))
DATES = b"d,out\n" + b"".join(b"%d/%d/2020,%d\n" % (i % 12 + 1, i % 12 + 1, i % 2) for i in range(60))
CLEVELAND = gzip.decompress(cleveland()[0])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x01\x02" * 100,
        b"a,b\n",
        b"a,b\n1\n1,2,3\n",
        b"a,a\n1,2\n",
        b"a,,b\n1,2,3\n",
        b'a,b\n1,"2\n',
        b'a,b\n1,"2"x\n',
        b"a,b\n1,caf\xe9\n",
        b"PK\x03\x04 no workbook",
        b"%PDF-1.4",
        b"\x1f\x8b broken",
        b"PAR1 broken",
        b"BZh9",
        b"\xff\xfea",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"id," + PLAIN.replace(b"\n", b"\n7,"),
        PLAIN.replace(b"1,1,", b"-9,NA,"),
        PLAIN[:80],
        PLAIN.replace(b",", b";").replace(b"1;1;", b"1,5;1,25;"),
        DATES,
        CLEVELAND,
        CLEVELAND.replace(b"63.0", b"sixty-three", 1),
        ODD,
        table(*SMALL),
    ],
)
def test_start_page_is_german_whatever_file_is_dropped(client: TestClient, content: bytes) -> None:
    page = client.post("/start/columns", files={"file": ("x.csv", content)}, headers=GERMAN).text
    assert_german(page)


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        (PLAIN, {"column": "x", "positive": "1"}),
        (PLAIN, {"column": "out", "positive": "7"}),
        (PLAIN, {"mode": "survival", "time": "x", "event": "out", "horizons": "1; 5000"}),
        (PLAIN, {"mode": "survival", "time": "out", "event": "x"}),
        (PLAIN, {"mode": "survival", "time": "y", "event": "y"}),
        (PLAIN, {"mode": "temporal", "patient": "x", "visit_time": "y", "column": "out", "horizon": "3"}),
        (PLAIN, {"mode": "temporal", "patient": "out", "visit_time": "out", "horizon": "3"}),
        (PLAIN, {"name": "a\u202eb"}),
        (PLAIN, {"name": "x" * 500}),
        (PLAIN, {"time_s": "-3"}),
        (PLAIN, {"time_s": "1e9"}),
        (PLAIN, {"kind-0": "no such kind"}),
        (PLAIN, {"na_value": ["1"]}),
        (PLAIN, {"na_value": ["0"]}),
        (PLAIN[:80], {}),
        (DATES, {"kind-0": "numeric"}),
        (ODD, {"kind-0": "ordinal", "kind-1": "binary"}),
    ],
)
def test_start_form_is_german_whatever_is_chosen(client: TestClient, content: bytes, fields: dict[str, object]) -> None:
    page = client.post("/start/columns", files={"file": ("x.csv", content)}, headers=GERMAN).text
    sent = filled_in(page) | fields
    for path in ("/start/columns", "/start"):
        assert_german(client.post(path, files={"file": ("x.csv", content)}, data=sent, headers=GERMAN).text)


def test_pages_of_a_model_are_german_whatever_is_entered(client: TestClient, model_id: str) -> None:
    names = list(patient())
    for value in ("99999", "-3", "1e400", "nan", "words", ""):
        fields = {f"x-{i}": value for i in range(len(names))}
        assert_german(client.post(f"/models/{model_id}/calculator", data=fields, headers=GERMAN).text)
    cohort_id = client.get("/v1/cohorts").json()["items"][0]["id"]
    for sent in ({}, {"cohort": ""}, {"cohort": "nowhere"}, {"cohort": cohort_id}):
        page = client.post(f"/models/{model_id}/validate", data=sent, headers=GERMAN)
        assert_german(page.text)
    for path in (f"/models/{model_id}", f"/models/{model_id}/calculator", f"/cohorts/{cohort_id}", "/models"):
        assert_german(client.get(path, headers=GERMAN).text)


@pytest.mark.parametrize(
    "path",
    ["cohorts", "searches", "models", "diagnosis", "test-selection", "test-catalogues"],
)
def test_a_problem_is_told_in_german(client: TestClient, path: str) -> None:
    page = client.get(f"/{path}/0123456789abcdef0123456789abcdef", headers=GERMAN)
    assert page.status_code == 404
    assert_german(page.text)


@pytest.mark.parametrize("code", sorted(PROBLEM_TYPES))
def test_every_type_of_problem_has_a_german_title(code: str) -> None:
    kind = PROBLEM_TYPES[code]
    for text in filter(None, (kind.title, kind.detail)):
        assert load_services("de").translate(text)
