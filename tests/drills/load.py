"""A sustained load on one process of the API: predictions at a fixed rate beside clients that poll and follow.

    python -m tests.drills.load --postgres URL [--minutes 10] [--rate 30] [--pollers 500] [--followers 100]

URL names a server on which databases are made and dropped. Predictions are sent at fixed times, whether or not earlier
ones were answered, and a latency counts from that time; those of the first ten seconds, in which all clients connect,
are told apart. Each poller reads a search that waits every five seconds, each follower holds an event stream open.
Clients and server share the machine. Target: 99 % of the predictions within 300 ms, 1,000 patients in a request within
2 s, no status but 200, and resident memory within 5 % from the second minute on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import psutil

from tests.api.searching import patient
from tests.drills.cluster import Cluster
from tests.drills.faults import own_database, wait_for_end

_POLL_S = 5.0
_SAMPLE_S = 5.0
_CONNECTING_S = 10.0
_MIB = 2**20


@dataclass
class Load:
    """What was asked for, and what came of it."""

    minutes: float
    rate: float
    pollers: int
    followers: int
    latencies: list[tuple[float, float]] = field(default_factory=list)  # seconds: sent at, answered after
    statuses: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds, MiB
    events: int = 0  # streams that the server ended in order

    async def run(self, url: str, model: str, waiting: str, process: psutil.Process) -> None:
        """Keep the load up."""
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx2.AsyncClient(base_url=url, limits=limits, timeout=60) as client:
            end = time.monotonic() + 60 * self.minutes
            beside = [asyncio.create_task(self._follow(client, waiting)) for _ in range(self.followers)]
            beside += [
                asyncio.create_task(self._poll(client, waiting, i * _POLL_S / self.pollers))
                for i in range(self.pollers)
            ]
            beside.append(asyncio.create_task(self._watch(process)))
            asked: set[asyncio.Task[None]] = set()
            began = due = time.monotonic()
            while due < end:
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                asked.add(asyncio.create_task(self._predict(client, model, due - began, due)))
                asked = {task for task in asked if not task.done()}
                due += 1 / self.rate
            await asyncio.gather(*asked)
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _predict(self, client: httpx2.AsyncClient, model: str, at: float, due: float) -> None:
        await self._ask(client, "POST", f"/v1/models/{model}/predictions", json={"patients": [patient()]})
        self.latencies.append((at, time.monotonic() - due))

    async def _poll(self, client: httpx2.AsyncClient, search: str, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        while True:
            await self._ask(client, "GET", f"/v1/searches/{search}")
            await asyncio.sleep(_POLL_S)

    async def _follow(self, client: httpx2.AsyncClient, search: str) -> None:
        try:
            async with client.stream("GET", f"/v1/searches/{search}/events", timeout=None) as stream:
                self.statuses[f"events {stream.status_code}"] += 1
                async for _ in stream.aiter_bytes():
                    pass
        except httpx2.TransportError as error:
            self.statuses[f"events {type(error).__name__}"] += 1
        else:
            self.events += 1

    async def _watch(self, process: psutil.Process) -> None:
        began = time.monotonic()
        while True:
            self.memory.append((time.monotonic() - began, process.memory_info().rss / _MIB))
            await asyncio.sleep(_SAMPLE_S)

    async def _ask(self, client: httpx2.AsyncClient, method: str, path: str, **more: Any) -> None:
        what = "predictions" if method == "POST" else "polls"
        try:
            answer = await client.request(method, path, **more)
        except httpx2.TransportError as error:
            self.statuses[f"{what} {type(error).__name__}"] += 1
        else:
            self.statuses[f"{what} {answer.status_code}"] += 1


def drill(folder: Path, postgres: str, load: Load) -> dict[str, Any]:
    """Make a model, then load the API; return the figures, with all that misses its target."""
    cluster = Cluster(folder, postgres)
    try:
        ended = wait_for_end(cluster, cluster.start_search(24, 120))
        model = ended["model_id"]
        members = len(cluster.client.get(f"/v1/searches/{ended['id']}/ensemble").raise_for_status().json()["members"])
        for name in ("runner-1", "runner-2"):
            cluster.end(name)
        waiting = cluster.start_search(500, 3600)
        process = psutil.Process(cluster.processes["api"].pid)
        asyncio.run(load.run(str(cluster.client.base_url), model, waiting, process))
        began = time.monotonic()
        many = cluster.client.post(f"/v1/models/{model}/predictions", json={"patients": [patient()] * 1000})
        many_s = time.monotonic() - began
    finally:
        cluster.close()
    p50, p99 = np.quantile([seconds for at, seconds in load.latencies if at >= _CONNECTING_S], (0.5, 0.99))
    first = max(seconds for at, seconds in load.latencies if at < _CONNECTING_S)
    later = [mib for at, mib in load.memory if at >= 60]
    growth = max(later) / min(later) - 1 if later else 0.0
    failed = {key: n for key, n in load.statuses.items() if not key.endswith(" 200")}
    targets = {
        "p99 above 300 ms": p99 > 0.3, "1,000 patients above 2 s": many_s > 2 or not many.is_success,
        "memory grew by more than 5 %": growth > 0.05, "not all requests succeeded": bool(failed),
        "event streams ended": load.events > 0,
    }  # fmt: skip
    return {
        "members": members,
        "predictions": len(load.latencies),
        "p50 ms": round(1000 * p50),
        "p99 ms": round(1000 * p99),
        "longest while connecting ms": round(1000 * first),
        "1,000 patients s": round(many_s, 2),
        "statuses": dict(sorted(load.statuses.items())),
        "memory MiB": [round(load.memory[0][1]), round(max(later))] if later else [round(load.memory[0][1])],
        "memory growth %": round(100 * growth, 1),
        "missed": [name for name, is_missed in targets.items() if is_missed],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", required=True)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=float, default=30)
    parser.add_argument("--pollers", type=int, default=500)
    parser.add_argument("--followers", type=int, default=100)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes end, too
    load = Load(asked.minutes, asked.rate, asked.pollers, asked.followers)
    with tempfile.TemporaryDirectory() as folder, own_database(asked.postgres) as url:
        found = drill(Path(folder), url, load)
    print(json.dumps({"drill": "load", "database": "postgresql", "minutes": asked.minutes, **found}), flush=True)
    sys.exit(bool(found["missed"]))


if __name__ == "__main__":
    main()
