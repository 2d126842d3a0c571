"""The examples of docs/python.md, run as they stand but for the server's port."""

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


@pytest.mark.timeout(500)
def test_python_page_runs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) == 8
    assert sum(URL in block for block in blocks) == 1
    place = Place(tmp_path)
    place.start()
    try:
        script = tmp_path / "page.py"
        body = textwrap.indent("\n".join(blocks).replace(URL, place.url), "    ")
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
        assert "malignant = 1" in told.stdout
        assert "mean radius is outside the training range" in told.stdout
        assert "422 [('/spec/outcome/column'" in told.stdout
    finally:
        place.end()
