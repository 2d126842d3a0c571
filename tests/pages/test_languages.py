"""Languages of the pages: complete catalogues, the choice of one, numbers and dates as it writes them."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.pofile import read_po
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api.pages.languages import LANGUAGES, SOURCE
from api.pages.numbers import TypedNumbers
from api.pages.rendering import _environment
from tests.api.conftest import LOCAL
from tests.api.searching import make_cohort
from tests.system.server import ROOT

PAGES = ROOT / "api" / "pages"
KEYWORDS = {**DEFAULT_KEYWORDS, "text": None}
TRANSLATED = pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {SOURCE}))
GERMAN = {"Accept": "text/html", "Accept-Language": "de-DE,de;q=0.9,en;q=0.8"}

Key = str | tuple[str, ...]


@pytest.fixture(scope="module")
def marked() -> set[Key]:
    """All texts that `make messages` extracts."""
    mappings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["babel"]["mappings"]
    methods = [(each["pattern"], each["method"]) for each in mappings]
    options = {
        each["pattern"]: {name: value for name, value in each.items() if name not in {"pattern", "method"}}
        for each in mappings
    }
    found = extract_from_dir(str(PAGES), methods, options, KEYWORDS)
    return {message for _, _, message, _, _ in found}


def read_catalogue(language: str) -> Catalog:
    with (PAGES / "locale" / language / "LC_MESSAGES" / "autoprog.po").open("rb") as file:
        return read_po(file, locale=language, abort_invalid=True)


def forms(message: Message) -> tuple[str, ...]:
    """The translation, or that of each plural form."""
    return (message.string,) if isinstance(message.string, str) else tuple(message.string or ())


def placeholders(text: str) -> set[str]:
    """Names of a text's placeholders; `%%` is a per cent sign, and no other may stand."""
    rest = text.replace("%%", "")
    names = re.findall(r"%\((\w+)\)s", rest)
    assert rest.count("%") == len(names), text
    return {*names, *(["%%"] if "%%" in text else [])}


@TRANSLATED
def test_catalogue_has_every_text_and_no_other(marked: set[Key], language: str) -> None:
    catalogue = read_catalogue(language)
    kept = {message.id for message in catalogue if message.id}
    assert (marked - kept, kept - marked) == (set(), set()), "run `make messages`, then translate"
    assert not catalogue.obsolete
    assert not [message.id for message in catalogue if message.id and message.fuzzy]


@TRANSLATED
def test_every_text_is_translated_with_its_placeholders(language: str) -> None:
    catalogue = read_catalogue(language)
    for message in catalogue:
        if not message.id:
            continue
        ids = (message.id,) if isinstance(message.id, str) else message.id
        strings = forms(message)
        assert len(strings) == (1 if isinstance(message.id, str) else catalogue.num_plurals), message.id
        for string in strings:
            assert string.strip() == string != "", message.id
            assert placeholders(string) in [placeholders(each) for each in ids], message.id


def test_quotation_marks_are_german() -> None:
    for message in read_catalogue("de"):
        for string in forms(message):
            assert string.count("„") == string.count("“"), string
            assert not set(string) & set('”"'), string


