from __future__ import annotations

from collections.abc import Iterator

import pytest

from autoprog.engine import LocalEngine
from autoprog.engine.cluster import ClusterEngine
from tests.conftest import THREADS
from tests.engine.cluster import Engine, end_process, free_port, start_scheduler, start_worker, wait_until


@pytest.fixture(autouse=True, scope="package")
def _as_many_threads_as_they_like() -> Iterator[None]:
    """It is for the engine to limit them."""
    with pytest.MonkeyPatch.context() as environment:
        for name in THREADS:
            environment.delenv(name, raising=False)
        yield


@pytest.fixture(scope="package")
def embedded() -> Iterator[LocalEngine]:
    with LocalEngine(2, ["tests.hostile"]) as engine:
        yield engine


@pytest.fixture(scope="package")
def scheduler() -> Iterator[str]:
    """Address of a scheduler with one worker of two slots."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    processes = [start_scheduler(port), start_worker(address, slots=2)]
    yield address
    for process in reversed(processes):
        end_process(process)


@pytest.fixture(scope="package")
def cluster(scheduler: str) -> Iterator[ClusterEngine]:
    with ClusterEngine(scheduler) as engine:
        wait_until(lambda: engine.health().slots == 2)
        yield engine


@pytest.fixture(params=["embedded", "cluster"])
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen: Engine = request.getfixturevalue(request.param)
    return chosen
