"""The start page: choose a file, see its columns, choose the outcome, start the search."""

from __future__ import annotations

import gzip
import json
import re
from http import HTTPStatus
from pathlib import PurePath
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from api.cohorts.service import read_limits
from api.computing import Turn
from api.dependencies import Context, ContextDependency
from api.pages.advice import put_plainly
from api.pages.forms import Sent, SentForm
from api.pages.numbers import typed_numbers
from api.pages.rendering import redirect, render, translate
from api.pages.sessions import PageReader, PageWriter
from api.pages.start.draft import (
    IDENTIFIER,
    LEAVE_OUT,
    MAX_EVALUATIONS,
    MINUTES,
    SINCE,
    Draft,
    build_spec,
    make_draft,
    place_faults,
)
from api.pages.start.histograms import HEIGHT, WIDTH, draw_bars
from api.problems import build_problem
from api.searches.service import start_search
from api.uploads import Upload
from autoprog.cohort import (
    CohortReadResult,
    ColumnDescription,
    FileDescription,
    canonical_text,
    cleveland,
    describe_file,
    parse_spec,
    read_cohort,
)
from autoprog.cohort.canonical import short
from autoprog.errors import AutoprogError, Fault, InvalidInputError

router = APIRouter(include_in_schema=False)

_SUFFIX = re.compile(r"\.[a-z][a-z0-9]*(?:\.gz)?$", re.IGNORECASE)  # a point within a date stays


@router.get("/")
def show_start(request: Request, _principal: PageReader) -> Response:
    """Show the field for the file."""
    return render(request, "start.html")


@router.get("/example.csv")
def get_example(_principal: PageReader) -> Response:
    """Return the bundled cohort, for people who have no file at hand."""
    headers = {"Content-Disposition": 'attachment; filename="heart-disease.csv"'}
    return Response(gzip.decompress(cleveland()[0]), media_type="text/csv", headers=headers)


@router.post("/start/columns")
def show_columns(
    request: Request, context: ContextDependency, _principal: PageWriter, form: Sent, _turn: Turn
) -> Response:
    """Show the columns of the file as they were understood, with what was chosen so far."""
    file, draft = _read(request, context, form)
    warnings: list[str] = []
    if file.columns:
        spec = build_spec(draft, file, typed_numbers(request), translate(request))
        draft.errors.clear()  # a choice that is still to be made is no fault before the start
        if spec is not None:
            warnings = _look_at(context, form, spec, draft, file)
    return _form_part(request, file, draft, warnings)


@router.post("/start")
def start(request: Request, context: ContextDependency, principal: PageWriter, form: Sent, _turn: Turn) -> Response:
    """Store the cohort and start the search, or show all faults beside their fields."""
    file, draft = _read(request, context, form)
    text = translate(request)
    spec = build_spec(draft, file, typed_numbers(request), text) if file.columns else None
    search = _search_settings(draft, text("Give the time in seconds."))
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if spec is not None and search is not None:
        parts = {"spec": json.dumps(spec).encode(), "search": json.dumps(search).encode()}
        try:
            with context.database.session() as session:
                row = start_search(context, session, principal.owner_id, Upload(parts, form.upload))
                address = f"/searches/{row.id}"
        except InvalidInputError as error:
            place_faults(draft, error.faults, file)
        except AutoprogError as error:
            problem = build_problem(error)
            status = HTTPStatus(problem.status)
            draft.add_error("top", problem.detail or problem.title)
        else:
            return _go_to(request, address)
    return _form_part(request, file, draft, [], status)


def _search_settings(draft: Draft, fault: str) -> dict[str, Any] | None:
    try:
        return {"budget": {"time_s": float(draft.time_s), "evaluations": MAX_EVALUATIONS}}
    except ValueError:
        draft.add_error("time_s", fault)
        return None


def _go_to(request: Request, address: str) -> Response:
    if "hx-request" in request.headers:
        return Response(headers={"HX-Redirect": address})
    return redirect(address)


