"""The work of a search comes to the same on one machine, on a cluster and in this process; lies are refused."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autoprog.cohort import Cohort, to_parquet
from autoprog.errors import ArtifactError
from autoprog.evaluation import Evaluation, Plan, Status, evaluate_fold, is_of_fold
from autoprog.model import check_estimator, load_estimator
from autoprog.search.evaluation_stream import EvaluationStream
from autoprog.search.opening import opening_for
from autoprog.search.ports import CohortRef
from autoprog.search.tasks import fit, refit_on_resample
from autoprog.space import Configuration, Space
from autoprog.work import Call, CallLimits, Dispatcher, read_value, run_calls, write_value
from tests.cohorts import cleveland_cohort, event_cohort
from tests.engine.cluster import Engine
from tests.search.inline import InlineDispatcher

LIMITS = CallLimits(time_s=300, memory_mb=2048)


def never() -> bool:
    return False


def kind_of(name: str) -> tuple[Cohort, Plan]:
    if name == "binary":
        return cleveland_cohort(), Plan("auc_roc", folds=3, repeats=1, seed=0)
    cohort = event_cohort("bmt137")
    return cohort, Plan("uno_c", folds=3, repeats=1, seed=0, times=cohort.time_grid)


@cache
def configurations(name: str) -> tuple[Configuration, ...]:
    cohort, plan = kind_of(name)
    shape = plan.shape(cohort)
    return opening_for(Space.full(cohort.n_causes).valid_kinds(shape), shape, cohort.n_rows)[:4]


def stored(cohort: Cohort, folder: Path) -> CohortRef:
    content = to_parquet(cohort)
    (folder / "cohort").write_bytes(content)
    return CohortRef((folder / "cohort").as_uri(), hashlib.sha256(content).hexdigest())


def work(dispatcher: Dispatcher, name: str, folder: Path) -> tuple[list[Evaluation], dict[str, Any]]:
    """Evaluations of an opening's pipelines, the refit of one and its risks on a resample."""
    cohort, plan = kind_of(name)
    ref = stored(cohort, folder)
    stream = EvaluationStream(ref=ref, cohort=cohort, plan=plan, limits=LIMITS)
    stream.add(0, dict(enumerate(configurations(name))), None)
    evaluations = sorted(stream.run(dispatcher, never), key=lambda e: e.number)
    simple = configurations(name)[0]
    calls = [
        Call("fit", fit, (ref, simple, plan)),
        Call("risks", refit_on_resample, (ref, simple, plan, 0, np.arange(cohort.n_rows))),
    ]
    return evaluations, {o.key: o.value for o in run_calls(dispatcher, calls, LIMITS, never)}


@pytest.mark.parametrize("name", ["binary", "competing"])
def test_a_search_evaluates_and_refits_alike_everywhere(engine: Engine, name: str, tmp_path: Path) -> None:
    found, refitted = work(engine, name, tmp_path)
    expected, refitted_here = work(InlineDispatcher(), name, tmp_path)
    assert [e.status for e in found] == [Status.SUCCEEDED] * len(found)
    for one, other in zip(found, expected, strict=True):
        assert (one.configuration, one.score, one.fold_scores) == (other.configuration, other.score, other.fold_scores)
        assert one.path == other.path
        np.testing.assert_array_equal(one.risks, other.risks)
        np.testing.assert_array_equal(one.competing, other.competing)
    assert refitted["fit"] == refitted_here["fit"]
    assert hasattr(load_estimator(refitted["fit"]), kind_of(name)[0].target.answers)
    np.testing.assert_array_equal(refitted["risks"], refitted_here["risks"])


@pytest.mark.parametrize("name", ["binary", "competing"])
def test_results_of_a_fold_are_of_no_other_cohort(name: str) -> None:
    cohort, plan = kind_of(name)
    for configuration in configurations(name):
        result = evaluate_fold(configuration, cohort, plan, 0)
        read = read_value(type(result), write_value(result))
        assert is_of_fold(read, cohort, plan, 0)
        for lie in ({"risks": result.risks[:-1]}, {"score": float("nan")}, {"competing": result.risks}):
            assert not is_of_fold(type(result)(**{**vars(result), **lie}), cohort, plan, 0)


def test_a_file_that_is_no_fitted_pipeline_is_refused(tmp_path: Path) -> None:
    cohort, plan = kind_of("binary")
    content = fit(stored(cohort, tmp_path), configurations("binary")[0], plan)
    check_estimator(content)
    for lie in (b"", b"a pickle", content[:-30]):
        with pytest.raises(ArtifactError):
            check_estimator(lie)
