"""Each of the 41 algorithms of Table 1, at its defaults and at random settings, in pipelines on real cohorts.

An algorithm stands in the otherwise simple pipeline, on one of five training folds; and whole pipelines are drawn at
random. What is masked: the two survival learners where there are no times, and keeping missing cells in front of a
learner that does not take them.
"""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest
from sklearn.model_selection import train_test_split
from sksurv.datasets import load_whas500

from autoprog.cohort import Feature
from autoprog.evaluation import Plan, cross_validate, evaluate_fold
from autoprog.space import Algorithm, PipelineKind, Space, Step, TableShape, build_pipeline
from tests.cohorts import real_cohort
from tests.space.test_algorithms import BUILT_IN, CLASSIFYING, with_algorithm

COHORTS = ("cleveland", "pima_missing", "hepatitis", "ckd", "stroke")
SURVIVING = [a for a in BUILT_IN if "classification" not in a.modes]
PLAN = Plan("auc_roc", folds=5, repeats=1, seed=2026)


def settings(algorithm: Algorithm, n: int) -> dict[str, Step]:
    """The defaults and `n` random settings; the defaults alone where there is nothing to set."""
    if not algorithm.hyperparameters:
        return {"defaults": algorithm.default_step()}
    rng = np.random.default_rng(sorted(algorithm.key.encode()))
    drawn = [
        algorithm.step_from_unit({h.name: float(rng.random()) for h in algorithm.hyperparameters}) for _ in range(n)
    ]
    return {"defaults": algorithm.default_step()} | {f"setting {i}": step for i, step in enumerate(drawn)}


@cache
def valid_kinds(name: str, folds: int) -> tuple[PipelineKind, ...]:
    return Space(
        tuple(tuple(a for a in stage if a in BUILT_IN or a in CLASSIFYING) for stage in Space.full().stages)
    ).valid_kinds(TableShape.of(real_cohort(name), folds))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("algorithm", CLASSIFYING, ids=lambda a: a.key)
@pytest.mark.parametrize(
    ("name", "n"),
    [(name, 20) for name in COHORTS],
)
def test_gives_a_risk_to_every_patient_held_out(
    name: str, n: int, algorithm: Algorithm, subtests: pytest.Subtests
) -> None:
    cohort = real_cohort(name)
    assert any(algorithm in kind for kind in valid_kinds(name, PLAN.folds))
    slowest = (0.0, "")
    for setting, step in settings(algorithm, n).items():
        with subtests.test(setting, step=step):
            start = time.process_time()
            result = evaluate_fold(with_algorithm(algorithm, step), cohort, PLAN, 0)
            slowest = max(slowest, (time.process_time() - start, str(step)))
            assert result.risks.shape == PLAN.fold(cohort, 0).test.shape
            assert np.isfinite(result.risks).all()
            assert result.risks.min() >= 0
            assert result.risks.max() <= 1
    print(f"{name}: slowest in {slowest[0]:.2f} s of one core: {slowest[1]}")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", COHORTS)
def test_pipelines_drawn_from_the_whole_space_are_evaluated(name: str, subtests: pytest.Subtests) -> None:
    cohort, plan = real_cohort(name), Plan("auc_roc", folds=2, repeats=1, seed=2026)
    kinds = valid_kinds(name, plan.folds)
    rng = np.random.default_rng([2026, cohort.n_patients])
    slowest = (0.0, "")
    for number, kind in enumerate(rng.choice(len(kinds), 60, replace=False)):
        configuration = Space.full().draw(kinds[kind], rng)
        with subtests.test(f"pipeline {number}", configuration=configuration):
            start = time.process_time()
            result = cross_validate(configuration, cohort, plan)
            slowest = max(slowest, (time.process_time() - start, str(configuration)))
            assert len(result.fold_scores) == 2
            assert min(result.fold_scores) >= 0
            assert max(result.fold_scores) <= 1
            assert result.risks.shape == cohort.y.shape
            assert result.risks.min() >= 0
            assert result.risks.max() <= 1
    print(f"{name}: slowest in {slowest[0]:.2f} s of one core: {slowest[1]}")


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", SURVIVING, ids=lambda a: a.key)
@pytest.mark.parametrize("n", [pytest.param(2, marks=pytest.mark.ci), 20])
def test_gives_a_survival_curve_to_every_patient_held_out(
    n: int, algorithm: Algorithm, subtests: pytest.Subtests
) -> None:
    table, y = load_whas500()  # 500 patients after a heart attack, times in days
    X, horizons = table.astype(float).to_numpy(), np.array([0.0, 1.0, 30.0, 365.0, 1000.0, 5000.0])
    train, test = train_test_split(np.arange(len(X)), test_size=0.2, stratify=y["fstat"], random_state=2026)
    minority = int(min(y["fstat"][train].sum(), (~y["fstat"][train]).sum()))
    shape = TableShape(len(train), X.shape[1], minority, has_missing=False, mode="survival")
    features = [Feature(name, "numeric") for name in table.columns]
    for setting, step in settings(algorithm, n).items():
        with subtests.test(setting, step=step):
            pipeline = build_pipeline(with_algorithm(algorithm, step), features, shape, seed=0).fit(X[train], y[train])
            survival = pipeline[-1].predict_survival(pipeline[:-1].transform(X[test]), horizons)
            assert survival.shape == (len(test), len(horizons))
            assert survival.min() >= 0
            assert survival.max() <= 1
            assert (np.diff(survival, axis=1) <= 0).all()
            assert np.isfinite(pipeline.predict(X[test])).all()
