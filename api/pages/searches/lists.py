"""The list of searches, and deleting one."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from api.dependencies import ReadSession, WriteSession
from api.pages.lists import Asked
from api.pages.rendering import confirm, redirect, render, translate
from api.pages.sessions import PageReader, PageWriter
from api.searches.service import search_documents
from autoprog.storage.repositories import CohortRepository, SearchRepository

router = APIRouter(include_in_schema=False)


@router.get("/searches")
def list_searches(request: Request, principal: PageReader, session: ReadSession, asked: Asked) -> Response:
    """List searches, newest first, or those on cohorts whose name contains a text."""
    found = asked.find(SearchRepository(session), principal.owner_id)
    documents = search_documents(session, found.items)
    cohorts = CohortRepository(session).by_id({row.cohort_id for row in found.items})
    return render(
        request, "searches/list.html", searches=documents, cohorts=cohorts, asked=asked, next_cursor=found.next_cursor
    )


@router.get("/searches/{search_id}/delete")
def ask_to_delete(request: Request, search_id: str, principal: PageWriter, session: ReadSession) -> Response:
    """Ask whether a search is to be deleted."""
    row = SearchRepository(session).get(principal.owner_id, search_id)
    cohort = CohortRepository(session).get(principal.owner_id, row.cohort_id)
    _ = translate(request)
    return confirm(
        request,
        _("Delete this search?"),
        _(
            "The search on “%(name)s” and all that it has tried will be deleted. Its model stays, but loses its score "
            "and report."
        )
        % {"name": cohort.name},
        "/searches",
        ("delete", "yes", _("Delete the search")),
    )


@router.post("/searches/{search_id}/delete")
def delete_search(search_id: str, principal: PageWriter, session: WriteSession) -> Response:
    """Delete a search; its model stays."""
    SearchRepository(session).delete(principal.owner_id, search_id)
    return redirect("/searches")
