"""Whether a budget of seconds is kept, from the call to the model in hand, and how much of it the slots compute.

    python -m benchmarks.wall_clock run [--runs N]     what is not in the shard yet, in an order that mixes everything
    python -m benchmarks.wall_clock                    the figures of the shard

Sixty runs: five ways to ask (REST of a server that has just started and of one that has searched before, the command
line, Python's estimator for the first and for the second time in a process) x four budgets x three loads of the
machine (processes that do nothing but compute), with 200, 2,000 and 20,000 simulated patients of 50 columns in turn.
The bar: at most 1.05 times the budget, and 5 s more where everything starts, with a model that knows its baseline every
time; slots that compute for 80 % of the time on a machine of their own.

seconds   from the call: the POST, the command, `fit`; to the model: the poll that tells of it, the command's file, the
          return of `fit`
end       of a command: to its end, when the report is written too
busy      processor seconds of the children over seconds times slots, as far as these were up
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SHARD = HERE / "results" / "wall_clock.jsonl"
WAYS = ("rest_cold", "rest_warm", "command", "python_cold", "python_warm")
BUDGETS, LOADS, PATIENTS = (10, 30, 60, 300), (0, 4, 8), (200, 2_000, 20_000)
SLOTS = 2
_SHARE, _COLD_S, _BUSY = 1.05, 5.0, 0.8
_COLD = frozenset({"rest_cold", "command", "python_cold"})
_SPEC = {"name": "simulated", "outcome": {"column": "outcome", "positive": 1}}
_TICK_S, _POLL_S = 0.5, 0.05

_ESTIMATOR = """
import json, sys, time
import pandas as pd
from autoprog import AutoPrognosis
frame = pd.read_csv(sys.argv[1])
y = frame.pop("outcome")
if sys.argv[3] == "warm":
    AutoPrognosis(time_budget_s=8).fit(frame.iloc[:200], y.iloc[:200])
print("START", flush=True)
start = time.perf_counter()
model = AutoPrognosis(time_budget_s=float(sys.argv[2])).fit(frame, y)
seconds = time.perf_counter() - start
told = {"seconds": seconds, "evaluations": len(model.leaderboard_), "baseline": model.ensemble_["baseline"] is not None}
print("RESULT " + json.dumps(told), flush=True)
"""


def asked() -> list[dict[str, Any]]:
    """The sixty runs, short ones first."""
    cells = enumerate(product(BUDGETS, WAYS, LOADS))
    return [
        {"way": way, "budget": budget, "load": load, "patients": PATIENTS[(i + i // len(PATIENTS)) % len(PATIENTS)]}
        for i, (budget, way, load) in cells
    ]


@contextmanager
def loaded(processes: int) -> Iterator[None]:
    """So many processes that compute."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


class Watched:
    """A process and what its descendants compute, as long as they live.

    Parameters
    ----------
    command : list of str
        Started in a session of its own.
    """

    def __init__(self, command: list[str], **more: Any) -> None:
        self.process = subprocess.Popen(command, start_new_session=True, text=True, **more)
        self._seconds: dict[int, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def children_s(self) -> float:
        """Processor seconds of all descendants so far."""
        self._look()
        return sum(seconds for pid, seconds in self._seconds.items() if pid != self.process.pid)

    def close(self) -> None:
        """Kill all of them."""
        self._ended.set()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _watch(self) -> None:
        while not self._ended.wait(_TICK_S):
            self._look()

    def _look(self) -> None:
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError, IndexError):
                fields = path.read_text().rsplit(")", 1)[1].split()
                if int(fields[3]) == self.process.pid:  # the session
                    ticks = int(fields[11]) + int(fields[12])
                    self._seconds[int(path.parent.name)] = ticks / os.sysconf("SC_CLK_TCK")


