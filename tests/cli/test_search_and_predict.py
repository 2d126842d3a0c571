"""`autoprog search` and `autoprog predict` as a stranger meets them."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from autoprog.cohort import cleveland
from tests.cli.answer import Answer, CommandLine

SPEC = cleveland()[1].model_dump_json(exclude_unset=True)
BUDGET = 24
SETTINGS = {
    "folds": 3,
    "budget": {"evaluations": BUDGET, "time_s": 300},
    "space": {
        "imputation": ["median", "mean", "most_frequent"],
        "features": ["none"],
        "prediction": ["logistic_regression", "ridge", "gaussian_nb"],
        "calibration": ["none", "sigmoid"],
    },
}


@dataclass(frozen=True)
class Search:
    """One search of the bundled cohort from the command line, in a process of its own."""

    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "result"

    @property
    def arguments(self) -> list[str]:
        named = {"--spec": self.folder / "spec.json", "--settings": self.folder / "settings.json", "--out": self.out}
        options = [str(word) for pair in named.items() for word in pair]
        return ["search", str(self.folder / "cleveland.csv.gz"), *options]

    def start(self, **environment: str) -> subprocess.Popen[str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AUTOPROG_")}
        return subprocess.Popen(
            [sys.executable, "-m", "autoprog.cli", *self.arguments],
            env={**inherited, "COLUMNS": "200", "AUTOPROG_WORKERS": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell that runs the tests in the background has its children ignore the interrupt key.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  it takes no lock
        )

    def evaluations(self) -> list[tuple[int, str]]:
        """What the folder's database holds."""
        file = self.out / "state" / "autoprog.db"
        if not file.exists():
            return []
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'evaluation'").fetchall()
            if not tables:
                return []
            return connection.execute("SELECT number, configuration FROM evaluation ORDER BY number").fetchall()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Search:
    """A search that was interrupted and went on, beside an installation whose database is not its business."""
    folder = tmp_path_factory.mktemp("search")
    search = Search(folder)
    (folder / "cleveland.csv.gz").write_bytes(cleveland()[0])
    (folder / "spec.json").write_text(SPEC)
    (folder / "settings.json").write_text(json.dumps(SETTINGS))

    process = search.start()
    deadline = time.monotonic() + 120
    while len(search.evaluations()) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 130, err
    assert "stopped; the same command goes on from here" in out
    before = search.evaluations()
    assert 2 <= len(before) < BUDGET

    process = search.start(AUTOPROG_DATABASE=f"sqlite:///{folder / 'other.db'}", AUTOPROG_FILES=str(folder / "other"))
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert "wrote model.autoprog, leaderboard.csv, rules.json, report.html" in out
    assert not list(folder.glob("other*"))
    assert search.evaluations()[: len(before)] == before
    return search


@pytest.fixture
def patients() -> list[dict[str, str]]:
    """Two patients as rows of a file."""
    cells = {
        "age": "63", "sex": "1", "cp": "4", "trestbps": "140", "chol": "", "fbs": "0", "restecg": "2",
        "thalach": "147", "exang": "0", "oldpeak": "1.4", "slope": "2", "ca": "1", "thal": "7",
    }  # fmt: skip
    healthy = {"age": "41", "sex": "0", "cp": "2", "chol": "204", "thalach": "172", "oldpeak": "0", "slope": "1"}
    return [cells, {**cells, **healthy, "ca": "0", "thal": "3", "note": "not a feature"}]


def write(file: Path, rows: list[dict[str, str]]) -> Path:
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, sorted({name for row in rows for name in row}))
        writer.writeheader()
        writer.writerows(rows)
    return file


