"""Ctrl-C during `fit`, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]


@contextmanager
def fitting(tmp_path: Path, until: str) -> Iterator[tuple[subprocess.Popen[bytes], list[psutil.Process]]]:
    """The script, once its progress shows `until`, with its child processes."""
    told = (tmp_path / "stderr").open("w+b")
    command = [sys.executable, "-m", "tests.estimator.interrupted"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=told, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 90
        while until not in (tmp_path / "stderr").read_text():
            assert process.poll() is None, (tmp_path / "stderr").read_text()
            assert time.monotonic() < deadline, (tmp_path / "stderr").read_text()
            time.sleep(0.1)
        yield process, psutil.Process(process.pid).children(recursive=True)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
        told.close()


def nothing_is_left(children: list[psutil.Process], tmp_path: Path) -> None:
    _, alive = psutil.wait_procs(children, timeout=10)
    assert [child.cmdline() for child in alive] == []
    assert list(tmp_path.glob("autoprog-*")) == []


# Of a terminal, every process in the foreground gets the signal; of a notebook, the kernel alone.
@pytest.mark.parametrize("to_all", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["terminal", "notebook"])
def test_interruption_delivers_what_was_found(tmp_path: Path, to_all: bool) -> None:
    with fitting(tmp_path, "best auc_roc") as (process, children):
        assert children
        began = time.monotonic()
        (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
        told, _ = process.communicate(timeout=60)
        assert time.monotonic() - began < 100  # of a budget of 600
    found = json.loads(told)
    assert all(0.5 < score < 1 for score in found["scores"])
    assert found["n"] == 400
    assert len(found["warnings"]) == 1
    assert "stopping: what was found so far becomes the model" in (tmp_path / "stderr").read_text()
    assert "Traceback" not in (tmp_path / "stderr").read_text()
    nothing_is_left(children, tmp_path)


def test_second_interruption_ends_at_once(tmp_path: Path) -> None:
    with fitting(tmp_path, "best auc_roc") as (process, children):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.5)
        began = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == b"interrupted\n"
        assert time.monotonic() - began < 20  # of a budget of 600
        process.communicate(timeout=30)
    nothing_is_left(children, tmp_path)


def test_interruption_before_anything_was_found_is_one(tmp_path: Path) -> None:
    with fitting(tmp_path, "starting") as (process, children):
        os.killpg(process.pid, signal.SIGINT)
        told, _ = process.communicate(timeout=60)
    assert told == b"interrupted\n"
    nothing_is_left(children, tmp_path)
