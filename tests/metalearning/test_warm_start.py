"""What a new search begins with, from the statistics of earlier ones."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from autoprog.metalearning import AlgorithmGain, CohortStatistics, TriedConfiguration, reference_pipelines, warm_start
from autoprog.metalearning.warm_start import PORTFOLIO
from autoprog.optimizer import OptimizerOptions, Start
from autoprog.space import STAGES, Configuration, Space, TableShape
from tests.metalearning.repositories import COUNTS, centre, collect_statistics, copies_count, meta_features_at

__all__ = ["copies_count"]
pytestmark = pytest.mark.usefixtures("copies_count")

SPACE = Space.full()
KINDS = SPACE.valid_kinds(TableShape(400, 20, 100, has_missing=True))
HERE = meta_features_at(centre(np.random.default_rng(0)))


def pipeline(predictor: str, unit: float = 0.5, features: str = "none") -> Configuration:
    kind = (SPACE.algorithm("imputation", "median"), SPACE.algorithm("features", features),
            SPACE.algorithm("prediction", predictor), SPACE.algorithm("calibration", "none"))  # fmt: skip
    return Configuration(*(a.step_from_unit({h.name: unit for h in a.hyperparameters}) for a in kind))


def earlier(name: str, gains: dict[str, float], **options: float) -> CohortStatistics:
    """A cohort on which each algorithm's best pipeline gained so much."""
    ranked = sorted(gains.items(), key=lambda item: -item[1])
    return replace(
        collect_statistics(name, HERE),
        algorithms=tuple(AlgorithmGain(a, gain, 0.001, 3) for a, gain in sorted(gains.items())),
        best=tuple(TriedConfiguration(pipeline(a, options.get(a, 0.5)), gain) for a, gain in ranked),
    )


def start_of(statistics: list[CohortStatistics], metric: str = "auc_roc") -> Start:
    return warm_start(HERE, statistics, KINDS, mode="classification", metric=metric, agnostic=OptimizerOptions())


def test_without_a_comparable_cohort_nothing_is_known() -> None:
    assert start_of([]) == Start()
    assert start_of([earlier("a", {"ridge": 0.1})], metric="brier") == Start()


def test_the_portfolio_holds_what_complements_each_other() -> None:
    one = earlier("one", {"ridge": 0.05, "lda": 0.04, "random_forest": 0.0, "xgboost": 0.01})
    other = earlier("other", {"ridge": 0.0, "lda": 0.0, "random_forest": 0.04, "xgboost": 0.03})
    portfolio = start_of([one, other]).portfolio
    assert [c.prediction.algorithm for c in portfolio[:2]] == ["ridge", "random_forest"]
    assert portfolio[0] == pipeline("ridge")


def test_it_is_short_and_has_distinct_predictors() -> None:
    names = [a.name for a in SPACE.stages[2] if "classification" in a.modes][:9]
    portfolio = start_of([earlier("one", {name: 0.01 * i for i, name in enumerate(names)})]).portfolio
    assert len(portfolio) == PORTFOLIO
    assert len({c.prediction.algorithm for c in portfolio}) == PORTFOLIO


def test_cohorts_that_are_hardly_alike_give_a_shorter_one() -> None:
    names = [a.name for a in SPACE.stages[2] if "classification" in a.modes][:9]
    gains = {name: 0.01 * i for i, name in enumerate(names)}
    away = meta_features_at(centre(np.random.default_rng(0)) + np.where(COUNTS, 12.0, 0.0))
    start = start_of([replace(earlier("far", gains), meta_features=away)])
    assert 0 < start.trust < 0.3
    assert len(start.portfolio) == math.ceil(10 * start.trust) < PORTFOLIO


