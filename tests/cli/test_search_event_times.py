"""`autoprog search` for event times, from the file to the report, and searches that fail."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from autoprog.cohort import cleveland
from autoprog.model import PrognosticModel
from tests.cli.answer import Answer
from tests.cohorts import event_file

_SIMPLE_SPACE = {"imputation": ["median"], "features": ["none"], "prediction": ["cox"], "calibration": ["none"]}


def run_search(folder: Path, *options: str, **environment: str) -> Answer:
    """Run `autoprog search cohort.csv --out out` in a process of its own, in the folder."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AUTOPROG_")}
    root = str(Path(__file__).parents[2])
    ended = subprocess.run(
        [sys.executable, "-m", "autoprog.cli", "search", "cohort.csv", "--out", "out", *options],
        cwd=folder,
        env={**inherited, "PYTHONPATH": root, "COLUMNS": "200", "AUTOPROG_WORKERS": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    return Answer(ended.returncode, ended.stdout, ended.stderr)


@pytest.mark.timeout(240)
def test_search_for_event_times_says_what_it_read_and_found_and_where_the_report_lies(tmp_path: Path) -> None:
    table = pd.read_csv(io.BytesIO(gzip.decompress(event_file("veteran"))))
    table = table.rename(columns={"time": "months", "event": "status"})
    table = pd.concat([table, table.iloc[:1]])  # a row twice, of which a warning tells
    table.to_csv(tmp_path / "cohort.csv", index=False)
    settings = {"folds": 3, "repeats": 1, "space": _SIMPLE_SPACE, "budget": {"evaluations": 1, "time_s": 8}}
    options = ("--time", "months", "--event", "status", "--horizon", "60", "--horizon", "180")
    answer = run_search(tmp_path, *options, "--settings", json.dumps(settings))
    assert answer.code == 0, answer.err
    events = int(table["status"].sum())
    said = answer.out
    assert f"138 patients, {table.shape[1] - 2} features, {events} with the outcome" in said
    assert "warning: 1 row repeats an earlier row" in said
    number = r"0\.\d{3} \(0\.\d{3} to [01]\.\d{3}\)"
    assert re.search(rf"^uno_c {number}, simple model {number}$", said, re.MULTILINE)
    assert "wrote model.autoprog, leaderboard.csv, rules.json, report.html" in said
    assert f"read {Path('out') / 'report.html'} first" in said
    report = tmp_path / "out" / "report.html"
    assert "months" in report.read_text(encoding="utf-8")
    # Who waits on a busy machine has the model and its score before the report.
    assert (tmp_path / "out" / "model.autoprog").stat().st_mtime_ns < report.stat().st_mtime_ns
    assert said.index("uno_c ") < said.index("wrote model.autoprog")
    model = PrognosticModel.from_bytes((tmp_path / "out" / "model.autoprog").read_bytes())
    assert model.horizons == (60, 180)


@pytest.mark.timeout(240)
def test_search_that_fails_says_what_to_change_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "cohort.csv").write_bytes(gzip.decompress(cleveland()[0]))
    settings = {
        "folds": 2,
        "repeats": 1,
        "space": {**_SIMPLE_SPACE, "prediction": ["kills_itself"]},
        "budget": {"evaluations": 1, "time_s": 8},
    }
    options = ("--outcome", "outcome", "--settings", json.dumps(settings))
    answer = run_search(tmp_path, *options, AUTOPROG_PLUGINS='["tests.hostile"]')
    assert answer.code != 0
    last = answer.err.splitlines()[-1]
    assert last.startswith("autoprog: no evaluation succeeded: 1 crashed")
    assert "--settings" in last
    assert [path.name for path in tmp_path.iterdir()] == ["cohort.csv"]


def test_search_in_a_file_without_events_leaves_nothing_behind(tmp_path: Path) -> None:
    table = pd.DataFrame({"months": range(1, 61), "status": [0] * 60, "age": range(20, 80)})
    table.to_csv(tmp_path / "cohort.csv", index=False)
    answer = run_search(tmp_path, "--time", "months", "--event", "status")
    assert answer.code == 2
    assert answer.err.startswith("autoprog: ")
    assert "status" in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["cohort.csv"]
