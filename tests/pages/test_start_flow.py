"""From a file to a calculator in a browser, by clicks and by keys alone."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.pages.conftest import DATA, NARROW, WIDE, PageAt, assert_accessible, assert_looks

HEPATITIS = DATA / "hepatitis.csv.gz"
RISK = re.compile(r"^\d+\.\d %$")
SECONDS = 6

MAX_CLICKS = 3
MAX_S = 300.0
"""From a clone to the first risk."""
INSTALLATION_S = 150.0
"""The half of it for clone, installation and the server's start, which `tests/slow/test_stranger.py` alone does."""


def shorten(page: Page) -> float:
    """Make seconds of the first choice of the time, a minute, which no stranger does; return the seconds saved."""
    choice = page.locator("[name=time_s]:checked")
    before = float(choice.input_value())
    choice.evaluate("(choice, s) => choice.value = s", str(SECONDS))
    return before - SECONDS


def walk(page: Page, *, shortened: bool) -> tuple[int, float]:
    """Go from the start page to a first risk; clicks after the file was chosen, and seconds saved if shortened."""
    page.get_by_label("Choose a file").set_input_files(HEPATITIS)
    expect(page.get_by_role("status")).to_contain_text("155 rows and 20 columns")
    saved = shorten(page) if shortened else 0.0
    clicks = 0

    def click(target: Locator) -> None:
        nonlocal clicks
        target.click()
        clicks += 1

    click(page.get_by_role("button", name="Start the search"))
    page.wait_for_url(re.compile(r"/searches/[0-9a-f]{32}$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("hepatitis")
    link = page.get_by_role("link", name=re.compile("risk calculator", re.IGNORECASE))
    expect(link).to_be_visible(timeout=90_000)
    assert re.fullmatch(r"/models/[0-9a-f]{32}/calculator", link.get_attribute("href") or "")
    click(link)
    page.wait_for_url(re.compile("/calculator$"))
    page.get_by_label(re.compile("^age")).first.fill("40")
    expect(page.locator("#answer .big-number").first).to_have_text(RISK)
    return clicks, saved


def test_path_of_a_stranger_from_a_file_to_a_risk_takes_few_clicks_and_minutes(page_at: PageAt) -> None:
    start = time.monotonic()
    page = page_at("/")
    clicks, saved = walk(page, shortened=True)
    assert time.monotonic() - start + saved <= MAX_S - INSTALLATION_S
    assert clicks <= MAX_CLICKS
    expect(page.locator("#answer")).to_contain_text("What counts most here")
    assert_accessible(page)


def test_dropped_file_leads_to_the_same_as_a_chosen_one(page_at: PageAt) -> None:
    read = re.compile("155 rows and 20 columns")
    page = page_at("/")
    page.get_by_label("Choose a file").set_input_files(HEPATITIS)
    expect(page.get_by_role("status")).to_have_text(read)
    chosen = page.locator("#columns").inner_text()
    page.goto("/")
    area = page.locator("[data-drop]")
    box = area.bounding_box()
    assert box is not None
    drag = {
        "x": box["x"] + box["width"] / 2,
        "y": box["y"] + box["height"] / 2,
        "data": {"items": [], "files": [str(HEPATITIS)], "dragOperationsMask": 1},
    }
    # The browser's own drag, as of a file manager: a script's event would not prove that the browser lets it drop.
    browser = page.context.new_cdp_session(page)
    browser.send("Input.dispatchDragEvent", {"type": "dragEnter", **drag})
    browser.send("Input.dispatchDragEvent", {"type": "dragOver", **drag})
    expect(area).to_have_class("drop over")
    browser.send("Input.dispatchDragEvent", {"type": "drop", **drag})
    expect(page.get_by_role("status")).to_have_text(read)
    expect(area).to_have_class("drop")
    assert page.locator("#columns").inner_text() == chosen
    assert page.locator("#file").evaluate("input => input.files[0].name") == HEPATITIS.name


def test_path_from_a_file_to_a_risk_works_by_keyboard_alone(page_at: PageAt) -> None:
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
    page.keyboard.press("Space")
    page.wait_for_url(re.compile(r"/searches/[0-9a-f]{32}$"))
    expect(page.locator("a[href$='/calculator']")).to_be_visible(timeout=90_000)
    _tab_to(page, "a[href$='/calculator']")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/calculator$"))
    expect(page.locator("#answer")).not_to_contain_text("What counts most here")
    _tab_to(page, "#findings input:not([type=hidden])")
    page.keyboard.type("40")
    expect(page.locator("#answer")).to_contain_text("What counts most here")
    expect(page.locator("#answer .big-number").first).to_have_text(RISK)


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