def test_of_many_pipelines_with_an_algorithm_the_one_that_does_well_elsewhere_too_is_taken() -> None:
    units = (0.1, 0.5, 0.55, 1.0)
    keys = {unit: pipeline("gradient_boosting", unit).key for unit in units}
    cohorts = [
        replace(
            earlier(f"c{unit}", {"gradient_boosting": 0.02}, gradient_boosting=unit),
            elsewhere={keys[u]: 0.02 - abs(u - 0.55) / 10 for u in units if u != unit},
        )
        for unit in units
    ]
    (chosen,) = start_of(cohorts).portfolio
    assert chosen == pipeline("gradient_boosting", 0.55)


def test_where_a_cohort_tells_nothing_of_a_pipeline_it_counts_as_the_worst_there() -> None:
    lucky = earlier("one", {"ridge": 0.05, "lda": 0.04})
    others = [
        replace(earlier(f"other{j}", {"xgboost": 0.02, "lda": 0.0}), elsewhere={pipeline("lda").key: 0.03})
        for j in range(2)
    ]
    # Two cohorts know of ridge regression nothing, and of discriminant analysis what they tell themselves: no gain.
    assert [c.prediction.algorithm for c in start_of([lucky, *others]).portfolio[:2]] == ["xgboost", "ridge"]


def test_the_simple_pipeline_is_evaluated_anyway() -> None:
    simple = Configuration(*(SPACE.algorithm(stage, name).default_step() for stage, name in zip(
        STAGES, ("median", "none", "logistic_regression", "none"), strict=True
    )))  # fmt: skip
    one = earlier("one", {"lda": 0.04})
    one = replace(one, best=(TriedConfiguration(simple, 0.06), *one.best))
    assert [c.prediction.algorithm for c in start_of([one]).portfolio] == ["lda"]


def test_references_are_of_the_nearest_cohorts(monkeypatch: pytest.MonkeyPatch) -> None:
    far = meta_features_at(centre(np.random.default_rng(0)) + np.where(COUNTS, 3.0, 0.0))
    statistics = [
        replace(earlier("far", {"xgboost": 0.03, "cox": 0.2}), meta_features=far),
        earlier("near", {"ridge": 0.01, "lda": 0.0}),
    ]
    found = reference_pipelines(HERE, statistics, KINDS)
    assert list(found.items()) == [(c.key, c) for c in (pipeline("ridge"), pipeline("lda"), pipeline("xgboost"))]
    monkeypatch.setattr(import_module("autoprog.metalearning.warm_start"), "REFERENCES", 2)
    assert list(reference_pipelines(HERE, statistics, KINDS)) == list(found)[:2]


def test_pipelines_are_as_they_would_be_here() -> None:
    statistics = earlier("one", {"ridge": 0.05, "cox": 0.2})  # no classifier
    assert [c.prediction.algorithm for c in start_of([statistics]).portfolio] == ["ridge"]


def test_where_no_pipeline_may_be_tried_there_is_no_portfolio() -> None:
    one = replace(earlier("one", {"ridge": 0.05}), offsets={"prediction/ridge": 0.03})
    start = warm_start(HERE, [one], [], mode="classification", metric="auc_roc", agnostic=OptimizerOptions())
    assert start.portfolio == ()
    assert start.offsets["prediction/ridge"] > 0


def test_offsets_and_constants_are_those_of_the_calibrated_prior() -> None:
    statistics = [
        replace(earlier(f"c{j}", {"ridge": 0.01}), offsets={"features/pca": -0.02}, subspaces=3.0) for j in range(4)
    ]
    start = start_of(statistics)
    assert start.trust == pytest.approx(4 / 5)
    assert start.offsets == pytest.approx({"features/pca": -0.02 / 0.01 * 4 / 5})
    assert OptimizerOptions(**start.constants).subspaces == 4  # type: ignore[arg-type]
    assert start.n_cohorts == 4


def test_it_survives_json() -> None:
    start = start_of([earlier("one", {"ridge": 0.05, "xgboost": 0.01})])
    assert Start.from_json(json.loads(json.dumps(start.to_json()))) == start
