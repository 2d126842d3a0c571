"""How long a live round of test selection takes, over HTTP and at the engine, beside a read of the same problem.

A round is an opening and its feedback. Each is timed by the wall clock and by the processor time of the process, client
and server together; other work on the machine makes the wall clock longer, not the processor time. A cascade of ten
tests, and subsets of eight tests (255 arms, 32,385 pairs), on SQLite, and on PostgreSQL where AUTOPROG_TEST_POSTGRES
names a database that may be written to. Prints JSON.

    python -m benchmarks.csmd_service
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import numpy as np
from fastapi.testclient import TestClient

from api import create_app
from autoprog.csmd import problem_from_json
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files

SEED, WARM, ROUNDS = 0, 50, 200
BAR_HTTP_MS, BAR_ENGINE_MS = 15.0, {"cascade": 5.0, "subset": 20.0}
PROBLEMS = "/v1/test-selection/problems"
CASES = (("cascade", 10), ("subset", 8))
ALGORITHMS = ("ts", "kl_ucb", "ucb1")


def body(structure: str, n_tests: int, algorithm: str) -> dict[str, Any]:
    tests = [{"name": f"test {k}", "cost": 1.0 + k} for k in range(n_tests)]
    return {"name": "benchmark", "structure": structure, "algorithm": algorithm, "tests": tests, "trade_off": 0.01}


def outputs(rng: np.random.Generator, n: int) -> list[int]:
    """What the arms say of one patient: each differs from the outcome in a fifth of the patients."""
    outcome = rng.random() < 0.5
    return [int(v) for v in outcome ^ (rng.random(n) < 0.2)]


def timed(work: Callable[[int], object]) -> dict[str, float]:
    """Medians and 95th percentiles over rounds, in milliseconds."""
    wall, processor = [], []
    for number in range(WARM + ROUNDS):
        start = time.perf_counter(), time.process_time()
        work(number)
        wall.append(1000 * (time.perf_counter() - start[0]))
        processor.append(1000 * (time.process_time() - start[1]))
    wall, processor = wall[WARM:], processor[WARM:]
    return {
        "wall_median_ms": statistics.median(wall),
        "wall_p95_ms": statistics.quantiles(wall, n=20)[-1],
        "processor_median_ms": statistics.median(processor),
    }


def over_http(client: TestClient, structure: str, n_tests: int, algorithm: str) -> dict[str, Any]:
    problem = client.post(PROBLEMS, json=body(structure, n_tests, algorithm)).raise_for_status().json()
    arms = problem_from_json(problem).arms
    url = f"{PROBLEMS}/{problem['id']}"
    rng = np.random.default_rng(SEED)

    def one_round(_: int) -> None:
        opened = client.post(f"{url}/rounds").raise_for_status().json()
        row = outputs(rng, len(arms))
        known = {arms.arms[i].id: row[i] for i in arms.revealed(int(opened["arm"]) - 1)}
        client.post(f"{url}/rounds/{opened['id']}/feedback", json={"predictions": known}).raise_for_status()

    found = timed(one_round)
    client.delete(url).raise_for_status()
    read = timed(lambda _: client.get(f"/v1/jobs/{'0' * 32}"))
    return {**found, "bar_ms": BAR_HTTP_MS, "an_empty_request": read}


def at_the_engine(structure: str, n_tests: int, algorithm: str) -> dict[str, Any]:
    asked = body(structure, n_tests, algorithm)
    problem = problem_from_json(asked | {"tests": [test | {"features": []} for test in asked["tests"]]})
    rng = np.random.default_rng(SEED)
    counts = problem.empty()

    def one_round(number: int) -> None:
        nonlocal counts
        arm = problem.choose(counts, number + 1, np.random.default_rng([SEED, number + 1]))
        row = np.array(outputs(rng, len(problem.arms)), dtype=np.int8)
        counts = problem.update(counts, arm, row[problem.arms.revealed(arm)])

    return {**timed(one_round), "bar_ms": BAR_ENGINE_MS[structure], "counts_mib": counts.nbytes / 2**20}


@contextmanager
def server(url: str, folder: str) -> Iterator[TestClient]:
    database = Database(url)
    database.migrate()
    app = create_app(Settings(), database, Files(f"{folder}/files"), local_owner=True)
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        yield client
    database.close()


def main() -> None:
    figures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        urls = {"sqlite": f"sqlite:///{folder}/benchmark.db"}
        if os.environ.get("AUTOPROG_TEST_POSTGRES"):
            urls["postgresql"] = os.environ["AUTOPROG_TEST_POSTGRES"]
        for structure, n_tests in CASES:
            for algorithm in ALGORITHMS:
                case = {"structure": structure, "tests": n_tests, "algorithm": algorithm}
                figures.append({**case, "where": "engine", **at_the_engine(structure, n_tests, algorithm)})
                for name, url in urls.items():
                    with server(url, folder) as client:
                        found = over_http(client, structure, n_tests, algorithm)
                    figures.append({**case, "where": f"http on {name}", **found})
    versions = {name: version(name) for name in ("autoprog", "numpy", "fastapi", "sqlalchemy")}
    about = {"seed": SEED, "rounds": ROUNDS, "python": platform.python_version(), "versions": versions}
    print(json.dumps({**about, "processors": os.cpu_count(), "figures": figures}, indent=1))


if __name__ == "__main__":
    main()