def _read(request: Request, context: Context, form: SentForm) -> tuple[FileDescription, Draft]:
    """Read the columns of the file; raises InvalidInputError without one, and as `describe_file` does."""
    text = translate(request)
    content = form.read_file()
    if content is None:
        raise InvalidInputError([Fault("/file", text("Choose a file."))])
    na_values = [canonical_text(value) for value in form.all("na_value") if value.strip()]
    limits, sheet = read_limits(context), form.get("sheet") or None
    file = describe_file(content, limits, na_values, sheet)
    if sheet is not None and sheet not in file.sheets:  # it was chosen for another file
        file = describe_file(content, limits, na_values)
    # Browsers write a quotation mark as %22.
    name = _SUFFIX.sub("", PurePath(form.file_name.replace("\\", "/")).name).replace("%22", '"') or "cohort"
    return file, make_draft(form, file, name[:200], typed_numbers(request))


def _look_at(context: Context, form: SentForm, spec: dict[str, Any], draft: Draft, file: FileDescription) -> list[str]:
    """Read the cohort as the draft has it, and return its warnings; faults go beside their fields."""
    try:
        read: CohortReadResult = read_cohort(form.read_file() or b"", parse_spec(spec), read_limits(context))
    except InvalidInputError as error:
        place_faults(draft, error.faults, file)
        return []
    return list(read.warnings)


def _form_part(
    request: Request, file: FileDescription, draft: Draft, warnings: list[str], status: int = HTTPStatus.OK
) -> Response:
    for fault in file.faults:
        draft.add_error("top", fault.detail)
    taken = {name: key for key, name in draft.outcome_columns.items() if name}
    warnings = [put_plainly(text) for text in warnings]
    by_column = {c.name: [w for w in warnings if f"column {short(c.name, 60)} " in w] for c in file.columns}
    attached = {text for texts in by_column.values() for text in texts}
    levels = {c.name: c.levels for c in file.columns}
    repeated = _repeated_identifiers(file, draft)
    is_htmx = "hx-request" in request.headers
    return render(
        request,
        "start_columns.html" if is_htmx else "start.html",
        status=status,
        file=file,
        draft=draft,
        taken=taken,
        bars={column.name: draw_bars(column) for column in file.columns},
        bar_size=(WIDTH, HEIGHT),
        kinds={column.name: _kinds(column) for column in file.columns},
        warnings=by_column,
        repeated=repeated,
        doubtful=[(i, c.name) for i, c in enumerate(file.columns) if by_column[c.name] or c.name in repeated],
        other_warnings=[text for text in warnings if text not in attached],
        binary=[c for c in file.columns if c.n_values == 2 and len(c.levels) == 2],
        numeric=[c for c in file.columns if c.minimum is not None],
        dates=[c for c in file.columns if c.name in draft.dates],
        index_dates={c.name: _index_dates(c, file, draft) for c in file.columns},
        coded=[c for c in file.columns if 2 <= c.n_values == len(c.levels)],
        levels=levels,
        suspected=_suspected(file, draft),
        minutes=MINUTES,
        leave_out=LEAVE_OUT,
        identifier=IDENTIFIER,
    )


def _index_dates(column: ColumnDescription, file: FileDescription, draft: Draft) -> list[tuple[str, str, str]]:
    """Return the dates since which a date may count, each with the form's value for it and the unit."""
    if column.name not in draft.dates:
        return []
    return [
        (f"{mark}{i}", unit, other.name)
        for i, other in enumerate(file.columns)
        for unit, mark in SINCE.items()
        if other.name in draft.dates and other.name != column.name
    ]


def _kinds(column: ColumnDescription) -> list[str]:
    """Return the kinds that a column may be read as."""
    possible = {
        "numeric": column.minimum is not None or column.n_values == 0,
        "binary": column.n_values == 2,
        "categorical": column.n_values > 0,
        "ordinal": column.kind == "ordinal" or (column.kind == "numeric" and len(column.levels) > 2),
    }
    return [kind for kind, is_possible in possible.items() if is_possible]


def _repeated_identifiers(file: FileDescription, draft: Draft) -> set[str]:
    """Return the columns that look like identifiers, name some patient twice, and are left out."""
    return {
        column.name
        for column in file.columns
        if "identifier" in column.remarks
        and draft.kinds[column.name] == LEAVE_OUT
        and column.n_values < round((1 - column.missing_fraction) * file.n_rows)
    }


def _suspected(file: FileDescription, draft: Draft) -> dict[str, list[str]]:
    """Return the values that may mean missing, each with its columns; those that were chosen stay."""
    found: dict[str, list[str]] = {value: [] for value in draft.na_values}
    for column in file.columns:
        for code in column.missing_codes:
            found.setdefault(code, []).append(column.name)
    return found
