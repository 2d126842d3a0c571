"""The tutorial: its commands run, print what it shows, and its figures of the patients are those of the file."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.system.server import ROOT

TEXT = (ROOT / "docs" / "tutorial.md").read_text()
DATA = ROOT / "tests" / "data" / "hepatitis.csv.gz"
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)
    assert found is not None
    return found.group(1)


def statements(printed: str) -> list[str]:
    """What was printed, without the breaks of lines within a statement."""
    starts = r"\n(?=hepatitis: |warning: |auc_roc |model less |every interval |wrote |succeeded: )"
    return [" ".join(each.split()) for each in re.split(starts, "\n" + printed) if each.strip()]


def shape(statement: str) -> str:
    return NUMBER.sub("#", statement)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tutorial's workbook lies, made by its own command."""
    made = tmp_path_factory.mktemp("tutorial")
    (made / "tests").symlink_to(ROOT / "tests")
    python, *rest = shlex.split(block("sh"))
    assert python == ".venv/bin/python"
    subprocess.run([sys.executable, *rest], cwd=made, check=True)
    return made


def test_patients_are_those_of_the_text(folder: Path) -> None:
    table = pd.read_excel(folder / "hepatitis.xlsx")
    assert len(table) == int(re.search(r"(\d+) of the UCI hepatitis data", TEXT).group(1))  # type: ignore[union-attr]
    died = table[table["outcome"] == 1]
    assert f"of whom {len(died)} died" in TEXT
    assert f"`protime` is missing in {table['protime'].isna().sum()} patients" in TEXT
    assert set(died["sex"]) == {1}
    assert f"All {len(died)} deaths are among the {(table['sex'] == 1).sum()} patients of sex 1" in TEXT


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.timeout(600)
def test_search_prints_what_the_text_shows(folder: Path) -> None:
    command, _, shown = block("text").partition("\n")
    arguments = shlex.split(command.removeprefix("$ autoprog "))
    arguments[arguments.index("--minutes") + 1] = "0.4"
    run = [sys.executable, "-m", "autoprog.cli", *arguments]
    told = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    printed = statements(told.stdout + told.stderr)
    first, *others = statements(shown)
    assert first in printed
    shapes = {shape(each) for each in printed}
    ending = "every interval holds 0: the simple model may serve as well"
    resamples = "warning: the score was corrected by "  # by how many is the machine's
    missing = [each for each in others if each != ending and shape(each) not in shapes]
    assert [each for each in missing if not each.startswith(resamples)] == []
    difference = next(each for each in printed if each.startswith("model less simple model"))
    bounds = [float(each) for pair in re.findall(r"\((\S+) to (\S+)\)", difference) for each in pair]
    if 0 not in bounds:  # a bound that was rounded to 0 may be of either sign
        assert (ending in printed) == all(low < 0 < high for low, high in zip(bounds[::2], bounds[1::2], strict=True))

    report = (folder / "result" / "report.md").read_text()
    assert {"leaderboard.csv", "report.docx"} <= {path.name for path in (folder / "result").iterdir()}
    elements = re.search(r"answers (\d+) of the (\d+) elements", TEXT)
    assert elements is not None
    assert f"of {elements.group(2)} elements" in report
    for asked in (r"Riley's criteria ask for ([\d,]+) patients", r"how many are needed: ([\d,]+) here"):
        found = re.search(asked, TEXT)
        assert found is not None
        assert re.search(rf"\b{found.group(1)} (?:patients|\|)", report)
