"""The same seed gives the same evaluations however many workers there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autoprog.engine import LocalEngine
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from tests.cohorts import real_cohort
from tests.search.bench import Bench

SETTINGS: dict[str, Any] = {
    "seed": 2,
    "repeats": 1,
    "budget": {"evaluations": 9, "time_s": 3600},
    "limits": {"evaluation_s": 600},
    "space": {
        "imputation": ["median", "em"],
        "features": ["none", "nystroem", "fast_ica"],
        "calibration": ["none"],
        "prediction": [
            "logistic_regression",
            "random_forest",
            "xgboost",
            "lightgbm",
            "neural_network",
            "decision_tree",
            "gaussian_nb",
        ],
    },
}


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", ["sqlite"])  # which server keeps it changes nothing here
def test_one_worker_and_two_evaluate_alike(database: Database, tmp_path: Path) -> None:
    bench = Bench(database, Files(str(tmp_path / "files")), real_cohort("hepatitis"))
    found = []
    for slots in (1, 2):
        search_id = bench.queue(**SETTINGS)
        with LocalEngine(slots) as engine:
            assert bench.runner(engine).run_one()
        search = bench.search(search_id)
        assert search.status == "succeeded", search.error
        found.append((bench.evaluations(search_id), search.ensemble, search.rules))
    assert found[0] == found[1]
    statuses = {e[3] for e in found[0][0]}
    assert "succeeded" in statuses
    assert statuses <= {"succeeded", "raced_out"}
