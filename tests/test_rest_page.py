"""The examples in Python of docs/rest.md, run as they stand but for the server's port."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.client.serving import ROOT, Place

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
URL = "http://127.0.0.1:8000"


def test_rest_page_runs(tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "rest.md").read_text())
    assert len(blocks) == 2
    assert all(block.count(URL) == 1 for block in blocks)
    place = Place(tmp_path)
    place.start()
    try:
        printed = []
        for block in blocks:
            done = subprocess.run(
                [sys.executable, "-c", block.replace(URL, place.url)],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            printed.append(done.stdout)
        times, visits = printed
        assert times.count("\n") >= 4
        assert "risk_1095" in times
        assert "upper" in visits
        assert "Calibration" in (tmp_path / "whas500.html").read_text()
    finally:
        place.end()
