"""The README: its Python runs as it stands, and its containers are those of Dockerfile and docker-compose.yml."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autoprog.cli import app
from tests.system.server import ROOT

TEXT = (ROOT / "README.md").read_text()
CONTAINERS = TEXT[TEXT.index("### Windows and Mac") : TEXT.index("## Use\n")]


def test_python_runs_as_it_stands(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    (tmp_path / "autoprog").symlink_to(ROOT / "autoprog")
    script = tmp_path / "readme.py"
    shown = "print(type(model).__name__, len(risks), (0 < risks).all(), (risks < 1).all())"
    script.write_text(f'if __name__ == "__main__":\n{textwrap.indent(block + shown, "    ")}')
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[-1] == "AutoPrognosis 5 True True"
    assert "Calibration" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("line", re.findall(r"^docker run (.+)$", CONTAINERS, re.MULTILINE))
def test_a_container_uses_what_the_image_has(line: str) -> None:
    options, _, command = line.partition(" autoprog autoprog ")
    dockerfile = (ROOT / "Dockerfile").read_text()
    for volume in re.findall(r"-v autoprog:(\S+)", options):
        assert f"VOLUME {volume}\n" in dockerfile
        assert f"AUTOPROG_DATA_DIR={volume}\n" in dockerfile
    for port in re.findall(r"-p 127\.0\.0\.1:8000:(\d+)", options):
        assert f"EXPOSE {port}\n" in dockerfile
    if command:
        known = CliRunner().invoke(app, [*command.split()[:2], "--help"])
        assert known.exit_code == 0, known.output
        assert [word for word in command.split() if word.startswith("--") and word not in known.output] == []


def test_containers_start_by_three_commands_and_one_search() -> None:
    assert len(re.findall(r"^docker run ", CONTAINERS, re.MULTILINE)) == 3
    assert "image: autoprog\n" in (ROOT / "docker-compose.yml").read_text()
    assert "docker build -t autoprog ." in CONTAINERS
    operating = (ROOT / "docs" / "operating.md").read_text()
    assert "docker compose up -d" in operating[operating.index("## Several machines") :]
