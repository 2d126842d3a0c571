"""A search that goes on from where another one has ended."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from autoprog.optimizer import OptimizerOptions, Start
from autoprog.search import loop, planning, warm_start
from autoprog.search.clock import MAX_REFITS, MORE_REFITS, Clock
from autoprog.search.settings import SearchSettings
from autoprog.space import Configuration, Space
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import SearchRepository
from autoprog.storage.tables import ProposalRow
from autoprog.work import CallStatus
from tests.cohorts import cleveland_cohort
from tests.search.bench import Bench
from tests.search.inline import InlineDispatcher

SPACE = {
    "imputation": ["median", "mean"],
    "features": ["none", "select_rates"],
    "prediction": ["logistic_regression", "ridge", "gaussian_nb", "bernoulli_nb"],
    "calibration": ["none"],
}


class ContinuedBench(Bench):
    """Cleveland, and learners that take milliseconds."""

    def queue(self, **settings: Any) -> str:
        return super().queue(**{"space": SPACE, **settings})

    def go_on(self, search_id: str, evaluations: int) -> str:
        settings = SearchSettings.model_validate(self.search(search_id).settings)
        budget = settings.budget.model_copy(update={"evaluations": evaluations})
        document = settings.model_copy(update={"budget": budget}).model_dump(mode="json")
        with self.database.session() as session:
            return SearchRepository(session).add_continuation(self.owner, search_id, settings=document).id


@pytest.fixture
def bench(database: Database, tmp_path: Path) -> ContinuedBench:
    return ContinuedBench(database, Files(str(tmp_path / "files")), cleveland_cohort())


def budget(evaluations: int) -> dict[str, Any]:
    return {"budget": {"evaluations": evaluations, "time_s": 600}}


def test_it_proposes_what_a_longer_search_would_have(bench: ContinuedBench) -> None:
    whole = bench.queue(**budget(16), opening=False)
    bench.runner(InlineDispatcher()).run_one()
    short = bench.queue(**budget(8), opening=False)
    bench.runner(InlineDispatcher()).run_one()
    before = bench.search(short)
    more = bench.go_on(short, 16)
    dispatcher = InlineDispatcher()
    bench.runner(dispatcher).run_one()
    search = bench.search(more)
    assert search.status == "succeeded", search.error
    assert search.continues_id == short
    assert bench.evaluations(more) == bench.evaluations(whole)
    assert search.ensemble == bench.search(whole).ensemble
    after = bench.search(short)
    assert (after.ensemble, after.model_id, after.finished_at) == (before.ensemble, before.model_id, before.finished_at)
    assert search.model_id not in {None, before.model_id}


def test_what_was_undecided_is_evaluated(bench: ContinuedBench, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatcher = InlineDispatcher(lambda number: CallStatus.CANCELLED if number > 6 else None, first_last=False)
    cut = bench.queue(**budget(8), racing=False)
    with monkeypatch.context() as patched:
        patched.setattr(Clock, "evaluations_end", lambda _: dispatcher.calls > 6)
        bench.runner(dispatcher).run_one()
    assert "cancelled" in {e[3] for e in bench.evaluations(cut)}
    more = bench.go_on(cut, 12)
    bench.runner(InlineDispatcher()).run_one()
    evaluations = bench.evaluations(more)
    assert {e[3] for e in evaluations} == {"succeeded"}
    assert [e[0] for e in evaluations] == list(range(12))


def test_without_evaluations_the_time_is_for_the_intervals(bench: ContinuedBench) -> None:
    search_id = bench.queue(**budget(6))
    bench.runner(InlineDispatcher()).run_one()
    again = bench.go_on(search_id, 6)
    bench.runner(InlineDispatcher()).run_one()
    assert bench.evaluations(again) == bench.evaluations(search_id)
    refits = []
    for one in (search_id, again):
        ensemble = bench.search(one).ensemble
        assert ensemble is not None
        refits.append(ensemble["instability"]["n_refits"])
    assert refits == [MAX_REFITS, MORE_REFITS]


def test_without_proposals_it_concludes_on_as_many_subspaces_as_earlier_cohorts_taught(
    bench: ContinuedBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It inherits the labels but not the start that taught their number."""
    monkeypatch.setattr(warm_start, "_load_start", lambda *_: Start(constants={"subspaces": 10}, n_cohorts=5))
    search_id = bench.queue(**budget(24), opening=False, optimizer={"family_strength": 0.0})
    bench.runner(InlineDispatcher()).run_one()
    with bench.database.session() as session:
        of_search = select(ProposalRow).where(ProposalRow.search_id == search_id)
        state = list(session.scalars(of_search.order_by(ProposalRow.batch)))[-1].document["state"]
    assert max(max(labels) for labels in (state["best"], *state["samples"])) >= OptimizerOptions().subspaces
    again = bench.go_on(search_id, 24)
    bench.runner(InlineDispatcher()).run_one()
    search = bench.search(again)
    assert search.status == "succeeded", search.error


