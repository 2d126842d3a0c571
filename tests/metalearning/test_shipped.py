"""What autoprog is shipped with: statistics of open cohorts, and none of a cohort's own study."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoprog.metalearning import (
    OpenCohort,
    open_cohorts,
    plain_names,
    shipped_statistics,
    warm_start,
    write_open_cohorts,
)
from autoprog.metalearning.shipped import read_open_cohorts
from autoprog.optimizer import OptimizerOptions
from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.main_effects import term_names
from autoprog.space import Space, TableShape
from tests.cohorts import cleveland_cohort
from tests.metalearning.repositories import centre, collect_statistics, meta_features_at

LEAST = 24
SHAPES = {
    "classification": TableShape(400, 20, 100, has_missing=True),
    "survival": TableShape(400, 20, 100, has_missing=True, mode="survival", times=(1.0, 2.0), horizons=(2.0,),
                           n_periods=700),
}  # fmt: skip


def test_every_study_is_shipped_once_a_mode_by_the_default_metric() -> None:
    statistics = shipped_statistics(["a name that nobody uses"])
    assert len(statistics) == len(open_cohorts())
    assert {(s.mode, s.metric) for s in statistics} <= {("classification", "auc_roc"), ("survival", "uno_c")}
    assert len({(cohort.study, cohort.statistics.mode) for cohort in open_cohorts()}) == len(statistics)
    assert len({s.cohort_id for s in statistics}) == len(statistics)
    assert len(statistics) >= LEAST


@pytest.mark.parametrize("mode", sorted({cohort.statistics.mode for cohort in open_cohorts()}))
def test_a_first_search_begins_with_what_they_taught(mode: str) -> None:
    space, shape = Space.full(), SHAPES[mode]
    statistics = shipped_statistics([])
    metric = next(s.metric for s in statistics if s.mode == mode)
    target = next(s.meta_features for s in statistics if s.mode == mode)
    kinds = space.valid_kinds(shape)
    start = warm_start(
        target, statistics, kinds, mode=shape.mode, metric=metric, agnostic=OptimizerOptions()
    )  # fmt: skip
    assert 3 <= len(start.portfolio) <= 5
    assert len({c.prediction.algorithm for c in start.portfolio}) == len(start.portfolio)
    valid = {tuple(a.name for a in kind) for kind in kinds}
    for c in start.portfolio:
        assert tuple(s.algorithm for s in (c.imputation, c.features, c.prediction, c.calibration)) in valid
    assert set(start.offsets) <= set(term_names(Encoding(Space.full(2))))
    assert any(term.endswith("^2") for term in start.offsets)
    assert 0.3 < start.trust < 1


def test_a_cohort_learns_nothing_from_its_own_study() -> None:
    names = [feature.name for feature in cleveland_cohort().features]
    left = {s.cohort_id for s in shipped_statistics(names)}
    gone = {cohort.statistics.cohort_id for cohort in open_cohorts()} - left
    of_heart = {cohort.statistics.cohort_id for cohort in open_cohorts() if cohort.study == "heart"}
    assert gone == of_heart <= {"heart_uci4"}  # four hospitals, of which Cleveland is one
    assert {s.cohort_id for s in shipped_statistics([name.upper() for name in names])} == left


@pytest.mark.parametrize(
    ("names", "is_same"),
    [
        (["Sodium", "LACTATE (mmol/l)", "p.h"], True),  # whatever capitals and punctuation
        (["sodium", "ph"], True),  # all that there is
        (["sodium", "ph", "urea"], False),  # two of three
        (["sodium", "lactate_mmol_l", "ph", *"abcdefg"], True),  # three of seven, which the ward has
        (["age", "sex"], False),  # everybody has them
        ([], False),
    ],
)
def test_shared_names_make_one_study(monkeypatch: pytest.MonkeyPatch, names: list[str], is_same: bool) -> None:
    m = meta_features_at(centre(np.random.default_rng(0)))
    ward = plain_names(["age", "sex", "sodium", "lactate mmol/l", "pH", "crp", "weight", "height", "aki"])
    there = [
        OpenCohort("ward", ward, collect_statistics("ward", m)),
        OpenCohort("ward", plain_names(["other", "names"]), collect_statistics("later", m)),
        OpenCohort("clinic", plain_names(["bmi", "age"]), collect_statistics("clinic", m)),
    ]
    monkeypatch.setattr("autoprog.metalearning.shipped.open_cohorts", lambda: tuple(there))
    found = [s.cohort_id for s in shipped_statistics(names)]
    assert found == (["clinic"] if is_same else ["ward", "later", "clinic"])


def test_what_is_written_is_read_again_and_the_same_every_time() -> None:
    m = meta_features_at(centre(np.random.default_rng(1)))
    cohorts = [
        OpenCohort("ward", frozenset({"age", "sex"}), replace(collect_statistics("ward", m, [0.1]), shared=True))
    ]
    content = write_open_cohorts(cohorts)
    assert content == write_open_cohorts(cohorts)
    assert read_open_cohorts(content) == tuple(cohorts)
