"""A real server, a real browser, and searches that have ended on it.

Browser tests are skipped where no Chromium is found, unless AUTOPROG_TEST_BROWSER asks for them. It may name the
program; else Debian's is used. AUTOPROG_WRITE_IMAGES=1 writes the screenshots of `docs/images` anew.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.api.conftest import client, client_of, driver, keyed_app, local_app
from tests.conftest import LONG_BACKENDS
from tests.system.server import ROOT, Server

__all__ = ["client", "client_of", "driver", "keyed_app", "local_app"]

WIDE, NARROW = 1280, 360
HEIGHT = 1000
DATA = ROOT / "tests" / "data"
IMAGES = ROOT / "docs" / "images"

_STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_BLOCKS = (40, 30)
_MAX_DIFFERENCE = 12.0  # mean over the blocks' greys, of 255

_TOO_SMALL = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const holder = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !holder.checkVisibility() || holder.closest(".visually-hidden")) continue;
    const drawn = holder instanceof SVGGraphicsElement ? holder.getScreenCTM() : null;
    const scale = drawn ? Math.hypot(drawn.a, drawn.b) : 1;
    const size = parseFloat(getComputedStyle(holder).fontSize) * scale;
    if (size < 11.95) found.push(`${size.toFixed(1)} pixels: ${walker.currentNode.data.trim()}`);
  }
  const targets = "button, .button, select, summary, .choice, nav a, "
    + "input:not([type=hidden], [type=radio], [type=checkbox])";
  for (const target of document.querySelectorAll(targets)) {
    const height = target.getBoundingClientRect().height;
    if (target.checkVisibility() && !target.closest(".visually-hidden") && height < 43.5)
      found.push(`${height.toFixed(1)} pixels high: ${target.outerHTML.slice(0, 80)}`);
  }
  return [...new Set(found)];
}"""

PageAt = Callable[..., Page]


@pytest.fixture(params=LONG_BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """One kind of server: the tests of the API try each with what the pages ask of it."""
    kind: str = request.param
    return kind


def chromium() -> str | None:
    """The browser's program; None without one."""
    named = os.environ.get("AUTOPROG_TEST_BROWSER", "")
    return named if Path(named).is_file() else shutil.which("chromium") or shutil.which("chromium-browser")


# Only for one file of tests: while Playwright's loop runs in this thread, asyncio cannot start another.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = chromium()
    if program is None:
        if "AUTOPROG_TEST_BROWSER" in os.environ:
            pytest.fail("AUTOPROG_TEST_BROWSER asks for browser tests, and there is no chromium")
        pytest.skip("no chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a local owner, for all tests of pages."""
    with Server(tmp_path_factory.mktemp("pages") / "data") as server:
        yield server


@pytest.fixture
def page_at(browser: Browser, served: Server) -> Iterator[PageAt]:
    """Opens a path of the server: `page_at(path, width=1280, language="en-GB")`.

    At the end of the test no page may have reported an error, nor broken its own content security policy.
    """
    errors: list[str] = []
    contexts = []

    def open_page(path: str, *, width: int = WIDE, language: str = "en-GB") -> Page:
        context = browser.new_context(
            base_url=str(served.client.base_url),
            viewport={"width": width, "height": HEIGHT},
            locale=language,
            color_scheme="light",
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if "Content Security Policy" in said.text else None)
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def assert_accessible(page: Page) -> None:
    """No violation of WCAG 2.2 AA, nothing wider than the window, and on a phone nothing too small to read or touch."""
    options = {"runOnly": {"type": "tag", "values": _STANDARDS}, "resultTypes": ["violations"]}
    results = Axe().run(page, options=options)
    assert results.violations_count == 0, results.generate_report()
    if (page.viewport_size or {}).get("width") == NARROW:
        assert page.evaluate(_TOO_SMALL) == []
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, f"{page.url} is {overflow} pixels wider than its window"


def assert_looks(page: Page, name: str) -> None:
    """The window looks as it did, block by block; written anew with AUTOPROG_WRITE_IMAGES=1."""
    kept = IMAGES / f"{name}.png"
    if os.environ.get("AUTOPROG_WRITE_IMAGES"):
        IMAGES.mkdir(exist_ok=True)
        page.screenshot(path=kept)
        return
    found = page.screenshot()
    now, before = (_greys(image) for image in (Image.open(_as_file(found)), Image.open(kept)))
    difference = float(np.abs(now - before).mean())
    assert difference < _MAX_DIFFERENCE, f"{name} differs by {difference:.1f}: see it, then AUTOPROG_WRITE_IMAGES=1"


def _as_file(content: bytes) -> io.BytesIO:
    return io.BytesIO(content)


def _greys(image: Image.Image) -> np.ndarray:
    return np.asarray(image.convert("L").resize(_BLOCKS, Image.Resampling.BOX), dtype=np.float64)


SPECS: dict[str, tuple[str, dict[str, Any]]] = {
    "binary": ("hepatitis.csv.gz", {"name": "Hepatitis", "outcome": {"column": "outcome", "positive": 1}}),
    "times": (
        "reference/bmt137.csv.gz",
        {
            "name": "Bone marrow",
            "mode": "survival",
            "outcome": {
                "time": "time", "event": "event", "event_of_interest": 1, "competing": [2], "horizons": [200, 400],
                "label": "Relapse", "time_unit": "days",
            },
        },
    ),
    "visits": (
        "reference/pbcseq.csv.gz",
        {
            "name": "Liver clinic",
            "mode": "temporal",
            "outcome": {
                "patient": "patient_id", "visit_time": "visit_time", "time": "time", "event": "event",
                "event_of_interest": 1, "competing": [2], "horizon": 1500,
            },
        },
    ),
}  # fmt: skip


def first_lines(path: Path, n: int = 400) -> bytes:
    """The head of a compressed table: enough to learn from, and quick."""
    return b"\n".join(gzip.decompress(path.read_bytes()).splitlines()[: n + 1])


def start_by_rest(served: Server, kind: str, time_s: float = 6.0, evaluations: int = 2) -> str:
    """Queue a short search on a cohort of a kind; its identifier."""
    file, spec = SPECS[kind]
    budget = {"budget": {"time_s": time_s, "evaluations": evaluations}}
    response = served.client.post(
        "/v1/searches",
        files={
            "file": ("patients.csv", first_lines(DATA / file)),
            "spec": (None, json.dumps(spec)),
            "search": (None, json.dumps(budget)),
        },
    )
    assert response.status_code == 202, response.text
    return str(response.json()["id"])


def wait_for_end(served: Server, search_id: str, most_s: float = 240.0) -> dict[str, Any]:
    deadline = time.monotonic() + most_s
    while True:
        search: dict[str, Any] = served.client.get(f"/v1/searches/{search_id}").json()
        if search["finished_at"]:
            return search
        assert time.monotonic() < deadline, search
        time.sleep(0.3)


@pytest.fixture(scope="session")
def ended(served: Server) -> dict[str, dict[str, Any]]:
    """An ended search of each kind of outcome."""
    started = {kind: start_by_rest(served, kind) for kind in SPECS}
    found = {kind: wait_for_end(served, search_id) for kind, search_id in started.items()}
    assert {search["status"] for search in found.values()} == {"succeeded"}, found
    return found
