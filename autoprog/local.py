"""`autoprog search`: one search without a server.

It uses the API's own services, on a separate database and engine in the output folder, so that files are read, searches
planned and results shown in the same way. A stopped search continues where it was.
"""

from __future__ import annotations

import io
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from api.cohorts.service import cohort_document
from api.context import build_context
from api.dependencies import Context
from api.searches.schemas import ContinuationRequest, SearchDocument
from api.searches.service import continue_search, evaluation_document, search_documents, start_search
from api.uploads import Upload
from autoprog.app.remedies import Remedy, find_remedies
from autoprog.app.service import Service
from autoprog.endpoints import list_parts
from autoprog.errors import ConflictError, SearchFailedError
from autoprog.search.settings import Budget
from autoprog.settings import Settings
from autoprog.spreadsheet import write_rows
from autoprog.storage.database import database_now
from autoprog.storage.repositories import CohortRepository, EvaluationRepository, ModelRepository, SearchRepository

_POLL_S = 0.25
_STARTED = "search.json"
_ADVICE = {
    Remedy.TIME: "give it more time by --minutes",
    Remedy.MEMORY: "give an evaluation more memory by limits.memory_mb in --settings, or leave columns out",
    Remedy.DATA: "check the columns and the outcome",
    Remedy.MACHINE: "leave it more of the machine's memory, or choose other algorithms by --settings",
}


def search_locally(
    file: Path,
    spec: bytes,
    search_settings: bytes,
    out: Path,
    settings: Settings,
    *,
    console: Console,
    began: float,
) -> None:
    """Search and write `model.autoprog`, `leaderboard.csv`, `rules.json`, then the report to the folder `out`."""
    # Raises InvalidInputError, ConflictError if the folder holds another search, SearchFailedError without a model.
    # `began` is when the command was given, in seconds since 1970: a new search's budget begins there.
    is_new = not settings.data_dir.exists()
    service = Service(settings)
    search: SearchDocument | None = None
    try:
        service.database.migrate()
        context = build_context(settings, service.database, service.files, local_owner=True)
        upload = Upload({"spec": spec, "search": search_settings}, io.BytesIO(file.read_bytes()))
        search_id = _started(context, upload, settings.data_dir / _STARTED, began, console)
        search = _search(context, search_id)
        if search.finished_at is None:
            with service.searching():
                _print_cohort(context, search, console)
                search = _follow(context, search_id, console)
        else:
            _print_cohort(context, search, console)
        if search.model_id is None:
            reason = search.error.detail if search.error else f"the search {search.status}"
            raise SearchFailedError(f"{reason}; {_advice(context, search)}")
        _write_results(context, search, out)
        _print_result(context, search, console)
        _write_report(context, search, out)
        _print_written(out, console)
    except (KeyboardInterrupt, SystemExit):  # which a termination signal raises
        console.print("stopped; the same command goes on from here", highlight=False)
        raise
    finally:
        service.close()
        if is_new and (search is None or (search.finished_at is not None and search.model_id is None)):
            _leave_nothing(settings.data_dir, out)


def _leave_nothing(state: Path, out: Path) -> None:
    """Remove what a search without a model has stored, and the folder if nothing else is in it."""
    shutil.rmtree(state, ignore_errors=True)
    with suppress(OSError):
        out.rmdir()


def _started(context: Context, upload: Upload, note: Path, began: float, console: Console) -> str:
    """Return the search that this folder holds, go on with it if more time was given, or start one."""
    asked = _Asked.of(upload)
    held = _held(context, asked, note, console) if note.exists() else None
    if held is not None:
        return held
    with context.database.session() as session:
        search = start_search(context, session, context.local_owner_id, upload)
        search.spent_s, search.heard_at = max(0.0, time.time() - began), database_now(session)
        search_id: str = search.id
    asked.note(note, search_id)
    return search_id


