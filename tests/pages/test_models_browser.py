"""Pages of models in a browser: accessible, also on a phone, for every kind of outcome."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.pages.conftest import NARROW, SPECS, WIDE, PageAt, assert_accessible, assert_looks
from tests.system.server import Server

Ended = dict[str, dict[str, Any]]


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("kind", SPECS)
def test_models_of_each_kind_are_accessible(page_at: PageAt, ended: Ended, kind: str, width: int) -> None:
    model_id = ended[kind]["model_id"]
    for path in ("/models", f"/models/{model_id}", f"/models/{model_id}/calculator"):
        page = page_at(path, width=width)
        assert_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    for path in (f"/searches/{ended[kind]['id']}", f"/models/{model_id}"):
        offered = page_at(path, width=width).get_by_role("link", name="Open the risk calculator")
        expect(offered).to_have_count(int(kind != "visits"))  # no form asks for visits
    page = page_at(f"/models/{model_id}/calculator", width=width)
    if kind == "binary":
        page.get_by_label("age", exact=True).fill("250")
        expect(page.locator("#answer")).to_contain_text("outside the training range")
        assert_accessible(page)
        assert_looks(page, f"calculator-{width}")
        page.get_by_label("Rank").select_option("each finding for itself")
        expect(page.locator("#next-tests")).to_contain_text("it would change the risk most", timeout=30_000)
        page.get_by_label("age", exact=True).fill("50")
        expect(page.locator("#answer")).not_to_contain_text("outside the training range")
        expect(page.locator("#next-tests")).to_contain_text("it would change the risk most", timeout=30_000)
        assert_accessible(page)
        if width == WIDE:
            page.locator("#next-tests").evaluate("element => element.scrollIntoView({block: 'end'})")
            assert_looks(page, "next-test-1280")


def test_the_calculator_is_used_by_keyboard_alone(page_at: PageAt, ended: Ended) -> None:
    page = page_at(f"/models/{ended['times']['model_id']}/calculator")
    before = page.locator("#answer").inner_text()
    page.locator("main input:visible, main select:visible").first.focus()
    page.keyboard.type("1")
    page.keyboard.press("Tab")
    page.wait_for_function("before => document.querySelector('#answer').innerText !== before", arg=before)
    expect(page.locator("#answer .big-number").first).to_be_visible()


def test_a_validation_is_made_and_accessible(page_at: PageAt, ended: Ended) -> None:
    for kind in ("binary", "times"):
        page = page_at(f"/models/{ended[kind]['model_id']}")
        page.get_by_label("Cohort").select_option(ended[kind]["cohort_id"])
        page.get_by_role("button", name="Validate").click()
        page.wait_for_url("**/validations/*")
        expect(page.locator("main")).to_contain_text("fitted on")
        assert_accessible(page)


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_a_comparison_is_accessible(page_at: PageAt, ended: Ended, served: Server, width: int) -> None:
    model_id, cohort_id = ended["binary"]["model_id"], ended["binary"]["cohort_id"]
    asked = {"cohort_id": cohort_id, "method": "intercept"}
    version = served.client.post(f"/v1/models/{model_id}/recalibrations", json=asked).json()
    page = page_at(f"/models/{model_id}/comparison?other={version['id']}&cohort={cohort_id}", width=width)
    assert_accessible(page)
    assert_looks(page, f"comparison-{width}")
    served.client.delete(f"/v1/models/{version['id']}")
