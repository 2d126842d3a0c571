"""The delivered model against the simple pipeline, on patients whom the search never saw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from autoprog.cohort import Cohort
from autoprog.engine import DaskEngine
from autoprog.evaluation import make_folds
from autoprog.model import PrognosticModel
from autoprog.space import Configuration, Step, TableShape, build_pipeline
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import ModelRepository
from tests.cohorts import cleveland_cohort
from tests.search.bench import Bench

SIMPLE = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))


@pytest.fixture(scope="module")
def engine() -> Iterator[DaskEngine]:
    with DaskEngine.embedded(slots=2) as engine:
        yield engine


def outer_aucs(cohort: Cohort, repeats: int, engine: DaskEngine, folder: Path) -> np.ndarray:
    """AUC of (ensemble, simple pipeline) on every outer fold, shape = (repeats x 5, 2)."""
    rows = []
    for number, fold in enumerate(f for partition in make_folds(cohort, 5, repeats, seed=2026) for f in partition):
        train = replace(cohort, X=cohort.X[fold.train], y=cohort.y[fold.train])
        database = Database(f"sqlite:///{folder / f'{number}.db'}")
        database.migrate()
        bench = Bench(database, Files(str(folder / "files")), train)
        search_id = bench.queue(folds=5, seed=number, budget={"time_s": 10, "evaluations": 500})
        bench.runner(engine).run_one()
        search = bench.search(search_id)
        assert search.status == "succeeded", search.error
        assert search.ensemble is not None
        assert Configuration.from_json(search.ensemble["baseline"]["configuration"]) == SIMPLE
        with database.session(read_only=True) as session:
            sha256 = ModelRepository(session).get(bench.owner, str(search.model_id)).sha256
        ensemble = PrognosticModel.from_bytes(bench.files.get("models", sha256))
        simple = build_pipeline(SIMPLE, cohort.features, TableShape.of(train, 5), 0).fit(train.X, train.y)
        X, y = cohort.X[fold.test], cohort.y[fold.test]
        rows.append((roc_auc_score(y, ensemble.risks(X)), roc_auc_score(y, simple.predict_proba(X)[:, 1])))
        database.close()
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("repeats", [pytest.param(1, marks=pytest.mark.ci), 5])
def test_the_ensemble_is_not_worse_than_the_simple_pipeline(repeats: int, engine: DaskEngine, tmp_path: Path) -> None:
    aucs = outer_aucs(cleveland_cohort(), repeats, engine, tmp_path)
    ensemble, simple = aucs.mean(axis=0)
    error = (aucs[:, 0] - aucs[:, 1]).std(ddof=1) / len(aucs) ** 0.5
    figures = f"ensemble {ensemble:.4f}, simple {simple:.4f}, difference {ensemble - simple:+.4f}"
    print(f"{len(aucs)} outer folds: {figures} (naive standard error {error:.4f})")
    assert ensemble - simple >= -0.01
