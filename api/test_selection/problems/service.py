"""Make test-selection problems, queue their training, and show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from sqlalchemy.orm import Session

from api.catalogues.choice import load_tests, read_prices
from api.dependencies import Context
from api.jobs.service import read_error
from api.queue_room import require_room
from api.test_selection.problems.building import build_problem
from api.test_selection.problems.schemas import (
    ArmDocument,
    CostDocument,
    DisagreementDocument,
    ProblemDocument,
    ProblemRequest,
    ProblemSummary,
    StrongDominanceDocument,
    WeakDominanceDocument,
)
from autoprog.app.live_problems import LiveProblem
from autoprog.cohort import classified, from_parquet
from autoprog.csmd import (
    SETTINGS,
    TIES_BEFORE,
    Arms,
    Counts,
    disagreement_estimates,
    dominance_evidence,
    policy_from_json,
    problem_to_json,
    problem_warnings,
    strong_dominance_evidence,
)
from autoprog.errors import ConflictError
from autoprog.jobs import JobKind
from autoprog.storage.files import StoredFile
from autoprog.storage.pages import Page, decode_cursor
from autoprog.storage.repositories import (
    ArmTally,
    CohortRepository,
    JobRepository,
    SelectionProblemRepository,
    SelectionRoundRepository,
)
from autoprog.storage.tables import JobRow, JobStatus
from autoprog.storage.test_selection_tables import SelectionProblemRow

_MAX_PAIRS = 1000


def create_problem(context: Context, session: Session, owner_id: str, request: ProblemRequest) -> SelectionProblemRow:
    """Store a problem and queue its training if it has a cohort; raises InvalidInput-, NotFound-, QueueFullError."""
    # Nothing is written before everything is checked.
    sha256, cohort = None, None
    with context.database.session(read_only=True) as reading:
        catalogue = load_tests(reading, owner_id, request.catalogue_id)
    if request.cohort_id is not None:
        with context.database.session(read_only=True) as reading:
            sha256 = CohortRepository(reading).get(owner_id, request.cohort_id).sha256
            require_room(context, reading, owner_id)
        cohort = from_parquet(context.files.get("cohorts", sha256))
        classified(cohort, "test selection")
    problem, training = build_problem(request, cohort, catalogue)
    document = problem_to_json(problem) | {"seed": request.seed, "takes": "predictions"}
    if catalogue is not None:
        document |= {"catalogue_id": request.catalogue_id, "prices": read_prices(request.prices, []).to_json()}
    if training is not None:
        document |= {
            "takes": "measurements",
            "configuration": training.configuration.to_json(),
            "folds": training.folds,
            "threshold": training.threshold,
        }
    if request.cohort_id is not None and sha256 is not None:
        CohortRepository(session).lock(owner_id, {request.cohort_id: sha256})
    problems = SelectionProblemRepository(session)
    row = problems.add(owner_id, name=request.name, document=document, cohort_id=request.cohort_id)
    if sha256 is not None:
        files = {"cohort": StoredFile("cohorts", sha256)}
        JobRepository(session).add(owner_id, JobKind.TEST_SELECTION_TRAINING, row.id, parameters=document, files=files)
    return row


def require_trained(row: SelectionProblemRow) -> None:
    """Raise ConflictError if the problem's classifiers are not trained yet."""
    if row.document["takes"] == "measurements" and row.arms_sha256 is None:
        raise ConflictError("the problem has no classifiers yet; its status tells whether they are being trained")


def problem_summaries(session: Session, rows: Sequence[SelectionProblemRow]) -> list[ProblemSummary]:
    """Return problems as a list shows them, in the same order."""
    jobs = JobRepository(session).load_latest(JobKind.TEST_SELECTION_TRAINING, [row.id for row in rows])
    return [ProblemSummary(**_summary(row, jobs.get(row.id))) for row in rows]


