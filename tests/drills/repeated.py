"""The faults of `faults.py`, each many times: several in one installation after another, installations side by side.

    python -m tests.drills.repeated FOLDER [--times 20] [--postgres URL] [--only DATABASE ...] [--side-by-side 3]
        [--minutes N] [--faults FAULT ...]

A drill waits most of its time, and an installation takes longer to start than a search of twelve evaluations takes. So
here an installation takes ten faults, each in a search of its own and after a random number of its evaluations, and
must still hold whatever was acknowledged during the earlier ones. Faults that last a minute or ten are tried if
`--faults` names them, on SQLite, PostgreSQL and the cluster. Each result is a line of FOLDER; another run goes on
from there, and prints the table of all of them.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.drills.cluster import Cluster
from tests.drills.faults import EVALUATIONS, FAULTS, LONG, OWN_DISK, Fault, installation, strike

ALL_FAULTS: Mapping[str, Mapping[str, Fault]] = {
    database: {**faults, **(LONG if database in {"sqlite", "postgresql", "cluster"} else {})}
    for database, faults in FAULTS.items()
}
FAULTS_OF_AN_INSTALLATION = 10
WAIT_S = 0.5  # of clients between their requests, so that installations side by side leave each other time


class Results:
    """Results in a folder, and what is still to be done.

    Parameters
    ----------
    folder : Path
        One file for each database; the logs of an installation in which something was wrong.
    databases : mapping
        URL of the server of each, or None.
    faults : mapping
        Faults to try on each.
    times : int
        How often each fault is tried on each database.
    minutes : float
        After which no further drill begins.
    """

    def __init__(
        self,
        folder: Path,
        databases: Mapping[str, str | None],
        faults: Mapping[str, Mapping[str, Fault]],
        times: int,
        minutes: float,
    ) -> None:
        self.folder, self.databases, self.faults, self.times = folder, databases, faults, times
        folder.mkdir(parents=True, exist_ok=True)
        self._end = time.monotonic() + 60 * minutes
        self._lock = threading.Lock()
        self._done = Counter((each["database"], each["fault"]) for each in self.read())
        self._at_work: Counter[str] = Counter()

    def read(self) -> list[dict[str, Any]]:
        """All results."""
        files = [self.folder / f"{database}.jsonl" for database in FAULTS]
        return [json.loads(line) for file in files if file.exists() for line in file.read_text().splitlines()]

    def take_database(self) -> str | None:
        """The database with most to do for each installation that works on it; None if all is done."""
        with self._lock:
            left = {database: self._left(database) for database in self.databases}
            open_ones = [
                database for database, n in left.items() if n > FAULTS_OF_AN_INSTALLATION * self._at_work[database]
            ]
            if not open_ones or time.monotonic() > self._end:
                return None
            chosen = max(open_ones, key=lambda database: left[database] / (1 + self._at_work[database]))
            self._at_work[chosen] += 1
            return chosen

    def end(self) -> None:
        """Begin no further drill."""
        self._end = 0.0

    def leave_database(self, database: str) -> None:
        with self._lock:
            self._at_work[database] -= 1

    def take_fault(self, database: str) -> str | None:
        """The fault that was tried least often; None if all were tried often enough."""
        with self._lock:
            fault = min(self.faults[database], key=lambda each: self._done[database, each])
            if self._done[database, fault] >= self.times or time.monotonic() > self._end:
                return None
            self._done[database, fault] += 1
            return fault

    def write(self, database: str, fault: str, found: Mapping[str, Any]) -> None:
        line = json.dumps({"database": database, "fault": fault, **found})
        with self._lock, (self.folder / f"{database}.jsonl").open("a") as file:
            file.write(line + "\n")
        if found["wrong"]:
            print(line, flush=True)

    def table(self) -> str:
        """Counts and figures of each fault, as Markdown."""
        head = "| fault | database | times | wrong | acknowledged | 503 | no response | to the end, s: median, most |"
        lines, found = [head, "| " + "--- | " * 7 + "--- |"], self.read()
        for database, faults in ALL_FAULTS.items():
            for fault in faults:
                those = [each for each in found if (each["database"], each["fault"]) == (database, fault)]
                played = [each for each in those if "acknowledged" in each]
                if not played:
                    continue
                sums = [sum(each["acknowledged"] for each in played)]
                sums += [sum(each["statuses"].get("503", 0) for each in played)]
                sums += [sum(each["without response"] for each in played)]
                ends = sorted(each["to the end s"] for each in played)
                wrong = sum(bool(each["wrong"]) for each in those)
                figures = [
                    len(those),
                    wrong,
                    *(f"{each:,}" for each in sums),
                    f"{ends[len(ends) // 2]:.0f}, {ends[-1]:.0f}",
                ]
                lines.append("| " + " | ".join(map(str, [fault, database, *figures])) + " |")
        return "\n".join(lines)

    def _left(self, database: str) -> int:
        return sum(max(0, self.times - self._done[database, fault]) for fault in self.faults[database])


def work(results: Results) -> None:
    """Start one installation after another until nothing is left."""
    while (database := results.take_database()) is not None:
        try:
            with installation(database, results.databases[database]) as cluster:
                _work_on(results, database, cluster)
        except Exception:  # noqa: BLE001  it is reported as what it is
            results.write(database, "installation", {"wrong": [traceback.format_exc()]})
        finally:
            results.leave_database(database)


def _work_on(results: Results, database: str, cluster: Cluster) -> None:
    acknowledged: dict[str, str] = {}
    for _ in range(FAULTS_OF_AN_INSTALLATION):
        if (fault := results.take_fault(database)) is None:
            break
        after, began = random.randint(1, EVALUATIONS - 2), time.time()
        try:
            found = strike(
                cluster, results.faults[database][fault], EVALUATIONS, after=after, earlier=acknowledged, wait_s=WAIT_S
            )
        except Exception:  # noqa: BLE001  it is reported as what it is
            found = {"wrong": [traceback.format_exc()]}
        if found["wrong"]:
            kept = results.folder / f"logs-{database.replace(' ', '-')}-{fault}-{began:.0f}"
            shutil.copytree(cluster.folder, kept, ignore=shutil.ignore_patterns("certificates", "clock*", "files"))
        results.write(database, fault, {"after": after, "began": round(began), **found})
        if found["wrong"]:
            break
    cluster.command("audit", "verify")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--postgres")
    parser.add_argument("--only", nargs="+", choices=list(FAULTS), default=list(FAULTS))
    parser.add_argument("--side-by-side", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--faults", nargs="+", choices=sorted(set().union(*ALL_FAULTS.values())))
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes end, too
    servers = dict.fromkeys(("sqlite", "own postgresql", f"sqlite{OWN_DISK}"))
    on_postgres = ("postgresql", "cluster", "network", f"postgresql{OWN_DISK}")
    servers |= dict.fromkeys(on_postgres, asked.postgres) if asked.postgres else {}
    faults = {
        database: {name: fault for name, fault in of.items() if name in (asked.faults or FAULTS[database])}
        for database, of in ALL_FAULTS.items()
    }
    databases = {database: url for database, url in servers.items() if database in asked.only and faults[database]}
    results = Results(asked.folder, databases, faults, asked.times, asked.minutes)
    with ThreadPoolExecutor(asked.side_by_side) as pool:
        try:
            list(pool.map(work, [results] * asked.side_by_side))
        finally:
            results.end()
    print(results.table(), flush=True)
    sys.exit(any(each["wrong"] for each in results.read()))


if __name__ == "__main__":
    main()
