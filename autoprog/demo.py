"""`autoprog demo`: a search on real patients, through the REST API.

It starts its own server on a free loopback port with a temporary data folder, and posts the bundled Cleveland cohort.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from autoprog.client import Client, Search
from autoprog.cohort import cleveland
from autoprog.errors import AutoprogError
from autoprog.frames import pipeline_text, score_text

_START_S = 60.0
_LEADERS = 8
_STAGES = ["imputation", "features", "prediction", "calibration"]
_SIMPLE = "median > none > logistic_regression > none"
# Patient 4 of the file, with one measurement taken away as if it had not been made.
_PATIENT: dict[str, float | None] = {
    "age": 63, "sex": 1, "cp": 4, "trestbps": 140, "chol": None, "fbs": 0, "restecg": 2,
    "thalach": 147, "exang": 0, "oldpeak": 1.4, "slope": 2, "ca": 1, "thal": 7,
}  # fmt: skip


def run_demo(time_s: float, console: Console) -> None:
    """Run the search for at most `time_s` seconds and print its results."""
    content, spec = cleveland()
    with tempfile.TemporaryDirectory(prefix="autoprog-demo-") as folder, _server(Path(folder), console) as client:
        cohort = client.create_cohort(content, spec.model_dump(mode="json", exclude_unset=True))
        _print_cohort(cohort.document, console)
        search = client.start_search(cohort, time_s=time_s, evaluations=500).wait(verbose=1)
        _print_leaderboard(search, console)
        _print_ensemble(search.ensemble, console)
        _print_rules(search, console)
        _print_patient(search.model.predict_documents([_PATIENT])[0], console)
        for warning in (*cohort.warnings, *search.warnings):
            console.print(f"warning: {warning}", style="yellow", highlight=False, markup=False)


@contextmanager
def _server(folder: Path, console: Console) -> Iterator[Client]:
    """Run `autoprog serve` in a separate process while the block runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / "serve.log"
    command = [sys.executable, "-m", "autoprog.cli", "serve", "--port", str(port), "--data-dir", str(folder / "data")]
    # Settings are those of an installation, whose database and files are not the demonstration's business.
    environment = {name: value for name, value in os.environ.items() if not name.upper().startswith("AUTOPROG_")}
    console.print(f"autoprog serve --port {port}", highlight=False)
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)  # noqa: S603  our own command
        try:
            _wait_for_server(port, process, log)
            with Client(f"http://127.0.0.1:{port}") as client:
                yield client
        finally:
            process.terminate()
            process.wait(30)
            console.print("server stopped", highlight=False)


def _wait_for_server(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.2)
    raise AutoprogError(f"the server did not start:\n{log.read_text(errors='replace')[-4000:]}")


def _print_cohort(cohort: Mapping[str, Any], console: Console) -> None:
    console.print(
        f"cohort {cohort['name']}: {cohort['n_patients']} patients, {len(cohort['features'])} features, "
        f"event rate {cohort['event_rate']:.2f}; smallest sample advised {cohort['sample_size']['riley_minimum']:,} "
        f"for a regression, {cohort['sample_size']['flexible_minimum']:,} for forests and boosting",
        highlight=False,
    )


def _table(title: str, columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*row)
    return table


def _print_leaderboard(search: Search, console: Console) -> None:
    """Print the best configurations, and the simple pipeline wherever it ranks."""
    board = search.leaderboard
    board = board[board["status"] == "succeeded"]
    pipelines = board[_STAGES].agg(" > ".join, axis=1)
    rows = [
        (str(rank), f"{score:.4f}", pipeline, f"{seconds:.2f}")
        for rank, (score, pipeline, seconds) in enumerate(
            zip(board["score"], pipelines, board["duration_s"], strict=True), 1
        )
        if rank <= _LEADERS or pipeline == _SIMPLE
    ]
    title = f"Leaderboard (of {len(board)}; AUC-ROC, cross-validated)"
    console.print(_table(title, ("rank", "score", "pipeline", "seconds"), rows))


def _print_ensemble(ensemble: Mapping[str, Any], console: Console) -> None:
    rows = [
        (f"{member['weight']:.3f}", f"{member['score']:.4f}", pipeline_text(member["configuration"]))
        for member in ensemble["members"][:_LEADERS]
    ]
    console.print(_table(f"Ensemble ({len(ensemble['members'])} members)", ("weight", "score", "pipeline"), rows))
    score, simple = score_text(ensemble["score"]), score_text(ensemble["baseline"]["score"])
    console.print(f"ensemble AUC {score}, simple pipeline {simple}", highlight=False, markup=False)
    console.print(f"({ensemble['score']['method']})", highlight=False, style="dim")


def _print_rules(search: Search, console: Console) -> None:
    console.print("Rules: who is in which stratum of the model's risks; associations, not causes", style="italic")
    for number, rule in enumerate(search.rules.itertuples()):
        text = f"{rule.probability:.0%}, {rule.lower:.0%} to {rule.upper:.0%}; observed {rule.observed:.0%} of {rule.n}"
        console.print(f"  [{number}] {rule.rule} -> {rule.stratum} risk ({text})", highlight=False, markup=False)


def _print_patient(item: Mapping[str, Any], console: Console) -> None:
    console.print(f"One patient: {json.dumps(_PATIENT)}", highlight=False, markup=False)
    console.print(
        f"  risk {item['risk']:.3f}, stratum {item['stratum']}, rules {item['rules']}", highlight=False, markup=False
    )
    for warning in item["warnings"]:
        console.print(f"  {warning}", highlight=False)