@pytest.mark.timeout(300)
def test_search_writes_what_it_found(finished: Search) -> None:
    names = {file.name for file in finished.out.iterdir()}
    assert names == {
        "model.autoprog", "leaderboard.csv", "rules.json", "report.html", "report.md", "report.docx", "state",
    }  # fmt: skip
    with (finished.out / "leaderboard.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [int(row["rank"]) for row in rows] == list(range(1, BUDGET + 1))
    scores = [float(row["score"]) for row in rows if row["status"] == "succeeded"]
    assert scores == sorted(scores, reverse=True)
    assert {(row["status"], row["score"]) for row in rows[len(scores) :]} <= {("raced_out", "")}
    assert json.loads((finished.out / "rules.json").read_text())["strata"]
    assert "<html" in (finished.out / "report.html").read_text()


@pytest.mark.timeout(300)
def test_a_search_that_has_ended_is_not_run_again(finished: Search, autoprog: CommandLine) -> None:
    before = finished.evaluations()
    answer = autoprog(*finished.arguments)
    assert (answer.code, answer.err) == (0, "")
    assert "wrote model.autoprog" in answer.out
    assert finished.evaluations() == before


@pytest.mark.timeout(300)
def test_one_folder_holds_one_search(finished: Search, autoprog: CommandLine) -> None:
    answer = autoprog(*finished.arguments[:-4], "--settings", '{"seed": 1}', "--out", finished.out)
    assert answer == Answer(
        2,
        "",
        f"autoprog: {finished.out} holds a search with another file, spec or settings: "
        "choose another folder, or remove it\n",
    )


@pytest.mark.timeout(300)
def test_predict_prints_a_line_a_patient(
    finished: Search, autoprog: CommandLine, tmp_path: Path, patients: list[dict[str, str]]
) -> None:
    answer = autoprog("predict", finished.out / "model.autoprog", write(tmp_path / "new.csv", patients))
    assert answer.code == 0, answer.err
    first, second = csv.DictReader(io.StringIO(answer.out))
    assert (first["patient"], first["stratum"], first["warnings"]) == ("1", "high", "chol was imputed")
    assert (second["patient"], second["stratum"], second["warnings"]) == ("2", "low", "")
    assert 0 < float(second["risk"]) < float(first["risk"]) < 1


@pytest.mark.timeout(300)
def test_predict_names_every_column_that_is_missing(
    finished: Search, autoprog: CommandLine, tmp_path: Path, patients: list[dict[str, str]]
) -> None:
    fewer = [{name: cell for name, cell in row.items() if name not in {"age", "thal"}} for row in patients]
    answer = autoprog("predict", finished.out / "model.autoprog", write(tmp_path / "new.csv", fewer))
    assert (answer.code, answer.out) == (2, "")
    lines = answer.err.splitlines()
    assert len(lines) == 2
    assert all(name in line for name, line in zip(("age", "thal"), lines, strict=True))


@pytest.mark.timeout(300)
def test_predict_refuses_what_is_no_model(finished: Search, autoprog: CommandLine, tmp_path: Path) -> None:
    model, patients = finished.out / "model.autoprog", finished.folder / "cleveland.csv.gz"
    cut = tmp_path / "cut.autoprog"
    cut.write_bytes(model.read_bytes()[:2000])
    for file in (cut, patients):
        answer = autoprog("predict", file, patients)
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.startswith(f"autoprog: {file}: ")
        assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("spec", "settings", "lines"),
    [
        ("missing.json", "{}", ["missing.json: No such file or directory"]),
        ('{"name": "x"', "{}", ["/spec: this is no JSON: Expecting ',' delimiter: line 1 column 13 (char 12)"]),
        (
            '{"name": "x", "outcome": {"column": "died", "positive": 1}}',
            "{}",
            ["/spec/outcome/column: the file has no column 'died'"],
        ),
        ("{}", "{}", ["/spec/name: Field required", "/spec/outcome: Field required"]),
        (SPEC, "[]", ["[]: No such file or directory"]),
        (
            SPEC,
            '{"metric": "auc", "budget": {"time": 5}}',
            [
                (
                    "/search/metric: Input should be 'auc_roc', 'auc_prc', 'brier', 'log_loss', 'net_benefit', "
                    "'uno_c', 'c_index', 'time_dependent_auc' or 'integrated_brier'"
                ),
                "/search/budget/time: Extra inputs are not permitted",
            ],
        ),
        (SPEC, '{"folds": 49, "space": {"calibration": ["plat"]}}', ["unknown algorithm 'plat'"]),
    ],
)
def test_search_names_every_fault(
    autoprog: CommandLine, tmp_path: Path, spec: str, settings: str, lines: list[str]
) -> None:
    (tmp_path / "cohort.csv.gz").write_bytes(cleveland()[0])
    answer = autoprog("search", "cohort.csv.gz", "--spec", spec, "--settings", settings, "--out", "result")
    assert (answer.code, answer.out) == (2, "")
    said = answer.err.splitlines()
    assert len(said) == len(lines)
    assert all(line.startswith("autoprog: ") and text in line for line, text in zip(said, lines, strict=True))


def test_search_says_where_it_cannot_write(autoprog: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "cohort.csv.gz").write_bytes(cleveland()[0])
    answer = autoprog("search", "cohort.csv.gz", "--spec", SPEC, "--out", "cohort.csv.gz")
    assert answer == Answer(2, "", f"autoprog: {tmp_path / 'cohort.csv.gz' / 'state'}: Not a directory\n")