def calls(tree: ast.AST) -> Iterator[str]:
    """Literal texts that are given to a function of gettext, wherever they stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.func if isinstance(node.func, ast.Call) else node.func
            if (
                isinstance(called, ast.Name)
                and isinstance(node.args[0].value, str)
                and called.id in {"_", "text", "translate"}
            ):
                yield node.args[0].value


def test_no_text_of_the_source_escapes_extraction(marked: set[Key]) -> None:
    """Babel sees neither into f-strings nor past `translate(request)("...")`."""
    for path in PAGES.rglob("*.py"):
        missed = set(calls(ast.parse(path.read_text()))) - marked
        assert not missed, path


@pytest.mark.parametrize("path", sorted((PAGES / "templates").rglob("*.html")), ids=lambda path: path.stem)
def test_template_has_no_text_of_its_own(path: Path) -> None:
    source = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", path.read_text(), flags=re.DOTALL)
    assert not re.findall(r'(?:aria-label|placeholder|title|alt)="[^"]*[A-Za-z]{2}', source)
    words = re.findall(r"[A-Za-z]{2,}", re.sub(r'<[^>]*>|&\w+;|\b[a-z-]+="[^"]*"', " ", source))
    # The product, and the columns that a table must call so.
    assert set(words) <= {"autoprog", "object", "prior"}


@pytest.mark.parametrize(
    "path", ["/", "/cohorts", "/searches", "/models", "/diagnosis", "/test-selection", "/test-catalogues"]
)
def test_page_is_german_for_a_german_browser(client: TestClient, path: str) -> None:
    page = client.get(path, headers=GERMAN).text
    assert '<html lang="de">' in page
    assert "Zum Inhalt springen" in page
    assert "Kein Medizinprodukt." in page
    assert "Skip to the content" not in page


def test_numbers_and_dates_are_german(client: TestClient) -> None:
    cohort = make_cohort(client)
    page = client.get(f"/cohorts/{cohort['id']}", headers=GERMAN).text
    assert re.search(r"\(\d\d,\d %\s+der Zeilen\)|\d\d,\d % der Zeilen", page)
    assert re.search(r"<dd>\d\d\.\d\d\.\d{4}, \d\d:\d\d:\d\d UTC</dd>", page)
    english = client.get(f"/cohorts/{cohort['id']}", headers={"Accept": "text/html"}).text
    assert re.search(r"\d\d\.\d % of the rows", english)


@pytest.mark.parametrize(
    ("language", "n", "words"),
    [
        ("en", 1, "1 patient"),
        ("en", 12345, "12,345 patients"),
        ("de", 1, "1 Patient"),
        ("de", 12345, "12.345 Patienten"),
    ],
)
def test_counts_have_separators_of_thousands(language: str, n: int, words: str) -> None:
    template = _environment(language).from_string('{{ ngettext("%(num)s patient", "%(num)s patients", n) }}')
    assert template.render(n=n) == words


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("number", [0, 1.234, -1234.5, 2616, 1e15, 1e-7, 123456.789])
def test_number_in_a_field_is_read_as_it_was_written(language: str, number: float) -> None:
    numbers = TypedNumbers(language)
    assert numbers.parse(numbers.write(number)) == number
    assert numbers.parse(_environment(language).from_string("{{ x|typed(4) }}").render(x=2616)) == 2616


def test_choice_in_the_footer_wins_over_the_browser(local_app: FastAPI) -> None:
    client = TestClient(local_app, base_url=LOCAL, headers=GERMAN)
    page = client.get("/cohorts").text
    assert re.search(r'value="de" lang="de" aria-current="true">Deutsch<', page)
    assert re.search(r'value="en" lang="en">English<', page)
    page = client.post("/language", data={"language": "en", "back": "/cohorts"}).text
    assert '<html lang="en">' in page
    assert "Name of the cohort" in page
    assert '<html lang="de">' in client.post("/language", data={"language": "de", "back": "/"}).text


def test_unknown_language_is_no_choice(client: TestClient) -> None:
    assert client.post("/language", data={"language": "tlh"}).status_code == 422
    for asked in ("tlh", "fr-CH, fr;q=0.9", "*"):
        assert '<html lang="en">' in client.get("/", headers={"Accept": "text/html", "Accept-Language": asked}).text


def test_language_is_chosen_before_the_log_in(keyed_app: FastAPI) -> None:
    origin = {"Origin": "https://example.org", "Sec-Fetch-Site": "same-origin"}
    stranger = TestClient(keyed_app, base_url="https://example.org", headers={**GERMAN, **origin})
    page = stranger.get("/login").text
    assert "<h1>Anmelden</h1>" in page
    assert 'action="/language"' in page
    assert "<h1>Log in</h1>" in stranger.post("/language", data={"language": "en", "back": "/login"}).text


def test_what_the_services_say_is_german(client: TestClient) -> None:
    page = client.get("/cohorts/0123456789abcdef0123456789abcdef", headers=GERMAN)
    assert page.status_code == 404
    assert '<p class="lead">nicht gefunden: Kohorte</p>' in page.text
    assert "Zur Startseite" in page.text
    assert "<title>Das gibt es hier nicht · autoprog</title>" in page.text
    english = client.get("/cohorts/0123456789abcdef0123456789abcdef", headers={"Accept": "text/html"})
    assert '<p class="lead">there is no cohort with this id</p>' in english.text


def test_what_a_page_itself_says_of_a_fault_is_german(client: TestClient) -> None:
    cohort = make_cohort(client)
    page = client.post(f"/cohorts/{cohort['id']}/searches", data={"minutes": "bald"}, headers=GERMAN)
    assert page.status_code == 422
    assert 'role="alert">geben Sie die Minuten als Zahl an' in page.text


def test_names_of_patients_are_escaped_in_a_marked_text() -> None:
    template = _environment("de").from_string("{{ text|with_lang }}")
    assert template.render(text="<b>") == '<span lang="en">&lt;b&gt;</span>'
    assert template.render(text="muss eine Zahl sein") == "muss eine Zahl sein"
    assert template.render(text="age: muss eine Zahl sein") == "age: muss eine Zahl sein"
