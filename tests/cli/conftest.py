"""The command line within the process of the tests."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from autoprog.cli import main
from tests.cli.answer import Answer, CommandLine


@pytest.fixture
def autoprog(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[CommandLine]:
    """The command line within this process, in an empty folder and with nothing set in the environment."""
    for name in [name for name in os.environ if name.startswith("AUTOPROG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    logs = list(logging.root.handlers)

    def run(*arguments: str | Path) -> Answer:
        monkeypatch.setattr(sys, "argv", ["autoprog", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        code = ended.value.code
        return Answer(code if isinstance(code, int) else 0, said.out, said.err)

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)
    logging.root.handlers[:] = logs
    structlog.reset_defaults()
