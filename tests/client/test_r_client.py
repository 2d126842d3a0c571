"""The client in R, where R with httr2 is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.client.serving import ROOT, Place


@pytest.mark.timeout(300)
def test_r_script_searches_and_predicts(tmp_path: Path) -> None:
    rscript = shutil.which("Rscript")
    if rscript is None or subprocess.run([rscript, "-e", "library(httr2)"], check=False).returncode:
        pytest.skip("no R with httr2 here")
    place = Place(tmp_path)
    place.start()
    try:
        told = subprocess.run(
            [rscript, str(ROOT / "examples" / "client.R"), place.url],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
        assert "simple model 0." in told.stdout
        assert (tmp_path / "report.html").stat().st_size > 10_000
    finally:
        place.end()
