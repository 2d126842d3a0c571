"""Processes of a cluster that somebody has taken over: what they send runs code wherever it is unpickled.

A trap writes the number of the process that it runs in to a file. Workers lie as the call's key says, schedulers as a
file says, which a test writes.
"""

from __future__ import annotations

import asyncio
import copyreg
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Scheduler, Worker
from distributed.core import Status
from distributed.protocol import Serialize, Serialized, ToPickle

import autoprog.engine.cluster.worker as honest
from autoprog.engine.cluster.answers import write_answer
from autoprog.engine.cluster.configuration import configure_dask
from autoprog.work import CallLimits, CallOutcome, CallStatus, write_value
from tests.engine.cluster import ROOT

_PROGRAM = "import os; print(os.getpid(), file=open({!r}, 'a'))"
_SIZE = 3 << 20
marker = ""


def start(role: str, where: str, folder: Path) -> subprocess.Popen[bytes]:
    program = f"from tests.engine.lying import main; main{(role, where, str(folder))!r}"
    return subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)


def sprung(folder: Path) -> set[int]:
    """Processes that a trap ran in."""
    file = folder / "sprung"
    return set(map(int, file.read_text().split())) if file.exists() else set()


class Trap:
    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (_PROGRAM.format(marker),)


class TrapType(type):
    pass


class OfTrapType(metaclass=TrapType):
    pass


copyreg.pickle(TrapType, lambda _: Trap().__reduce__())  # type: ignore[arg-type]


def trap() -> bytes:
    return pickle.dumps(Trap())


def _raise() -> None:
    raise ValueError(Trap())


def _succeeded(value: bytes, seconds: float = 0.1) -> bytes:
    return write_answer(CallOutcome("", CallStatus.SUCCEEDED, value, duration_s=seconds))


def _warn() -> bytes:
    from distributed import get_worker  # noqa: PLC0415

    get_worker().log_event("warn", {"message": trap(), "category": trap()})
    get_worker().log_event("print", {"args": ("spoken",)})
    return _succeeded(write_value(3))


RESULTS: Mapping[str, Callable[[], object]] = {
    "result is an object": Trap,
    "result is a pickle": trap,
    "result is an array of objects": lambda: np.array([Trap()]),
    "result is of a type": OfTrapType,
    "value is a pickle": lambda: _succeeded(trap()),
    "value is of another type": lambda: _succeeded(write_value("text")),
    "value is cut off": lambda: _succeeded(write_value(3)[:-1]),
    "answer is cut off": lambda: _succeeded(write_value(3))[:-1],
    "answer is of another form": lambda: write_value({"status": "succeeded"}),
    "answer took no time": lambda: _succeeded(write_value(3), float("nan")),
    "answer has no value": lambda: write_answer(CallOutcome("", CallStatus.SUCCEEDED)),
    "answer is large": lambda: _succeeded(write_value(bytes(_SIZE))),
    "raises": _raise,
    "warns": _warn,
}
MESSAGES: Mapping[str, Callable[[], object]] = {
    "message is to be pickled": lambda: ToPickle(Trap()),
    "message is serialised": lambda: Serialize(Trap()),
    "message is serialised by hand": lambda: Serialized({"serializer": "pickle", "writeable": ()}, [trap()]),
    "message is an array of objects": lambda: Serialize(np.array([Trap()])),
    "message is of a type": lambda: Serialized(
        {"serializer": "dask", "sub-header": {}, "type": "builtins.bytes", "type-serialized": trap()}, [b"a"]
    ),
    "message is compressed": lambda: Serialized({"serializer": "dask", "compression": ("zlib",)}, [b"a"]),
    "message is an import": lambda: {"__Enum__": True, "__module__": "this", "__name__": "s", "name": "s"},
    "message is bytes": trap,
    "message is nothing": lambda: None,
    "message never comes": lambda: None,
}


def lie(_task: str, key: str, _payload: bytes, _limits: CallLimits) -> object:
    return RESULTS.get(key, lambda: _succeeded(write_value(3)))()


