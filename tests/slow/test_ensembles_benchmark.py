"""The ensembles' benchmark from its command line: a slice of each part, which can be gone on with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments: str, shards: Path) -> str:
    command = [sys.executable, "-m", "benchmarks.ensembles", *arguments, "--shards", str(shards)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_slice_of_every_part_has_figures(tmp_path: Path) -> None:
    data = ROOT / "tests" / "data"
    for n in ("1", "2"):  # the second goes on after the first
        run("outer", "--data", str(data), "--cohorts", "hepatitis", "--slice", n, shards=tmp_path)
    run("events", "--data", str(data / "reference"), "--cohorts", "veteran", "--slice", "1", shards=tmp_path)
    run("coverage", "--slice", "1", shards=tmp_path)
    run("equivalence", "--slice", "1", shards=tmp_path)
    figures: dict[str, Any] = json.loads(run("figures", "--slice", "1", shards=tmp_path))
    assert figures["outer"]["shards"] == 2
    assert figures["outer"]["cohorts"]["hepatitis"]["folds"] == 2
    methods = {"delivered", "simple", "lightgbm", "best_single", "rule/best", "rule/greedy"}
    assert methods <= set(figures["outer"]["mean_auc"])
    assert set(figures["events"]["survival"]["means"]) == {"delivered", "cox", "survival_forest"}
    assert figures["coverage"]["cohorts"] == 1
    first = figures["equivalence"]["chosen_by"]
    assert first["cohorts"] == 1
    learnt, direct = (first["all"][name]["covered"] for name in ("learnt_10", "bootstrap"))
    assert 0 <= learnt <= 1
    # Of one cohort of 200 patients and 5 ensembles, the same quantity estimated in two ways.
    assert abs(learnt - direct) < 0.2
