"""`autoprog search`: one search without a server.

It uses the API's own services, on a separate database and engine in the output folder, so that files are read, searches
planned and results shown in the same way. A stopped search continues where it was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from api import create_app
from api.dependencies import Context
from api.searches.report import search_report
from api.searches.schemas import SearchDocument
from api.searches.service import evaluation_document, search_documents, start_search
from api.uploads import Upload
from autoprog.errors import ConflictError, SearchFailedError
from autoprog.report.files import write_report
from autoprog.service import Service
from autoprog.settings import Settings
from autoprog.spreadsheet import write_rows
from autoprog.storage.database import database_now
from autoprog.storage.repositories import EvaluationRepository, ModelRepository, SearchRepository

_POLL_S = 0.25
_STARTED = "search.json"


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
    """Search and write `model.autoprog`, `leaderboard.csv`, `rules.json` and `report.html` to the folder `out`."""
    # Raises InvalidInputError, ConflictError if the folder holds another search, SearchFailedError without a model.
    # `began` is when the command was given, in seconds since 1970: a new search's budget begins there.
    service = Service(settings)
    try:
        service.database.migrate()
        context: Context = create_app(settings, service.database, service.files, local_owner=True).state.context
        upload = Upload({"spec": spec, "search": search_settings}, file.read_bytes())
        search_id = _started(context, upload, settings.data_dir / _STARTED, began)
        search = _search(context, search_id)
        if search.finished_at is None:
            with service.running():
                search = _follow(context, search_id, console)
        if search.model_id is None:
            raise SearchFailedError(search.error.detail if search.error else f"the search {search.status}")
        _write_results(context, search, out)
        for warning in search.warnings:
            console.print(f"warning: {warning}", style="yellow", highlight=False, markup=False)
        console.print(f"wrote model.autoprog, leaderboard.csv, rules.json, report.html to {out}", highlight=False)
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on from here", highlight=False)
        raise
    finally:
        service.close()


def _started(context: Context, upload: Upload, note: Path, began: float) -> str:
    """Return the search that this folder holds, or start one."""
    asked = upload.fingerprint()
    if note.exists():
        started: dict[str, str] = json.loads(note.read_text(encoding="utf-8"))
        if started["asked"] == asked:
            return started["search_id"]
        raise ConflictError(
            f"{note.parents[1]} holds a search with another file, spec or settings: choose another folder, or remove it"
        )
    with context.database.session() as session:
        search = start_search(context, session, context.local_owner_id, upload)
        search.spent_s, search.heard_at = max(0.0, time.time() - began), database_now(session)
        search_id: str = search.id
    note.write_text(json.dumps({"asked": asked, "search_id": search_id}), encoding="utf-8")
    return search_id


def _follow(context: Context, search_id: str, console: Console) -> SearchDocument:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("queued")
        while True:
            search = _search(context, search_id)
            counts, best = search.progress.evaluations, search.progress.best_score
            score = "" if best is None else f", best {search.settings.metric} {best:.4f}"
            raced_out = search.account.raced_out
            description = (
                f"{search.phase or search.status}: {counts.succeeded} evaluated, {raced_out} raced out, "
                f"{counts.failed - raced_out} failed{score}"
            )
            total = search.settings.budget.time_s
            bar.update(task, description=description, total=total, completed=min(search.progress.elapsed_s, total))
            if search.finished_at is not None:
                return search
            time.sleep(_POLL_S)


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
        write_report(search_report(context, session, owner, search.id), out)
        with (out / "leaderboard.csv").open("w", newline="", encoding="utf-8") as leaderboard:
            header = ["rank", "status", "score", "duration_s", "imputation", "features", "prediction", "calibration",
                      "parameters", "reason"]  # fmt: skip
            evaluations = enumerate(_evaluations(EvaluationRepository(session), owner, search.id), 1)
            write_rows(leaderboard, [header, *([rank, *item] for rank, item in evaluations)])


def _evaluations(repository: EvaluationRepository, owner: str, search_id: str) -> Iterator[list[Any]]:
    """Yield all evaluations, best first, as rows of the leaderboard."""
    for row in repository.list_all(owner, search_id, sort="score"):
        item = evaluation_document(row)
        steps = item.configuration
        parameters = {stage: step.parameters for stage, step in steps.items() if step.parameters}
        names = [step.algorithm for step in steps.values()]
        yield [item.status, item.score, item.duration_s, *names, json.dumps(parameters), item.reason]
