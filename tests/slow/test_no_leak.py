"""Nothing can be learnt where there is nothing: searches on a real cohort whose outcomes were permuted.

A third of the patients is held out of the search altogether. Whatever the search chooses must rank them no better than
chance, and what it says of itself must be chance too, although it has chosen the best of what it saw.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from autoprog.cohort import Cohort
from autoprog.evaluation import Plan
from autoprog.model import PrognosticModel
from autoprog.space import Configuration, build_pipeline
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import EvaluationRepository, ModelRepository
from tests.cohorts import cleveland_cohort
from tests.search.bench import Bench
from tests.search.inline import InlineDispatcher

QUICK = {
    "imputation": ["median", "mean"],
    "features": ["none", "select_rates", "pca"],
    "prediction": ["logistic_regression", "ridge", "gaussian_nb", "k_nearest_neighbours", "decision_tree"],
    "calibration": ["none", "sigmoid"],
}
FOLDS, EVALUATIONS = 5, 20


def rows_of(cohort: Cohort, rows: np.ndarray) -> Cohort:
    return replace(cohort, X=cohort.X[rows], y=cohort.y[rows])


def aucs_of_nothing(number: int, folder: Path) -> tuple[float, float, float, float]:
    """AUC of the chosen pipeline and of the ensemble on outer patients; the ensemble's own, and uncorrected."""
    cohort = cleveland_cohort()
    cohort = replace(cohort, y=np.random.default_rng([2026, number]).permutation(cohort.y))
    rows = np.arange(cohort.n_patients)
    inner, outer = (
        rows_of(cohort, part)
        for part in train_test_split(rows, test_size=1 / 3, stratify=cohort.y, random_state=number)
    )
    database = Database(f"sqlite:///{folder / f'{number}.db'}")
    database.migrate()
    bench = Bench(database, Files(str(folder / "files")), inner)
    budget = {"time_s": 600, "evaluations": EVALUATIONS}
    search_id = bench.queue(folds=FOLDS, seed=number, space=QUICK, budget=budget, racing=True)
    bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded", search.error
    assert search.ensemble is not None
    with database.session(read_only=True) as session:
        rows = EvaluationRepository(session).list_all(bench.owner, search_id)
        best = max((e for e in rows if e.status == "succeeded"), key=lambda e: e.score or 0.0)
        sha256 = ModelRepository(session).get(bench.owner, str(search.model_id)).sha256
    database.close()
    shape = Plan("auc_roc", FOLDS, 1, number).shape(inner)
    chosen = build_pipeline(Configuration.from_json(best.configuration), cohort.features, shape, number)
    risks = chosen.fit(inner.X, inner.y).predict_proba(outer.X)[:, 1]
    ensemble = PrognosticModel.from_bytes(bench.files.get("models", sha256)).risks(outer.X)
    return (
        float(roc_auc_score(outer.y, risks)),
        float(roc_auc_score(outer.y, ensemble)),
        search.ensemble["score"]["estimate"],
        search.ensemble["performance"]["uncorrected"]["auc_roc"],
    )


def chance_sd(cohort: Cohort) -> np.ndarray:
    """Standard deviation of the four areas where risks are worthless: two of the third held out, two of the others."""
    n1, n0 = int(cohort.y.sum()), int((cohort.y == 0).sum())
    shares = np.array([1 / 3, 1 / 3, 2 / 3, 2 / 3])
    return np.sqrt((shares * (n1 + n0) + 1) / (12 * shares**2 * n1 * n0))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("shuffles", [pytest.param(8, marks=pytest.mark.ci), 50])
def test_where_outcomes_were_permuted_every_score_is_chance(shuffles: int, tmp_path: Path) -> None:
    aucs = np.array([aucs_of_nothing(number, tmp_path) for number in range(shuffles)])
    # The spread of eight is known badly, and how an area varies by chance is known (Mann & Whitney 1947).
    by_chance = chance_sd(cleveland_cohort()) / shuffles**0.5
    means, errors = aucs.mean(axis=0), np.maximum(aucs.std(axis=0, ddof=1) / shuffles**0.5, by_chance)
    names = ("chosen pipeline, outer", "ensemble, outer", "ensemble, reported", "ensemble, uncorrected")
    for name, mean, error in zip(names, means, errors, strict=True):
        print(f"{name}: {mean:.4f} (standard error {error:.4f})")
    assert (np.abs(means[:3] - 0.5) <= 3 * errors[:3]).all()
    assert means[3] > means[2]  # the best of what was seen looks better than chance
