"""The demonstration, with its own server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.answer import CommandLine


@pytest.mark.timeout(240)
def test_demo_searches_beside_an_installation(
    autoprog: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose database, files and keys are not its business."""
    monkeypatch.setenv("AUTOPROG_DATABASE", f"sqlite:///{tmp_path / 'other.db'}")
    monkeypatch.setenv("AUTOPROG_FILES", str(tmp_path / "other"))
    monkeypatch.setenv("AUTOPROG_REQUIRE_KEYS", "true")
    done = autoprog("demo", "--time-s", "10")
    assert done.code == 0, done.err
    assert list(tmp_path.iterdir()) == []
    lines = done.out.splitlines()
    assert lines[1].startswith("cohort Cleveland heart disease: 303 patients, 13 features, event rate 0.46;")
    assert any("median > none > logistic_regression > none" in line for line in lines)
    assert any(line.startswith("ensemble AUC 0.") for line in lines)
    assert "  chol was imputed" in lines
    assert lines[-1] == "server stopped"
