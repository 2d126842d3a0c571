"""The private folder of a worker's children: made, shared, removed, and removed by the next worker after a kill."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from autoprog.engine import LocalEngine
from autoprog.engine.cluster import ClusterEngine
from autoprog.engine.scratch import Scratch
from autoprog.work import Call, CallLimits, run_calls
from tests.engine import functions
from tests.engine.cluster import (
    PATIENCE_S,
    ROOT,
    Engine,
    end_process,
    free_port,
    start_scheduler,
    start_worker,
    wait_until,
)

LIMITS = CallLimits(time_s=20, memory_mb=256)
HOLD = """
import sys, time
from pathlib import Path
from autoprog.engine.scratch import Scratch

scratch = Scratch(Path(sys.argv[1]))
(scratch.folder / "stage").write_bytes(b"x")
print(scratch.folder, flush=True)
time.sleep(1000)
"""


def folders_of_children(engine: Engine, n: int) -> set[Path]:
    calls = [Call(str(number), functions.scratch) for number in range(n)]
    return {Path(outcome.value) for outcome in run_calls(engine, calls, LIMITS, lambda: False)}


def test_the_folder_is_private_and_goes_with_its_files(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    assert stat.S_IMODE(scratch.folder.stat().st_mode) == 0o700
    assert f"-{os.getpid()}-" in scratch.folder.name
    (scratch.folder / "stage").write_bytes(b"x")
    scratch.close()
    assert list(tmp_path.iterdir()) == []


def test_a_new_worker_spares_the_folders_of_those_that_live(tmp_path: Path) -> None:
    one, two = Scratch(tmp_path), Scratch(tmp_path)
    with held_by_another_process(tmp_path) as other:
        path = Path(other.stdout.readline().decode().strip())  # type: ignore[union-attr]
        three = Scratch(tmp_path)
        assert {one.folder, two.folder, three.folder, path} == set(tmp_path.iterdir())
        other.kill()
        other.wait()
        four = Scratch(tmp_path)
        assert {one.folder, two.folder, three.folder, four.folder} == set(tmp_path.iterdir())
    for scratch in (one, two, three, four):
        scratch.close()
    assert list(tmp_path.iterdir()) == []


def held_by_another_process(parent: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", HOLD, str(parent)], cwd=ROOT, stdout=subprocess.PIPE)


def test_what_only_looks_like_a_folder_of_a_worker_stays(tmp_path: Path) -> None:
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "gold").touch()
    (tmp_path / "autoprog-worker-1-link").symlink_to(treasure)
    (tmp_path / "autoprog-worker-1-file").touch()
    Scratch(tmp_path).close()
    assert (treasure / "gold").exists()
    assert len(list(tmp_path.iterdir())) == 3


def test_a_folder_that_cannot_be_removed_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    leftover = tmp_path / "autoprog-worker-1-left"
    leftover.mkdir()

    def refuse(folder: Path) -> None:
        raise PermissionError(13, "no", str(folder))

    with monkeypatch.context() as patched:
        patched.setattr("autoprog.engine.scratch.rmtree", refuse)
        one = Scratch(tmp_path)
    assert "autoprog-worker-1-left cannot be removed" in caplog.text
    two = Scratch(tmp_path)  # tries again
    assert set(tmp_path.iterdir()) == {one.folder, two.folder}
    one.close()
    two.close()


def test_the_children_of_an_engine_share_a_folder_until_it_closes() -> None:
    with LocalEngine(2, ["tests.hostile"]) as engine:
        (folder,) = folders_of_children(engine, 4)
        assert folder.is_dir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert f"-{os.getpid()}-" in folder.name
    assert not folder.exists()


def test_a_worker_of_a_cluster_leaves_its_folder_only_when_killed_and_the_next_one_removes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # of the processes started here
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"

    def folder_of(worker: subprocess.Popen[bytes]) -> Path | None:
        return next(tmp_path.glob(f"autoprog-worker-{worker.pid}-*"), None)

    scheduler, killed = processes = [start_scheduler(port), start_worker(address)]
    try:
        with ClusterEngine(address) as engine:
            wait_until(lambda: engine.health().slots == 1)
            assert folder_of(killed)
            killed.kill()
            assert killed.wait(PATIENCE_S) == -signal.SIGKILL
            assert folder_of(killed)
            wait_until(lambda: engine.health().slots == 0)
            processes.append(last := start_worker(address))
            wait_until(lambda: engine.health().slots == 1)
            assert not folder_of(killed)
            assert folder_of(last)
            used = folder_of(last)
        scheduler.kill()
        wait_until(lambda: used is not None and not used.exists())
        end_process(last)
        assert last.returncode == 0
        assert not folder_of(last)
    finally:
        for process in reversed(processes):
            end_process(process)
