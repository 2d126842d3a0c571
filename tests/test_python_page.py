"""The examples of docs/python.md, run as they stand but for the server's port and with less time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.client.serving import ROOT, Place

PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
URL = "http://127.0.0.1:8000"
# A search that finds less has fewer members, which are quicker to explain, too.
LESS_TIME = {
    "AutoPrognosis(time_budget_s=30,": "AutoPrognosis(time_budget_s=6,",
    "continue_for(15)": "continue_for(4)",
    "time_budget_s=20": "time_budget_s=6",
    "time_s=20, evaluations=40": "time_s=6, evaluations=4",
}


@pytest.mark.timeout(500)
def test_python_page_runs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) == 9
    assert sum(URL in block for block in blocks) == 2
    place = Place(tmp_path)
    page = "\n".join(blocks).replace(URL, place.url)
    for written, less in LESS_TIME.items():
        assert page.count(written) == 1, written
        page = page.replace(written, less)
    place.start()
    try:
        script = tmp_path / "page.py"
        body = textwrap.indent(page, "    ")
        script.write_text(f'if __name__ == "__main__":\n{body}')
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
        told = subprocess.run(
            [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, told.stderr
        assert {path.name for path in tmp_path.glob("*.*")} >= {
            "malignant.png",
            "malignant.html",
            "malignant.autoprog",
            "breast.html",
        }
        assert "\npancreatic tumour\n" in told.stdout
        assert "malignant = 1" in told.stdout
        assert "mean radius is outside the training range" in told.stdout
        assert "422 [('/spec/outcome/column'" in told.stdout
    finally:
        place.end()