def _held(context: Context, asked: _Asked, note: Path, console: Console) -> str | None:
    """Return the search of a folder, or a continuation if more time is asked for; None if it ended without a model."""
    held: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
    search_id: str = held["search_id"]
    search = _search(context, search_id)
    out = note.parents[1]
    is_over = search.finished_at is not None and search.model_id is None and not (out / "model.autoprog").exists()
    if held["asked"] != asked.question and not is_over:
        raise ConflictError(
            f"{out} holds a search with another file, spec or settings: choose another folder, or remove it"
        )
    if search.finished_at is None:
        return search_id
    if search.model_id is None:
        return None
    more_s = asked.time_s - float(held.get("time_s", search.settings.budget.time_s))
    if more_s < 1:
        return search_id
    counts = search.progress.evaluations
    more = max(0, asked.evaluations - counts.succeeded - counts.failed)
    with context.database.session() as session:
        request = ContinuationRequest(time_s=more_s, evaluations=more)
        search_id = continue_search(context, session, context.local_owner_id, search_id, request).id
    asked.note(note, search_id)
    console.print(f"going on for {more_s:,.0f} s more with what was found before", highlight=False)
    return search_id


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request: the question, and the time to answer it."""

    question: str  # digest of everything but the budget
    time_s: float
    evaluations: int

    @classmethod
    def of(cls, upload: Upload) -> _Asked:
        budget = Budget()
        parts = dict(upload.parts)
        with suppress(ValueError, AttributeError, TypeError):  # faults of the settings are named by the search itself
            document = json.loads(parts["search"])
            budget = Budget.model_validate(document.pop("budget", {}))
            parts["search"] = json.dumps(document).encode()
        return cls(replace(upload, parts=parts).fingerprint(), budget.time_s, budget.evaluations)

    def note(self, file: Path, search_id: str) -> None:
        """Write down which search answers the question."""
        held = {"asked": self.question, "search_id": search_id, "time_s": self.time_s}
        file.write_text(json.dumps(held), encoding="utf-8")


def _print_cohort(context: Context, search: SearchDocument, console: Console) -> None:
    from autoprog.cohort.messages import count_text  # noqa: PLC0415  while the search begins
    from autoprog.report.kinds import read_words  # noqa: PLC0415

    with context.database.session(read_only=True) as session:
        cohort = cohort_document(CohortRepository(session).get(context.local_owner_id, search.cohort_id))
    n_rows = cohort.n_patients if cohort.n_sampled else cohort.n_rows - cohort.n_dropped
    _, rows = read_words(cohort.outcome.model_dump())
    visits = f" ({cohort.n_sampled:,} sampled)" if cohort.n_sampled else rows.with_visits(n_rows)
    text = f"{cohort.name}: {cohort.n_patients:,} patients{visits}, {len(cohort.features)} features"
    with_outcome = f"{round(cohort.event_rate * n_rows):,} with the outcome ({cohort.event_rate:.1%})"
    console.print(f"{text}, {with_outcome}", highlight=False, markup=False)
    if cohort.n_dropped:
        left_out = count_text(cohort.n_dropped, "row")
        console.print(f"Left out: {left_out} without an outcome", highlight=False)
    for warning in cohort.warnings:
        console.print(f"warning: {warning}", style="yellow", highlight=False, markup=False)


def _advice(context: Context, search: SearchDocument) -> str:
    with context.database.session(read_only=True) as session:
        counts = EvaluationRepository(session).count_by_status(context.local_owner_id, search.id)
        return ", or ".join(_ADVICE[remedy] for remedy, _ in find_remedies(counts))


def _print_result(context: Context, search: SearchDocument, console: Console) -> None:
    with context.database.session(read_only=True) as session:
        ensemble = SearchRepository(session).get(context.local_owner_id, search.id).ensemble or {}
    for warning in search.warnings:
        console.print(f"warning: {warning}", style="yellow", highlight=False, markup=False)
    metric, baseline = search.settings.metric, ensemble.get("baseline")
    simple = "" if baseline is None else f", simple model {_estimate(baseline['score'])}"
    console.print(f"{metric} {_estimate(ensemble['score'])}{simple}", highlight=False, markup=False)
    gains = list_parts(ensemble)[-1][1].get("gain_over_baseline")
    if gains:
        told = "; ".join(f"{name} {_signed(gain)}" for name, gain in gains.items())
        console.print(f"model less simple model: {told}", highlight=False, markup=False)
        if all(gain["lower"] <= 0 <= gain["upper"] for gain in gains.values()):
            console.print("every interval holds 0: the simple model may serve as well", highlight=False)


def _print_written(out: Path, console: Console) -> None:
    from autoprog.report.forms import ReportFormat  # noqa: PLC0415

    names = ["model.autoprog", "leaderboard.csv", "rules.json", *(f"report.{form}" for form in ReportFormat)]
    written = ", ".join(name for name in names if (out / name).exists())
    console.print(f"wrote {written} to {out}; read {out / 'report.html'} first", highlight=False, soft_wrap=True)


def _estimate(score: Mapping[str, float]) -> str:
    return f"{score['estimate']:.3f} ({score['lower']:.3f} to {score['upper']:.3f})"


def _signed(gain: Mapping[str, float]) -> str:
    return f"{gain['estimate']:+.3f} ({gain['lower']:+.3f} to {gain['upper']:+.3f})"


def _follow(context: Context, search_id: str, console: Console) -> SearchDocument:
    """Wait for a search's end; Ctrl-C ends it with what it has found, a second one at once."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    is_asked = False
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("queued")
        while True:
            try:
                search = _search(context, search_id)
                _show(bar, task, search)
                if search.finished_at is not None:
                    return search
                time.sleep(_POLL_S)
            except KeyboardInterrupt:
                if is_asked:
                    raise
                is_asked = True
                with context.database.session() as session:
                    SearchRepository(session).request_cancel(context.local_owner_id, search_id)
                console.print("making a model of what was found; Ctrl-C again stops at once", highlight=False)


