"""`autoprog demo`: a search on real patients, through the REST API.

It starts its own server on a free loopback port with a temporary data folder, and posts the bundled Cleveland cohort.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from autoprog.cohort import cleveland
from autoprog.errors import AutoprogError

_START_S = 60.0
_POLL_S = 0.5
_LINE_S = 5  # between lines of progress where there is no terminal for the bar
_LEADERS = 8
_SIMPLE = "median > none > logistic_regression > none"
# Patient 4 of the file, with one measurement taken away as if it had not been made.
_PATIENT: dict[str, float | None] = {
    "age": 63, "sex": 1, "cp": 4, "trestbps": 140, "chol": None, "fbs": 0, "restecg": 2,
    "thalach": 147, "exang": 0, "oldpeak": 1.4, "slope": 2, "ca": 1, "thal": 7,
}  # fmt: skip

Json = dict[str, Any]


def run_demo(time_s: float, console: Console) -> None:
    """Run the search for at most `time_s` seconds and print its results."""
    with tempfile.TemporaryDirectory(prefix="autoprog-demo-") as folder, _server(Path(folder), console) as client:
        cohort = _post_cohort(client, console)
        search = _accepted(
            client.post(
                "/v1/searches", json={"cohort_id": cohort["id"], "budget": {"time_s": time_s, "evaluations": 500}}
            )
        )
        search = _follow(client, search, time_s, console)
        url = f"/v1/searches/{search['id']}"
        _print_leaderboard(_all_evaluations(client, url), console)
        _print_ensemble(_get(client, f"{url}/ensemble"), console)
        _print_rules(_get(client, f"{url}/rules"), console)
        answer = _accepted(client.post(f"{url}/predictions", json={"patients": [_PATIENT]}))
        _print_patient(answer["items"][0], console)
        for warning in [*cohort["warnings"], *search["warnings"]]:
            console.print(f"warning: {warning}", style="yellow", highlight=False)


@contextmanager
def _server(folder: Path, console: Console) -> Iterator[httpx2.Client]:
    """Run `autoprog serve` in a separate process while the block runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / "serve.log"
    command = [sys.executable, "-m", "autoprog.cli", "serve", "--port", str(port), "--data-dir", str(folder / "data")]
    console.print(f"autoprog serve --port {port}", highlight=False)
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)  # noqa: S603  our own command
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
                _wait_until_ready(client, process, log)
                yield client
        finally:
            process.terminate()
            process.wait(30)
            console.print("server stopped", highlight=False)


def _wait_until_ready(client: httpx2.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            if client.get("/readyz").is_success:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.2)
    raise AutoprogError(f"the server did not start:\n{log.read_text(errors='replace')[-4000:]}")


def _accepted(response: httpx2.Response) -> Json:
    if not response.is_success:
        raise AutoprogError(f"the server answered {response.status_code}: {response.text}")
    document: Json = response.json()
    return document


def _get(client: httpx2.Client, url: str, **parameters: str | int) -> Json:
    return _accepted(client.get(url, params=parameters))


def _post_cohort(client: httpx2.Client, console: Console) -> Json:
    content, spec = cleveland()
    part = spec.model_dump_json(exclude_unset=True)
    parts: dict[str, tuple[str | None, bytes]] = {
        "file": ("cleveland.csv.gz", content),
        "spec": (None, part.encode()),
    }
    cohort = _accepted(client.post("/v1/cohorts", files=parts))
    console.print(
        f"cohort {cohort['name']}: {cohort['n_patients']} patients, {len(cohort['features'])} features, "
        f"event rate {cohort['event_rate']:.2f}; smallest sample advised {cohort['sample_size']['riley_minimum']:,} "
        f"for a regression, {cohort['sample_size']['flexible_minimum']:,} for forests and boosting",
        highlight=False,
    )
    return cohort


