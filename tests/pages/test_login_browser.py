"""Log-in by an organisation's account, in a browser, where the provider cannot be reached."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from unittest import mock

import pytest
from playwright.sync_api import expect

from tests.pages.conftest import NARROW, WIDE, PageAt, assert_accessible
from tests.system.server import Server

WIDTHS = pytest.mark.parametrize("width", [NARROW, WIDE])
LANGUAGES = pytest.mark.parametrize("language", ["en-GB", "de-DE"])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose provider does not answer."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        provider = {
            "AUTOPROG_OIDC_ISSUER": f"http://127.0.0.1:{nobody.getsockname()[1]}",
            "AUTOPROG_OIDC_CLIENT_ID": "autoprog",
            "AUTOPROG_OIDC_OWNER": "Ward 1",
        }
        with mock.patch.dict(os.environ, provider), Server(tmp_path_factory.mktemp("pages") / "data") as server:
            yield server


@WIDTHS
@LANGUAGES
def test_page_of_both_ways_to_log_in_is_accessible(page_at: PageAt, width: int, language: str) -> None:
    page = page_at("/login", width=width, language=language)
    expect(
        page.get_by_role("link", name={"en-GB": "organisation's account", "de-DE": "Organisation"}[language])
    ).to_be_visible()
    expect(page.locator("#key")).to_be_visible()
    assert_accessible(page)


@WIDTHS
@LANGUAGES
def test_provider_that_cannot_be_reached_leaves_the_key(page_at: PageAt, width: int, language: str) -> None:
    page = page_at("/login", width=width, language=language)
    page.locator('a[href^="/login/provider"]').click()
    said = {"en-GB": "Your organisation's log-in", "de-DE": "Die Anmeldung Ihrer Organisation"}[language]
    expect(page.get_by_role("alert")).to_contain_text(said)
    expect(page.locator("#key")).to_be_visible()
    assert_accessible(page)


@WIDTHS
def test_log_in_that_was_not_completed_says_so(page_at: PageAt, width: int) -> None:
    page = page_at("/login/return?error=access_denied&state=none", width=width)
    expect(page.get_by_role("alert")).to_be_visible()
    assert_accessible(page)
