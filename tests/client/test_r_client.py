"""The client in R, where R with httr2 and jsonlite is installed, or AUTOPROG_TEST_R says that it should be."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from autoprog import Client
from tests.client.serving import ROOT, Place

PATIENTS = """
patients <- datasets::infert[1:5, c("education", "age", "parity", "induced", "spontaneous")]
write.csv(patients, "patients.csv", row.names = FALSE, na = "")
"""


def rscript() -> str:
    """The program of R; skips without it."""
    found = shutil.which("Rscript")
    if (
        found is None
        or subprocess.run(
            [found, "-e", "library(httr2); library(jsonlite)"], check=False, capture_output=True
        ).returncode
    ):
        if "AUTOPROG_TEST_R" in os.environ:
            pytest.fail("AUTOPROG_TEST_R asks for the client in R, and there is no R with httr2 and jsonlite")
        pytest.skip("no R with httr2 and jsonlite here")
    return found


def printed_risks(printed: str) -> list[tuple[float, float, float, str]]:
    """Rows of the table that the script prints: risk, lower and upper end, stratum."""
    lines = printed.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split() == ["risk", "lower", "upper", "stratum"])
    rows = [line.split() for line in lines[start + 1 : start + 6]]
    numbers = {"NA": "nan"}  # a model without intervals
    return [
        (float(risk), float(numbers.get(lower, lower)), float(numbers.get(upper, upper)), stratum)
        for _, risk, lower, upper, stratum in rows
    ]


@pytest.mark.timeout(300)
def test_r_script_searches_and_predicts_what_the_model_says(tmp_path: Path) -> None:
    program = rscript()
    place = Place(tmp_path)
    script = (ROOT / "examples" / "client.R").read_text()
    assert script.count("time_s = 60,") == 1
    (tmp_path / "client.R").write_text(script.replace("time_s = 60,", "time_s = 15,"))
    place.start()
    try:
        told = subprocess.run(
            [program, "client.R", place.url],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
        assert (tmp_path / "report.html").stat().st_size > 10_000

        (tmp_path / "patients.R").write_text(PATIENTS)
        subprocess.run([program, "patients.R"], cwd=tmp_path, check=True, stdin=subprocess.DEVNULL)
        with (tmp_path / "patients.csv").open(newline="") as file:
            patients = [
                {name: value if name == "education" else float(value) for name, value in row.items()}
                for row in csv.DictReader(file)
            ]
        (search,) = Client(place.url).searches()
        ours = search.model.predict(patients)[["risk", "lower", "upper", "stratum"]].astype(
            {"lower": float, "upper": float}
        )
        shown = pd.DataFrame(printed_risks(told.stdout), columns=ours.columns, index=ours.index)
        pd.testing.assert_frame_equal(shown, ours, check_exact=False, rtol=0, atol=5.1e-4)
        metric, simple = search.document["settings"]["metric"], search.baseline
        assert simple is not None
        for name, score in ((metric, search.score), ("simple model", simple)):
            assert f"{name} {score['estimate']:.3f} [{score['lower']:.3f}, {score['upper']:.3f}]" in told.stdout
    finally:
        place.end()