def _follow(client: httpx2.Client, search: Json, time_s: float, console: Console) -> Json:
    """Poll the search to its end, with a progress bar, or plain lines where there is no terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("s"),
        TimeElapsedColumn(),
    )
    url, last = f"/v1/searches/{search['id']}", -1
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("search", total=round(time_s))
        while search["finished_at"] is None:
            time.sleep(_POLL_S)
            search = _get(client, url)
            elapsed_s = search["progress"]["elapsed_s"]
            bar.update(task, completed=min(round(elapsed_s), round(time_s)), description=_headline(search))
            if not console.is_terminal and elapsed_s // _LINE_S != last:
                last = elapsed_s // _LINE_S
                console.print(f"{_headline(search)}, {elapsed_s:.0f} s", highlight=False)
    if search["status"] != "succeeded":
        raise AutoprogError(f"the search {search['status']}: {search['error']}")
    return search


def _headline(search: Mapping[str, Any]) -> str:
    counts, best = search["progress"]["evaluations"], search["progress"]["best_score"]
    score = "" if best is None else f", best AUC {best:.3f}"
    raced_out = search["account"]["raced_out"]
    return (
        f"{search['phase'] or search['status']}: {counts['succeeded']} evaluated, {raced_out} raced out, "
        f"{counts['failed'] - raced_out} failed{score}"
    )


def _all_evaluations(client: httpx2.Client, url: str) -> list[Json]:
    items: list[Json] = []
    cursor: str | None = None
    while True:
        parameters: dict[str, str | int] = {"sort": "score", "limit": 200}
        page = _get(client, f"{url}/evaluations", **parameters, **({"cursor": cursor} if cursor else {}))
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items


def _pipeline(configuration: Mapping[str, Any]) -> str:
    return " > ".join(step["algorithm"] for step in configuration.values())


def _table(title: str, rows: Sequence[tuple[str, ...]], *columns: str) -> Table:
    table = Table(title=title, title_justify="left", *columns)  # noqa: B026
    for row in rows:
        table.add_row(*row)
    return table


def _print_leaderboard(evaluations: Sequence[Json], console: Console) -> None:
    """Print the best configurations, and the simple pipeline wherever it ranks."""
    ranked = [(rank, e) for rank, e in enumerate(evaluations, 1) if e["status"] == "succeeded"]
    shown = [(rank, e) for rank, e in ranked if rank <= _LEADERS or _pipeline(e["configuration"]) == _SIMPLE]
    rows = [
        (str(rank), f"{e['score']:.4f}", _pipeline(e["configuration"]), f"{e['duration_s']:.2f}") for rank, e in shown
    ]
    title = f"Leaderboard (of {len(ranked)}; AUC-ROC, cross-validated)"
    console.print(_table(title, rows, "rank", "score", "pipeline", "seconds"))


def _print_ensemble(ensemble: Json, console: Console) -> None:
    rows = [
        (f"{m['weight']:.3f}", f"{m['score']:.4f}", _pipeline(m["configuration"]))
        for m in ensemble["members"][:_LEADERS]
    ]
    console.print(_table(f"Ensemble ({len(ensemble['members'])} members)", rows, "weight", "score", "pipeline"))
    score, baseline = ensemble["score"], ensemble["baseline"]
    console.print(f"ensemble AUC {_estimate(score)}, simple pipeline {_estimate(baseline['score'])}", highlight=False)
    console.print(f"({score['method']})", highlight=False, style="dim")


def _estimate(score: Mapping[str, Any]) -> str:
    return f"{score['estimate']:.3f} [{score['lower']:.3f}, {score['upper']:.3f}]"


def _print_rules(rules: Json, console: Console) -> None:
    console.print("Rules", style="italic")
    for number, rule in enumerate(rules["rules"]):
        conditions = " and ".join(_condition(c) for c in rule["conditions"])
        stratum, observed = rule["stratum_probability"], rule["observed_event_rate"]
        seen = "" if observed["estimate"] is None else f"; observed {observed['estimate']:.0%} of {observed['n']}"
        console.print(
            f"  [{number}] {conditions} -> {rule['stratum']} risk "
            f"({stratum['mean']:.0%}, {stratum['lower']:.0%} to {stratum['upper']:.0%}{seen})",
            highlight=False,
            markup=False,
        )
    if fidelity := rules["fidelity"]:
        alike = f"{fidelity['agreement']:.0%} of {fidelity['n']} patients who had no part in finding them"
        console.print(f"  alone they place {alike} as the model does", highlight=False)
    console.print(f"({rules['note']})", highlight=False, style="dim")


def _condition(condition: Mapping[str, Any]) -> str:
    value = condition["value"]
    text = value if isinstance(value, str) else f"{value:g}"
    return f"{condition['feature']} {condition['operator']} {text}"


def _print_patient(item: Json, console: Console) -> None:
    console.print(f"One patient: {json.dumps(_PATIENT)}", highlight=False, markup=False)
    console.print(
        f"  risk {item['risk']:.3f}, stratum {item['stratum']}, rules {item['rules']}", highlight=False, markup=False
    )
    for warning in item["warnings"]:
        console.print(f"  {warning}", highlight=False)