def _show(bar: Progress, task: TaskID, search: SearchDocument) -> None:
    counts, best = search.progress.evaluations, search.progress.best_score
    score = "" if best is None else f", best {search.settings.metric} {best:.4f}"
    raced_out = search.account.raced_out
    description = (
        f"{search.phase or search.status}: {counts.succeeded} evaluated, {raced_out} raced out, "
        f"{counts.failed - raced_out} failed{score}"
    )
    total = search.settings.budget.time_s
    bar.update(task, description=description, total=total, completed=min(search.progress.elapsed_s, total))


def _search(context: Context, search_id: str) -> SearchDocument:
    with context.database.session(read_only=True) as session:
        row = SearchRepository(session).get(context.local_owner_id, search_id)
        return search_documents(session, [row])[0]


def _write_results(context: Context, search: SearchDocument, out: Path) -> None:
    assert search.model_id is not None, "the caller has looked"  # noqa: S101
    owner = context.local_owner_id
    with context.database.session(read_only=True) as session:
        row = SearchRepository(session).get(owner, search.id)
        model = ModelRepository(session).get(owner, search.model_id)
        (out / "model.autoprog").write_bytes(context.files.get("models", model.sha256))
        (out / "rules.json").write_text(json.dumps(row.rules, indent=2), encoding="utf-8")
        with (out / "leaderboard.csv").open("w", newline="", encoding="utf-8") as leaderboard:
            header = ["rank", "status", "score", "duration_s", "imputation", "features", "prediction", "calibration",
                      "parameters", "reason"]  # fmt: skip
            evaluations = enumerate(_evaluations(EvaluationRepository(session), owner, search.id), 1)
            write_rows(leaderboard, [header, *([rank, *item] for rank, item in evaluations)])


def _write_report(context: Context, search: SearchDocument, out: Path) -> None:
    from api.searches.report import search_report  # noqa: PLC0415  not before there is a model to report
    from autoprog.report.files import write_report_files  # noqa: PLC0415

    with context.database.session(read_only=True) as session:
        write_report_files(search_report(context, session, context.local_owner_id, search.id), out)


def _evaluations(repository: EvaluationRepository, owner: str, search_id: str) -> Iterator[list[Any]]:
    """Yield all evaluations, best first, as rows of the leaderboard."""
    for row in repository.list_all(owner, search_id, sort="score"):
        item = evaluation_document(row)
        steps = item.configuration
        parameters = {stage: step.parameters for stage, step in steps.items() if step.parameters}
        names = [step.algorithm for step in steps.values()]
        yield [item.status, item.score, item.duration_s, *names, json.dumps(parameters), item.reason]
