"""From a file to a calculator in a browser, by clicks and by keys alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.pages.conftest import DATA, NARROW, WIDE, PageAt, assert_accessible, assert_looks

HEPATITIS = DATA / "hepatitis.csv.gz"
SECONDS = 6


def shorten(page: Page) -> None:
    """The first choice of the time, a minute, becomes seconds: the only thing that a stranger would not do."""
    page.evaluate("s => document.querySelector('[name=time_s]:checked').value = s", str(SECONDS))


def test_path_of_a_stranger_from_a_file_to_the_calculator_takes_at_most_three_clicks(page_at: PageAt) -> None:
    page = page_at("/")
    page.get_by_label("Choose a file").set_input_files(HEPATITIS)
    expect(page.get_by_role("status")).to_contain_text("155 rows and 20 columns")
    shorten(page)
    clicks = 0

    def click(name: str, role: str) -> None:
        nonlocal clicks
        page.get_by_role(role, name=name).first.click()  # type: ignore[arg-type]
        clicks += 1

    click("Start the search", "button")
    page.wait_for_url(re.compile(r"/searches/[0-9a-f]{32}$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("hepatitis")
    link = page.get_by_role("link", name=re.compile("risk calculator", re.IGNORECASE))
    expect(link).to_be_visible(timeout=90_000)
    assert re.fullmatch(r"/models/[0-9a-f]{32}/calculator", link.get_attribute("href") or "")
    link.click()
    clicks += 1
    page.wait_for_url(re.compile("/calculator$"))
    assert clicks <= 3
    page.get_by_label(re.compile("^age")).first.fill("40")
    expect(page.locator("#answer .big-number").first).to_have_text(re.compile(r"^\d+\.\d %$"))
    expect(page.locator("#answer")).to_contain_text("What counts most here")
    assert_accessible(page)


def test_start_works_by_keyboard_alone(page_at: PageAt) -> None:
    page = page_at("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    with page.expect_file_chooser() as chooser:
        _tab_to(page, "#file")
        page.keyboard.press("Enter")
    chooser.value.set_files(HEPATITIS)
    expect(page.get_by_role("heading", name="What do you want to predict?")).to_be_visible()
    shorten(page)
    _tab_to(page, "[name=positive]:checked")
    with page.expect_response("**/start/columns"):
        page.keyboard.press("ArrowUp")
    expect(page.locator("[name=positive]:checked")).to_have_value("0")
    expect(page.locator("[name=positive]:checked")).to_be_focused()
    with page.expect_response("**/start/columns"):
        page.keyboard.press("ArrowDown")
    shorten(page)
    _tab_to(page, "#start-button")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/searches/[0-9a-f]{32}$"))


def _tab_to(page: Page, selector: str) -> None:
    for _ in range(80):
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"no key leads to {selector}")


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("hepatitis.csv.gz", "Which value means that the patient had it?"),
        ("reference/bmt137.csv.gz", "What do its values mean?"),
        ("reference/pbcseq.csv.gz", "How far ahead of a visit to predict"),
    ],
)
def test_columns_of_each_kind_of_outcome_are_accessible(page_at: PageAt, width: int, file: str, shown: str) -> None:
    page = page_at("/", width=width)
    page.get_by_label("Choose a file").set_input_files(DATA / file)
    expect(page.get_by_text(shown)).to_be_visible()
    assert_accessible(page)
    if file.startswith("hepatitis"):
        assert_looks(page, f"columns-{width}")


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_start_page_is_accessible_and_looks_as_it_did(page_at: PageAt, width: int) -> None:
    page = page_at("/", width=width)
    assert_accessible(page)
    assert_looks(page, f"start-{width}")


def test_fault_is_shown_beside_its_field_and_what_was_typed_stays(page_at: PageAt) -> None:
    page = page_at("/")
    page.get_by_label("Choose a file").set_input_files(DATA / "reference" / "bmt137.csv.gz")
    page.get_by_label("Horizons").fill("100; 90000")
    page.get_by_label("Name of the cohort").fill("Marrow")
    page.get_by_label("Unit of age").fill("years") if page.get_by_label("Unit of age").count() else None
    page.get_by_role("button", name="Start the search").click()
    expect(page.locator("#horizons-error")).to_contain_text("90000 is too far ahead")
    expect(page.get_by_label("Horizons")).to_have_value("100; 90000")
    expect(page.get_by_label("Name of the cohort")).to_have_value("Marrow")
    assert page.get_by_label("Choose a file").evaluate("input => input.files.length") == 1
    assert_accessible(page)


def test_column_is_left_out_with_one_choice(page_at: PageAt) -> None:
    page = page_at("/")
    page.get_by_label("Choose a file").set_input_files(HEPATITIS)
    with page.expect_response("**/start/columns"):
        page.get_by_label("Use of histology").select_option("Leave out")
    expect(page.locator(".left-out h3")).to_have_text(["histology"])


def test_file_of_another_program_is_explained(page_at: PageAt, tmp_path: object) -> None:
    page = page_at("/")
    page.get_by_label("Choose a file").set_input_files(
        {"name": "report.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 not a table"}
    )
    expect(page.get_by_role("alert")).to_contain_text("the file is a PDF")
    assert_accessible(page)
