"""Progress of a fit, where somebody sees it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autoprog.progress import NotebookLine, PlainLines, SilentLine, open_progress

ROOT = Path(__file__).parents[2]
FIT = """
from autoprog import AutoPrognosis
from tests.estimator.support import QUICK, patients
if __name__ == "__main__":
    X, y = patients()
    for verbose in (None, 0):
        AutoPrognosis(time_budget_s=60, settings=QUICK, random_state=0, verbose=verbose).fit(X, y)
        print("== fitted")
"""


def test_terminal_shows_a_bar_unless_it_is_to_stay_silent(tmp_path: Path) -> None:
    script = tmp_path / "fit.py"
    script.write_text(FIT)
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    told, deadline = b"", time.monotonic() + 240
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                told += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
        elif process.poll() is not None:
            break
    assert process.wait(30) == 0, told
    os.close(ours)
    bar, silent, _ = told.decode().split("== fitted")
    assert "pipelines, best auc_roc 0." in bar
    assert "simple model 0." in bar
    assert silent.strip() == ""


def test_file_gets_lines_on_request_only(capsys: pytest.CaptureFixture[str]) -> None:
    for verbose, expected in ((None, ""), (0, ""), (1, "starting\n3 of 60 s, searching\n")):
        with open_progress(verbose) as line:
            line.update("searching", 3, 60)
            line.update("searching", 4, 60)  # at most one in five seconds
        assert capsys.readouterr().err == expected
    assert isinstance(open_progress(None), SilentLine)
    assert isinstance(open_progress(1), PlainLines)


def test_notebook_shows_one_output_that_changes() -> None:
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell  # noqa: PLC0415  not everywhere
    from IPython.utils.capture import capture_output  # noqa: PLC0415

    shell = InteractiveShell.instance()
    shell.kernel = object()  # what a notebook's shell has
    try:
        with capture_output() as captured, open_progress(None) as line:
            assert isinstance(line, NotebookLine)
            line.note("stopping <soon>")
            line.update("search: 3 pipelines", 5, 60)
    finally:
        InteractiveShell.clear_instance()
    first, last = captured.outputs
    assert first.data["text/plain"] == "0 of 1 s, starting"
    assert last.update
    assert last.data["text/plain"] == "5 of 60 s, search: 3 pipelines\nstopping <soon>"
    assert "stopping &lt;soon&gt;" in last.data["text/html"]
