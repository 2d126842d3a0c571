"""Pages from a file to a search."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from api.cohorts.service import read_limits
from api.computing import Turn
from api.dependencies import ContextDependency
from api.pages.plots import histogram
from api.pages.rendering import render, translate
from api.pages.sessions import PageReader, PageWriter
from api.pages.start.specs import MINUTES, build_upload, read_upload_form
from api.searches import service
from autoprog.cohort import FileProfile, profile_file
from autoprog.errors import Fault, InvalidInputError, TooLargeError, UnsupportedMediaError

router = APIRouter()

_MAX_FIELDS = 50_000


async def _form(request: Request) -> FormData:
    return await request.form(max_files=1, max_fields=_MAX_FIELDS)


async def _file(form: Annotated[FormData, Depends(_form)]) -> tuple[str, bytes | None]:
    return await read_upload_form(form)


Form = Annotated[FormData, Depends(_form)]
File = Annotated[tuple[str, bytes | None], Depends(_file)]


@router.get("/")
def show_start(request: Request, _principal: PageReader) -> Response:
    """Show where a file is dropped."""
    return render(request, "start/start.html")


@router.post("/start/columns")
def show_columns(
    request: Request, context: ContextDependency, _principal: PageWriter, file: File, _turn: Turn
) -> Response:
    """Show what the columns of a file seem to be, and ask for the outcome."""
    name, content = file
    _ = translate(request)
    if content is None:
        raise InvalidInputError([Fault("/file", _("choose a file first"))])
    profile = profile_file(content, read_limits(context))
    template = "start/columns.html" if "hx-request" in request.headers else "start/columns_page.html"
    return render(
        request,
        template,
        filename=name,
        stem=name.split(".")[0],
        profile=profile,
        codes=json.dumps({guess.column: guess.values for guess in profile.outcomes}),
        pair=lambda column, value: json.dumps([column, value]),
        kind=_guess_kind(profile),
        minutes=MINUTES,
        histogram=histogram,
    )


@router.post("/start")
def start(
    request: Request, context: ContextDependency, principal: PageWriter, form: Form, file: File, _turn: Turn
) -> Response:
    """Start a search for the file as the form describes it; show all faults beside the form if there are any."""
    upload = build_upload(form, *file)
    try:
        with context.database.session() as session:
            search_id = service.start_search(context, session, principal.owner_id, upload).id
    except InvalidInputError as error:
        return render(request, "start/faults.html", status=422, faults=_in_words(error.faults))
    except (TooLargeError, UnsupportedMediaError) as error:
        return render(request, "start/faults.html", status=422, faults=[str(error)])
    address = f"/searches/{search_id}"
    if "hx-request" in request.headers:
        return Response(headers={"HX-Redirect": address})
    return RedirectResponse(address, status_code=303)


def _guess_kind(profile: FileProfile) -> str:
    if profile.patients and profile.times and any("visit" in name.lower() for name in profile.times):
        return "visits"
    return "times" if profile.has_times else "binary"


def _in_words(faults: tuple[Fault, ...]) -> list[str]:
    """Return faults without pointers into a document that nobody here has written."""
    return list(dict.fromkeys(_say(fault) for fault in faults))


def _say(fault: Fault) -> str:
    *_, last = fault.pointer.split("/")
    name = last.replace("~1", "/").replace("~0", "~")
    if fault.pointer.startswith(("/file/columns/", "/spec/features/")) and name not in fault.detail:
        return f"{name}: {fault.detail}"
    return fault.detail
