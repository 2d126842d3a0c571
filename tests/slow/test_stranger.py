"""From a clone to the first risk in a browser, by the clock: installation, server and a minute's search as they are."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.pages.conftest import WIDE, browser
from tests.pages.test_start_flow import MAX_CLICKS, MAX_S, walk
from tests.system.server import ROOT, Server

__all__ = ["browser"]

pytestmark = pytest.mark.slow

# What says where packages come from; all else of the caller's environment stays behind.
_KEPT = ("PIP_", "SSL_", "REQUESTS_", "http_proxy", "https_proxy", "no_proxy")


def test_path_of_a_stranger_from_a_clone_to_a_risk_takes_five_minutes(browser: Browser, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name.startswith(_KEPT)}
    environ = {**kept, "PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    clone = tmp_path / "autoprog"
    start = time.monotonic()
    times = {}

    def lap(name: str) -> None:
        times[name] = round(time.monotonic() - start, 1)

    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True, env=environ)
    lap("clone")
    subprocess.run(["make", "-s", "install"], check=True, cwd=clone, env=environ)
    lap("installation")
    with Server(tmp_path / "data", root=clone) as server:
        lap("server")
        page = browser.new_page(viewport={"width": WIDE, "height": 1000}, locale="en-GB")
        page.set_default_timeout(30_000)
        page.goto(str(server.client.base_url))
        clicks, _ = walk(page, shortened=False)
        lap("risk")
    print(json.dumps(times))
    assert clicks <= MAX_CLICKS
    assert times["risk"] <= MAX_S, times