def _summary(row: SelectionProblemRow, job: JobRow | None) -> dict[str, Any]:
    document = row.document
    settings = policy_from_json(document).settings
    shown = ("structure", "algorithm", "tests", "trade_off", "seed", "takes")
    return {
        **{name: document[name] for name in shown},
        **{name: settings.get(name) for name in SETTINGS},
        "ties": document.get("ties", TIES_BEFORE),
        **{name: document.get(name) for name in ("catalogue_id", "prices")},
        "id": row.id,
        "name": row.name,
        "cohort_id": row.cohort_id,
        "patients_erased": row.patients_erased,
        "status": _status(row, job),
        "job_id": None if job is None else job.id,
        "error": None if job is None else read_error(job),
        "n_rounds": row.n_rounds,
        "n_feedback": row.n_feedback,
        "created_at": row.created_at,
    }


def _status(row: SelectionProblemRow, job: JobRow | None) -> Literal["ready", "training", "failed"]:
    if row.document["takes"] == "predictions" or row.arms_sha256 is not None:
        return "ready"
    return "failed" if job is not None and job.status == JobStatus.FAILED else "training"


def problem_document(context: Context, session: Session, row: SelectionProblemRow) -> ProblemDocument:
    """Return the document of a problem, with all feedback that the transaction sees."""
    live = context.live_problems.current(session, row)
    tallies = SelectionRoundRepository(session).tallies(row.id)
    arms = live.problem.arms
    counts = _with_plays(arms, live.counts, tallies)
    job = JobRepository(session).load_latest(JobKind.TEST_SELECTION_TRAINING, [row.id]).get(row.id)
    estimates = disagreement_estimates(arms, counts, 0, _MAX_PAIRS)
    return ProblemDocument(
        **_summary(row, job),
        **{name: row.document.get(name) for name in ("configuration", "folds", "threshold")},
        training=row.training,
        arms=_arms(arms, counts),
        disagreements=[DisagreementDocument(**asdict(each)) for each in estimates],
        n_pairs=arms.n_pairs,
        weak_dominance=WeakDominanceDocument(**asdict(dominance_evidence(arms, counts))),
        strong_dominance=StrongDominanceDocument(**asdict(strong_dominance_evidence(counts))),
        cost=_cost(tallies),
        warnings=list(problem_warnings(arms, counts, live.problem.policy)),
    )


def _with_plays(arms: Arms, counts: Counts, tallies: Mapping[int, ArmTally]) -> Counts:
    """Add the rounds that were opened, which the database counts."""
    plays = counts.plays.copy()
    for arm in range(len(arms)):
        plays[arm] = tallies[arm].plays if arm in tallies else 0
    return Counts(counts.D, counts.N, plays, counts.feedback, counts.chains, counts.reversals)


def _arms(arms: Arms, counts: Counts) -> list[ArmDocument]:
    return [
        ArmDocument(
            id=arm.id,
            tests=[arms.tests[k].name for k in arm.tests],
            cost=arm.cost,
            scaled_cost=arm.scaled_cost,
            chosen=int(counts.plays[i]),
            feedback=int(counts.feedback[i]),
        )
        for i, arm in enumerate(arms)
    ]


def _cost(tallies: Mapping[int, ArmTally]) -> CostDocument:
    closed = sum(tally.closed for tally in tallies.values())
    mean = sum(tally.closed_cost for tally in tallies.values()) / closed if closed else None
    return CostDocument(total=sum(tally.cost for tally in tallies.values()), mean_per_patient=mean)


def page_of_disagreements(live: LiveProblem, limit: int, cursor: str | None) -> Page[DisagreementDocument]:
    """Return a page of the list of all pairs of arms; raises InvalidInputError if the cursor is invalid."""
    start = 0 if cursor is None else decode_cursor(cursor, _place)
    found = disagreement_estimates(live.problem.arms, live.counts, start, start + limit + 1)
    items = [DisagreementDocument(**asdict(each)) for each in found]
    return Page.of(items, limit, lambda _: [start + limit])


def _place(position: list[Any]) -> int:
    (start,) = position
    if type(start) is not int or start < 0:
        raise ValueError(position)
    return start