class LyingWorker(Worker):
    """Runs no calls, and sends what was asked for in another form."""

    async def get_data(self, comm: Any, keys: Any, who: Any = None, serializers: Any = None) -> Any:
        for key in keys:
            for name, make in MESSAGES.items():
                if name.encode() in _text_of(self.state.tasks[key].run_spec):
                    if "never" in name:
                        await asyncio.sleep(3600)
                    await comm.write({"status": "OK", "data": {key: make()}})
                    await comm.read()
                    return Status.dont_reply
        return await super().get_data(comm, keys, who, serializers)


def _text_of(spec: object) -> bytes:
    return pickle.dumps(spec)


async def _worker(address: str) -> None:
    honest.supervise = lie  # type: ignore[assignment]
    async with LyingWorker(address, nthreads=1, memory_limit=0, dashboard_address="127.0.0.1:0") as worker:
        await worker.finished()


def _erred(exception: object) -> Callable[[str], list[object]]:
    return lambda key: [{"op": "task-erred", "key": key, "exception": exception, "traceback": exception}]


STREAMS: Mapping[str, Callable[[], Callable[[str], list[object]]]] = {
    "erred bytes": lambda: _erred(trap()),
    "erred serialised": lambda: _erred(Serialize(trap())),
    "erred to be pickled": lambda: _erred(ToPickle(Trap())),
    "type": lambda: lambda key: [{"op": "key-in-memory", "key": key, "type": trap(), "workers": []}],
    "event": lambda: (
        lambda _: [
            {"op": "event", "topic": topic, "event": (0, {"message": trap(), "category": trap(), "args": (trap(),)})}
            for topic in ("warn", "print")
        ]
    ),
    "error": lambda: lambda _: [{"op": "error", "exception": trap()}],
    "status": lambda: lambda _: [{"status": "error", "exception": trap(), "traceback": trap()}],
    "no operation": lambda: lambda _: [{"op": trap()}],
    "no message": lambda: lambda _: [5],
    "to be pickled": lambda: lambda _: [ToPickle(Trap())],
    "key": lambda: lambda _: [{"op": "key-in-memory", "key": Serialize(Trap())}],
}
REPLIES: Mapping[str, Callable[[], object]] = {
    "reply to be pickled": lambda: ToPickle(Trap()),
    "reply serialised": lambda: Serialize(Trap()),
    "reply failed": lambda: {
        "status": "uncaught-error",
        "exception": trap(),
        "exception_text": "a",
        "traceback": trap(),
    },
    "reply failed, serialised": lambda: {"status": "uncaught-error", "exception": Serialize(trap()), "traceback": None},
    "reply is bytes": trap,
    "reply is text": lambda: "text",
}


class LyingScheduler(Scheduler):
    """Answers as the file `lie` says: `ncores`, `identity` or `gather` and a reply, or a lie of the stream."""

    folder: Path

    def lie(self, place: str) -> Callable[[], Any] | None:
        told, _, name = (self.folder / "lie").read_text().partition(": ")
        return (REPLIES | STREAMS)[name] if told == place else None

    def get_ncores(self, workers: Any = None) -> Any:
        told = self.lie("ncores")
        return {"tcp://127.0.0.1:1": 1} if told is None else told()

    def identity(self, n_workers: int = -1) -> Any:
        told = self.lie("identity")
        return super().identity(n_workers) if told is None else told()

    async def update_graph(self, client: str, keys: Any = (), **_: Any) -> None:
        told = self.lie("stream")
        for key in keys:
            message = [{"op": "key-in-memory", "key": key}] if told is None else told()(key)
            self.client_comms[client].send(*message)

    async def gather(self, keys: Any, serializers: Any = None) -> Any:
        told = self.lie("gather")
        if told is not None:
            return told()
        return {"status": "OK", "data": {key: Serialize(_succeeded(write_value(3))) for key in keys}}


async def _scheduler(port: str, folder: Path) -> None:
    LyingScheduler.folder = folder
    where = {"host": "127.0.0.1", "port": int(port), "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    async with LyingScheduler(**where) as scheduler:
        await scheduler.finished()


def main(role: str, where: str, folder: str) -> None:
    global marker  # noqa: PLW0603  where every trap finds it
    marker = str(Path(folder) / "sprung")
    configure_dask()
    asyncio.run(_worker(where) if role == "worker" else _scheduler(where, Path(folder)))