def test_a_large_cohort_is_explored_further(bench: ContinuedBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is best then is evaluated on all patients, but for what was already."""
    for name, value in {"_EXPLORED_WHOLE": 200, "_EXPLORED_TRAINING": 100, "_EXPLORED_MINORITY": 20}.items():
        monkeypatch.setattr(planning, name, value)
    search_id = bench.queue(**budget(10), opening=False)
    bench.runner(InlineDispatcher()).run_one()
    n = len(bench.evaluations(search_id))
    more = bench.go_on(search_id, n + 12)
    bench.runner(InlineDispatcher()).run_one()
    search = bench.search(more)
    assert search.status == "succeeded", search.error
    evaluations = bench.evaluations(more)
    assert evaluations[:n] == bench.evaluations(search_id)
    later = [str(e[2]) for e in evaluations[n:]]
    assert len(later) > 1
    # Its exploring found what had not been explored, and its finalists are among all that was.
    fresh = [c for c in later if c not in {str(e[2]) for e in evaluations[:n]}]
    assert fresh


def test_finalists_that_an_earlier_search_left_undecided_are_no_evaluations_to_spare(
    bench: ContinuedBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are not repeated, and one more evaluation is one, not one and theirs."""
    for name, value in {"_EXPLORED_WHOLE": 200, "_EXPLORED_TRAINING": 100, "_EXPLORED_MINORITY": 20}.items():
        monkeypatch.setattr(planning, name, value)
    dispatcher = InlineDispatcher(first_last=False)
    cut = bench.queue(**budget(12), opening=False)
    with monkeypatch.context() as patched:
        patched.setattr(Clock, "evaluations_end", lambda _: dispatcher.calls > 24)
        bench.runner(dispatcher).run_one()
    decided = [e for e in bench.evaluations(cut) if e[3] != "cancelled"]
    assert 6 < len(decided) < 11
    more = bench.go_on(cut, 13)
    bench.runner(InlineDispatcher()).run_one()
    *earlier, last = bench.evaluations(more)
    assert earlier == decided
    assert last[0] == 12


def test_a_large_cohort_s_opening_is_gone_on_with(bench: ContinuedBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first search ends within its opening: five pipelines of it, and the best of them on all patients."""
    for name, value in {"_EXPLORED_WHOLE": 200, "_EXPLORED_TRAINING": 100, "_EXPLORED_MINORITY": 20}.items():
        monkeypatch.setattr(planning, name, value)
    space = Space.subset(SPACE)
    opening = [Configuration(*(a.default_step() for a in kind)) for kind in itertools.product(*space.stages)][:9]
    monkeypatch.setattr(loop, "build_opening", lambda *_: tuple(opening))
    search_id = bench.queue(**budget(10))
    bench.runner(InlineDispatcher()).run_one()
    ended = bench.search(search_id)
    assert ended.ensemble is not None
    counts = {"n_opening": 5, "n_proposed": 0, "n_finalists": 5, "n_explored_rows": 150}
    assert {name: ended.ensemble["run"][name] for name in counts} == counts
    more = bench.go_on(search_id, 24)
    bench.runner(InlineDispatcher()).run_one()
    assert [e[2] for e in bench.evaluations(more)[10:14]] == [c.to_json() for c in opening[5:]]
    continued = bench.search(more).ensemble
    assert continued is not None
    assert continued["run"]["n_opening"] == 9
