"""`autoprog search` and `autoprog predict` as a stranger meets them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from api.context import build_context
from api.uploads import Upload
from autoprog.app.service import Service
from autoprog.cohort import TimeToEvent, cleveland, parse_spec, read_cohort
from autoprog.errors import ConflictError, InvalidInputError
from autoprog.local import _started
from autoprog.settings import Settings
from autoprog.spec_options import SpecOptions, build_spec, suggest
from tests.cli.answer import Answer, CommandLine

SPEC = cleveland()[1].model_dump_json(exclude_unset=True)
BUDGET = 16
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
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 128 + signal.SIGTERM, err
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


BINARY = ["--outcome", "outcome", "--categorical", "cp", "--categorical", "thal"]


def write_cohort(folder: Path) -> Path:
    file = folder / "cohort.csv"
    file.write_bytes(gzip.decompress(cleveland()[0]))
    return file


def test_without_an_outcome_the_command_to_type_is_shown(autoprog: CommandLine, tmp_path: Path) -> None:
    file = write_cohort(tmp_path)
    answer = autoprog("search", file, "--out", tmp_path / "out")
    assert (answer.code, answer.out) == (2, "")
    assert f"autoprog search {file} --outcome outcome --positive 1 --out result" in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--positive", "1"], "give either --outcome"),
        (["--outcome", "outcome", "--time", "age", "--event", "sex"], "give either --outcome"),
        (["--time", "age"], "--event: goes with --time"),
        (["--outcome", "outcome", "--horizon", "5"], "--horizon: goes with --time"),
        (["--outcome", "outcome", "--visit-time", "age"], "--visit-time: needs --patient-id"),
        (["--outcome", "Outcome"], "there is no column 'Outcome'"),
        (["--outcome", "cp"], "say who had the outcome: cp has 4 values"),
        (["--outcome", "outcome", "--spec", "{}"], "leave out --spec"),
        (["--outcome", "outcome", "--minutes", "1", "--settings", '{"budget": {"time_s": 9}}'], "leave one out"),
        (
            ["--outcome", "outcome", "--minutes", "1", "--settings", '{"metric": "brier",}'],
            "--settings: this is no JSON",
        ),
        (
            ["--outcome", "outcome", "--minutes", "1", "--settings", '{"seed": 1, "seed": 2}'],
            "--settings/seed: the key",
        ),
        (["--outcome", "outcome", "--positive", "7"], "7"),
        (["--outcome", "outcome", "--ignore", "weight"], "weight"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_options_are_named_and_leave_nothing_behind(
    autoprog: CommandLine, tmp_path: Path, options: list[str], words: str
) -> None:
    out = tmp_path / "out"
    answer = autoprog("search", write_cohort(tmp_path), "--out", out, *options)
    assert answer.code == 2
    assert words in answer.err
    assert not out.exists()


def test_settings_must_be_an_object(autoprog: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('["brier"]')
    options = ["--outcome", "outcome", "--minutes", "1", "--settings", "settings.json"]
    answer = autoprog("search", write_cohort(tmp_path), "--out", tmp_path / "out", *options)
    assert answer == Answer(2, "", "autoprog: --settings: give a JSON object\n")


@pytest.mark.parametrize("changed", [{}, {"seed": 1}], ids=["as it was", "with other settings"])
def test_a_search_that_ended_without_a_model_is_begun_anew(tmp_path: Path, changed: dict[str, Any]) -> None:
    settings = Settings(data_dir=tmp_path / "state", database=None, files=None, scheduler=None)
    service = Service(settings)
    service.database.migrate()
    context = build_context(settings, service.database, service.files, local_owner=True)

    def begin(minutes: float, **others: object) -> str:
        asked = json.dumps({"budget": {"time_s": 60 * minutes}, **others}).encode()
        upload = Upload({"spec": SPEC.encode(), "search": asked}, io.BytesIO(cleveland()[0]))
        return _started(context, upload, tmp_path / "state" / "search.json", time.time(), Console(quiet=True))

    try:
        first = begin(1)
        assert begin(2) == first, "it has not ended"
        with pytest.raises(ConflictError):
            begin(2, seed=1)
        claim = service.store.claim("test", 60.0)
        assert claim is not None
        assert claim.search_id == first
        service.store.fail(claim, "search-failed", "no pipeline could be fitted")
        (tmp_path / "model.autoprog").write_bytes(b"of an earlier search")
        with pytest.raises(ConflictError):
            begin(2, seed=1)
        (tmp_path / "model.autoprog").unlink()
        second = begin(2, **changed)
        assert second != first
        assert begin(2, **changed) == second
    finally:
        service.close()


@contextmanager
def search_in_own_process(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A search that Ctrl-C reaches, also where the tests run in the background, and that does not outlive the test."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AUTOPROG_")}
    command = [sys.executable, "-m", "autoprog.cli", "search", str(folder / "cohort.csv"), "--out", str(folder / "out")]
    with subprocess.Popen(
        ["env", "--default-signal=INT", *command, *options],
        env={**inherited, "COLUMNS": "200", "AUTOPROG_WORKERS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as search:
        try:
            yield search
        finally:
            with suppress(ProcessLookupError):
                os.killpg(search.pid, signal.SIGKILL)


def test_follow_up_between_two_dates_of_a_sheet(tmp_path: Path) -> None:
    days = pd.DataFrame({"in": pd.date_range("2020-01-01", periods=60), "age": [*range(40, 70)] * 2})
    days["died"] = [0, 1] * 30
    days["out"] = days["in"] + pd.to_timedelta(range(30, 90), "D")
    with pd.ExcelWriter(tmp_path / "registry.xlsx") as book:
        pd.DataFrame({"note": ["none"]}).to_excel(book, sheet_name="Notes", index=False)
        days.to_excel(book, sheet_name="Patients", index=False)
    options = SpecOptions(time="out", since="in", unit="days", event="died", sheet="Patients")
    spec = parse_spec(build_spec(options, tmp_path / "registry.xlsx"))
    cohort = read_cohort(tmp_path / "registry.xlsx", spec).cohort
    assert cohort.time is not None
    assert sorted(cohort.time) == list(range(30, 90))
    with pytest.raises(InvalidInputError) as caught:
        build_spec(SpecOptions(outcome="died", since="in", unit="days"), tmp_path / "registry.xlsx")
    assert [fault.pointer for fault in caught.value.faults] == ["--since"]


def test_values_that_mean_missing_are_named(tmp_path: Path) -> None:
    file = tmp_path / "cohort.csv"
    rows = [f"{'not done' if i == 7 else -99 if i < 3 else 60 + i},{['no', 'yes', 'lost'][i % 3]}" for i in range(60)]
    file.write_text("\n".join(["pulse,died", *rows]))
    spec = parse_spec(build_spec(SpecOptions(outcome="died", missing=("lost", "-99.0", "not done")), file))
    cohort = read_cohort(file, spec).cohort
    assert (cohort.n_patients, int(cohort.y.sum())) == (40, 20)
    assert np.nanmin(cohort.X) > 60
    assert int(np.isnan(cohort.X).sum()) == 3


def write_events(folder: Path, codes: str) -> Path:
    file = folder / "cohort.csv"
    rows = [f"{20 + i % 50},{i + 1},{code}" for i, code in enumerate(codes.split() * 30)]
    file.write_text("\n".join(["age,time,status", *rows]))
    return file


def read_events(file: Path, options: SpecOptions) -> TimeToEvent:
    outcome = read_cohort(file, parse_spec(build_spec(options, file))).cohort.outcome
    assert isinstance(outcome, TimeToEvent)
    return outcome


@pytest.mark.parametrize("codes", ["0 1", "1 2", "alive dead", "no yes", "false true", "0 1 2"])
def test_commands_that_are_suggested_can_be_run(tmp_path: Path, codes: str) -> None:
    file = write_events(tmp_path, codes)
    (typed,) = [shlex.split(line)[3:-2] for line in suggest(file) if "--time" in line]
    given: dict[str, list[str]] = {}
    for option, value in zip(typed[::2], typed[1::2], strict=True):
        given.setdefault(option.removeprefix("--"), []).append(value)
    competing = tuple(given.pop("competing", ()))
    outcome = read_events(file, SpecOptions(competing=competing, **{name: value for name, (value,) in given.items()}))
    assert [outcome.censored, *outcome.causes] == codes.split()


def test_event_of_interest_is_the_only_one_or_asked_for(tmp_path: Path) -> None:
    short = SpecOptions(time="time", event="status")
    assert read_events(write_events(tmp_path, "alive dead"), short).causes == ("dead",)
    named = SpecOptions(time="time", event="status", censored="1.0", competing=("3.0",))
    assert read_events(write_events(tmp_path, "1 2 3"), named).causes == ("2", "3")
    with pytest.raises(
        InvalidInputError, match="--cause: say which event is predicted, and by --competing which others"
    ):
        read_events(write_events(tmp_path, "0 1 2"), short)


@pytest.mark.timeout(400)
def test_ctrl_c_delivers_what_was_found_and_more_minutes_go_on(tmp_path: Path) -> None:
    write_cohort(tmp_path)
    database = tmp_path / "out" / "state" / "autoprog.db"
    options = [*BINARY, "--settings", json.dumps({"folds": 3, "space": SETTINGS["space"]}), "--minutes"]
    with search_in_own_process(tmp_path, *options, "30") as first:
        deadline = time.monotonic() + 200
        while count_evaluations(database) < 2:
            assert first.poll() is None, first.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        os.killpg(first.pid, signal.SIGINT)  # as a terminal does: to every process of the group
        out, err = first.communicate(timeout=200)
    assert first.returncode == 0, err
    assert "making a model of what was found" in out
    assert "303 patients, 13 features, 139 with the outcome (45.9%)" in out
    assert "simple model" in out
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"model.autoprog", "report.html", "leaderboard.csv"}
    before = count_evaluations(database)
    with search_in_own_process(tmp_path, *options, "30.2") as second:
        out, err = second.communicate(timeout=200)
    assert second.returncode == 0, err
    assert "going on for 12 s more with what was found before" in out
    assert count_evaluations(database) > before


def count_evaluations(database: Path) -> int:
    if not database.exists():
        return 0
    with closing(sqlite3.connect(database, timeout=10)) as connection:
        try:
            (count,) = connection.execute("SELECT count(*) FROM evaluation").fetchone()
        except sqlite3.OperationalError:  # not migrated yet
            return 0
        return int(count)


def test_predictions_name_the_patients_and_are_written_to_a_file(
    finished: Search, autoprog: CommandLine, patients: list[dict[str, str]], tmp_path: Path
) -> None:
    named = [{"id": f"P{number}", **patient} for number, patient in enumerate(patients[:3])]
    file = write(tmp_path / "named.csv", named)
    target = tmp_path / "risks.csv"
    answer = autoprog("predict", finished.out / "model.autoprog", file, "--id", "id", "--out", target)
    assert answer == Answer(0, "", "")
    rows = list(csv.DictReader(io.StringIO(target.read_text(encoding="utf-8"))))
    assert [row["patient"] for row in rows] == ["P0", "P1"]
    assert all(float(row["lower"]) <= float(row["risk"]) <= float(row["upper"]) for row in rows if row["lower"])
    missing = autoprog("predict", finished.out / "model.autoprog", file, "--id", "ID")
    assert missing.code == 2
    assert "there is no column" in missing.err