def by_python(file: Path, run: dict[str, Any], folder: Path) -> dict[str, Any]:
    """`fit`, for the first or the second time."""
    command = [sys.executable, "-c", _ESTIMATOR, str(file), str(run["budget"]), run["way"].partition("_")[2]]
    watched = Watched(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
    try:
        assert watched.process.stdout is not None
        before, result = 0.0, None
        for line in watched.process.stdout:
            if line.startswith("START"):
                before = watched.children_s()
            if line.startswith("RESULT "):
                result = json.loads(line[7:])
                result["busy"] = (watched.children_s() - before) / result["seconds"] / SLOTS
        if result is None:
            assert watched.process.stderr is not None
            return {"failed": (watched.process.stderr.read().strip().splitlines() or ["nothing was said"])[-1][:300]}
        return dict(result)
    finally:
        watched.close()


def by_command(file: Path, run: dict[str, Any], folder: Path) -> dict[str, Any]:
    """`autoprog search`, to its model and to its end, which comes when the report is written."""
    settings = json.dumps({"budget": {"time_s": run["budget"], "evaluations": 10_000}})
    out = folder / "out"
    command = [str(Path(sys.executable).parent / "autoprog"), "search", str(file), "--spec", json.dumps(_SPEC)]
    start = time.perf_counter()
    watched = Watched([*command, "--out", str(out), "--settings", settings], stdout=subprocess.DEVNULL, cwd=folder)
    try:
        while watched.process.poll() is None and not (out / "model.autoprog").exists():
            time.sleep(_POLL_S)
        seconds = time.perf_counter() - start
        busy = watched.children_s() / seconds / SLOTS
        watched.process.wait(timeout=120)
        to_the_end = time.perf_counter() - start
        if watched.process.returncode:
            return {"failed": f"exit status {watched.process.returncode}"}
        baseline = tells_baseline((out / "report.html").read_text())
        evaluations = len((out / "leaderboard.csv").read_text().splitlines()) - 1
        told = {"seconds": seconds, "end": to_the_end, "evaluations": evaluations}
        return {**told, "baseline": baseline, "busy": busy}
    finally:
        watched.close()


def tells_baseline(report: str) -> bool:
    """Whether a report has the simple model's figures: a note to the measures names it."""
    return "Simple model: " in report


def by_rest(file: Path, run: dict[str, Any], folder: Path) -> dict[str, Any]:
    """POST, and polls until the model is there."""
    port = 8731
    environ = {**os.environ, "AUTOPROG_DATA_DIR": str(folder / "data")}
    command = [str(Path(sys.executable).parent / "autoprog"), "serve", "--port", str(port)]
    watched = Watched(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, env=environ)
    api = f"http://127.0.0.1:{port}"
    try:
        _until(lambda: bool(_call(f"{api}/livez", raw=True)), 120)
        cohort = _upload(api, file, folder)
        if run["way"] == "rest_warm":
            _searched(api, cohort, 8)
        before = watched.children_s()
        start = time.perf_counter()
        search = _searched(api, cohort, run["budget"])
        seconds = time.perf_counter() - start
        busy = (watched.children_s() - before) / seconds / SLOTS
        if search["model_id"] is None:
            return {"failed": str(search["error"])}
        ensemble = _call(f"{api}/v1/searches/{search['id']}/ensemble")
        counts = search["progress"]["evaluations"]
        evaluations = counts["succeeded"] + counts["failed"]
        has_baseline = ensemble["baseline"] is not None
        return {"seconds": seconds, "evaluations": evaluations, "baseline": has_baseline, "busy": busy}
    finally:
        watched.close()


def _upload(api: str, file: Path, folder: Path) -> str:
    made = subprocess.run(
        ["curl", "-s", f"{api}/v1/cohorts", "-F", f"file=@{file}", "-F", f"spec={json.dumps(_SPEC)}"],
        capture_output=True, text=True, check=True, cwd=folder,
    )  # fmt: skip
    return str(json.loads(made.stdout)["id"])


def _searched(api: str, cohort: str, budget: float) -> dict[str, Any]:
    body = {"cohort_id": cohort, "budget": {"time_s": budget, "evaluations": 10_000}}
    search = _call(f"{api}/v1/searches", body)
    found: dict[str, Any] = {}

    def ended() -> bool:
        found.update(_call(f"{api}/v1/searches/{search['id']}"))
        return found["finished_at"] is not None

    _until(ended, 10 * budget + 120)
    return found


def _call(url: str, body: dict[str, Any] | None = None, *, raw: bool = False) -> Any:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, {"Content-Type": "application/json"})  # noqa: S310  of this machine
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        text = answer.read()
    return text if raw else json.loads(text)


def _until(is_so: Any, patience_s: float) -> None:
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        with suppress(OSError):
            if is_so():
                return
        time.sleep(0.1)
    msg = f"not so after {patience_s:g} s"
    raise TimeoutError(msg)


def run_one(run: dict[str, Any]) -> dict[str, Any]:
    """One run with its load."""
    from benchmarks.simulated_cohort import simulated_table  # noqa: PLC0415  learning libraries

    how = {"rest_cold": by_rest, "rest_warm": by_rest, "command": by_command}.get(run["way"], by_python)
    folder = Path(tempfile.mkdtemp())
    try:
        file = folder / "cohort.csv"
        simulated_table(run["patients"], 1).to_csv(file, index=False)
        with loaded(run["load"]):
            told = how(file, run, folder)
    except (OSError, subprocess.SubprocessError) as error:
        told = {"failed": f"{type(error).__name__}: {error}"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {**run, **{name: round(v, 3) if isinstance(v, float) else v for name, v in told.items()}}


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What the bars speak of."""
    ended = [row for row in rows if "failed" not in row]
    over = [row for row in ended if row["seconds"] > _SHARE * row["budget"] + _COLD_S * (row["way"] in _COLD)]
    quiet = [row for row in ended if row["load"] == 0 and row["budget"] >= BUDGETS[1]]
    return {
        "runs": len(rows),
        "without_a_model": [row for row in rows if "failed" in row],
        "without_a_baseline": [row for row in ended if not row["baseline"]],
        "over_the_bar": over,
        "share_of_the_budget": {
            f"{way}, load {load}": [
                round(row["seconds"] / row["budget"], 2) for row in ended if (row["way"], row["load"]) == (way, load)
            ]
            for way, load in product(WAYS, LOADS)
        },
        "busy_without_load": [round(row["busy"], 2) for row in quiet],
        "busy_enough": sum(row["busy"] >= _BUSY for row in quiet),
    }


def main() -> None:
    """Run what is missing, or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["run", "show"], default="show")
    parser.add_argument("--runs", type=int, default=60, help="at most so many, the shortest first")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in SHARD.read_text().splitlines()] if SHARD.exists() else []
    if arguments.what == "run":
        done = [{name: row[name] for name in ("way", "budget", "load", "patients")} for row in rows]
        for run in [run for run in asked() if run not in done][: arguments.runs]:
            row = run_one(run)
            rows.append(row)
            with SHARD.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps(row), file=sys.stderr, flush=True)
    print(json.dumps(figures(rows), indent=2))


if __name__ == "__main__":
    main()
