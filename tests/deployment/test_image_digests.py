"""Images are named by digest, and the tool that renews the digests changes nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.image_digests import FILES, IMAGE, ROOT, ask_registry, pin

_DOCKER = """#!/bin/sh
case "$*" in
    *python:3.11-slim) echo sha256:{digest} ;;
    *empty:1) echo ;;
    *) echo "ERROR: $6: not found" >&2; exit 1 ;;
esac
"""


def test_every_image_has_a_digest_and_a_tag_always_the_same() -> None:
    found = [image for name in FILES for image in IMAGE.finditer((ROOT / name).read_text())]
    assert {image["tag"] for image in found} == {"python:3.11-slim", "postgres:15"}
    assert None not in {image["digest"] for image in found}
    assert len({(image["tag"], image["digest"]) for image in found}) == 2
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("FROM ")]
    assert len(lines) == sum(image["place"] == "FROM" for image in found)


@pytest.mark.parametrize("name", FILES)
def test_only_digests_are_renewed(name: str) -> None:
    text = (ROOT / name).read_text()
    digest = "sha256:" + "a" * 64
    renewed = pin(text, lambda _: digest)
    assert [image["digest"] for image in IMAGE.finditer(renewed)] == [digest] * len(list(IMAGE.finditer(text)))
    assert IMAGE.sub("", renewed) == IMAGE.sub("", text)
    assert pin("FROM a:1 AS build\n  image: own\n", lambda tag: f"sha256:{tag}") == (
        "FROM a:1@sha256:a:1 AS build\n  image: own\n"
    )


def test_the_registry_is_asked_through_docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "docker"
    program.write_text(_DOCKER.format(digest="b" * 64))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    ask_registry.cache_clear()
    assert ask_registry("python:3.11-slim") == "sha256:" + "b" * 64
    with pytest.raises(SystemExit, match="unknown:1: no digest: ERROR: "):
        ask_registry("unknown:1")
    with pytest.raises(SystemExit, match="empty:1: no digest"):
        ask_registry("empty:1")
    ask_registry.cache_clear()


def test_without_docker_the_tool_says_so(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tools.image_digests"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (1, "docker cannot be run: No such file or directory\n")
