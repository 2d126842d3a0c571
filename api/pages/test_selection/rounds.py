"""Pages of a round: one test at a time, and what was learnt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from api.auth import Principal
from api.body_limit import SMALL_FORM
from api.computing import Turn
from api.dependencies import Context, ContextDependency, ReadSession, WriteSession
from api.pages.forms import Sent, SentForm
from api.pages.numbers import GroupedNumberError, TypedNumbers, typed_numbers
from api.pages.rendering import confirm, redirect, render, translate
from api.pages.sessions import PageReader, PageWriter
from api.pages.test_selection.problems import LIST, problem_page
from api.test_selection.rounds import service
from api.test_selection.rounds.schemas import FeedbackRequest, RoundDocument
from autoprog.cohort import Feature
from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.storage.repositories import SelectionProblemRepository, SelectionRoundRepository
from autoprog.storage.test_selection_tables import SelectionProblemRow

router = APIRouter()

MAX_ASKED = 16
"""Most judgements that the pages ask for in a round; programs may send more."""

_NOT_KNOWN, _LEVEL = "none", "="  # values of the choices of a category: a level follows the sign

_ROUND = "/test-selection/{problem_id}/rounds/{round_id}"


class _Shown(BaseModel):
    """The part of a round that is shown: judgements so far, or a test that is to be corrected."""

    model_config = ConfigDict(frozen=True)

    said: str = Field("", max_length=MAX_ASKED, pattern="^[01]*$")
    test: str = Field("", max_length=1000)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why what was entered was not taken."""

    faults: Sequence[str]
    form: SentForm | None
    status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What an arm is to be asked, or has answered."""

    arm_id: str
    tests: tuple[str, ...]
    said: str  # "0", "1", or "" as long as it is open


@router.post("/test-selection/{problem_id}/rounds", max_body_size=SMALL_FORM)
def open_round(
    request: Request,
    problem_id: str,
    context: ContextDependency,
    principal: PageWriter,
    seen: Annotated[int, Form(ge=0)],
) -> Response:
    """Open a round. The page names the number of rounds that it has seen, so that a second press opens no other."""
    try:
        document = _open(request, context, principal, problem_id, seen)
    except ConflictError as error:
        with context.database.session(read_only=True) as session:
            return problem_page(request, context, session, principal, problem_id, str(error))
    return _go(document)


def _open(request: Request, context: Context, principal: Principal, problem_id: str, seen: int) -> RoundDocument:
    with context.database.session() as session:
        document = service.open_round(context, session, principal.owner_id, problem_id)
        if document.number != seen + 1:  # the transaction is undone
            _ = translate(request)
            raise ConflictError(_("Another round was opened in the meantime. Look at the latest rounds first."))
    return document


@router.get(_ROUND)
def show_round(
    request: Request,
    problem_id: str,
    round_id: str,
    context: ContextDependency,
    principal: PageReader,
    asked: Annotated[_Shown, Query()],
) -> Response:
    """Show the next test of a round, or its result."""
    return _page(request, context, principal, (problem_id, round_id), asked)


@router.post(_ROUND)
def give_feedback(
    request: Request,
    problem_id: str,
    round_id: str,
    context: ContextDependency,
    principal: PageWriter,
    form: Sent,
    _turn: Turn,
) -> Response:
    """Take the judgements of a round, or the measurements of one test."""
    place = (problem_id, round_id)
    test = form.get("test")
    try:
        sent = _read_feedback(request, context, principal, place, form)
        with context.database.session() as session:
            document = service.give_feedback(context, session, principal.owner_id, problem_id, round_id, sent)
    except InvalidInputError as error:
        faults = [f"{fault.pointer.rsplit('/', 1)[-1]}: {fault.detail}" for fault in error.faults]
        return _page(request, context, principal, place, _Shown(test=test), refusal=_Refusal(faults, form))
    except ConflictError as error:
        return _page(request, context, principal, place, refusal=_Refusal([str(error)], None, HTTPStatus.CONFLICT))
    return _go(document)


@router.get(_ROUND + "/delete")
def ask_to_delete(
    request: Request, problem_id: str, round_id: str, principal: PageWriter, session: ReadSession
) -> Response:
    """Ask whether an open round is to be deleted."""
    row = SelectionRoundRepository(session).of(principal.owner_id, problem_id, round_id)
    _ = translate(request)
    return confirm(
        request,
        _("Delete round %(number)s?") % {"number": row.number},
        _("What was entered for this patient will be deleted. This cannot be undone."),
        f"{LIST}/{problem_id}/rounds/{round_id}",
        ("delete", "yes", _("Delete the round")),
    )


@router.post(_ROUND + "/delete")
def delete_round(problem_id: str, round_id: str, principal: PageWriter, session: WriteSession) -> Response:
    """Delete an open round; a closed one stays."""
    SelectionRoundRepository(session).delete(principal.owner_id, problem_id, round_id)
    return redirect(f"{LIST}/{problem_id}")


def _read_feedback(
    request: Request, context: Context, principal: Principal, place: tuple[str, str], form: SentForm
) -> FeedbackRequest:
    problem, document = _load(context, principal, place)
    if document.measurements is None:
        asked = _judgements(context, problem, document, form.get("said"))
        return FeedbackRequest(predictions={each.arm_id: int(each.said) for each in asked if each.said})
    _, numbers = translate(request), typed_numbers(request)
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for i, feature in enumerate(_features(context, problem, form.get("test"))):
        text, is_absent = form.get(f"value-{i}"), bool(form.get(f"none-{i}"))
        if text and is_absent:
            faults.append(Fault(f"/{feature.name}", _("give a value or “not known”, not both")))
        elif not text and not is_absent:
            faults.append(Fault(f"/{feature.name}", _("enter what was found, or choose “not known”")))
        elif is_absent or text == _NOT_KNOWN:
            values[feature.name] = None
        elif feature.kind == "numeric":
            values[feature.name] = _number(text, numbers, feature, faults, _("must be a number"))
        else:
            values[feature.name] = text.removeprefix(_LEVEL)
    if faults:
        raise InvalidInputError(faults)
    return FeedbackRequest(measurements=values)


def _number(text: str, numbers: TypedNumbers, feature: Feature, faults: list[Fault], detail: str) -> float | None:
    try:
        return numbers.parse(text)
    except GroupedNumberError as error:
        faults.append(Fault(f"/{feature.name}", str(error)))
        return None
    except ValueError:
        faults.append(Fault(f"/{feature.name}", detail))
        return None


def _load(context: Context, principal: Principal, place: tuple[str, str]) -> tuple[SelectionProblemRow, RoundDocument]:
    problem_id, round_id = place
    with context.database.session(read_only=True) as session:
        problem = SelectionProblemRepository(session).get(principal.owner_id, problem_id)
        row = SelectionRoundRepository(session).of(principal.owner_id, problem_id, round_id)
        return problem, service.round_document(context.live_problems.arms(problem), row)


def _judgements(context: Context, problem: SelectionProblemRow, document: RoundDocument, said: str) -> list[_Judgement]:
    """Return what the arms that a round reveals are asked, in their order, with what was said so far."""
    arms = context.live_problems.arms(problem)
    arm = next(i for i, each in enumerate(arms) if each.id == document.arm)
    revealed = arms.revealed(arm)
    return [
        _Judgement(
            arms.arms[k].id,
            tuple(arms.tests[t].name for t in arms.arms[k].tests),
            said[i : i + 1],
        )
        for i, k in enumerate(revealed)
    ]


def _features(context: Context, problem: SelectionProblemRow, test: str) -> list[Feature]:
    """Return the features that a test measures; none of a problem that takes no measurements."""
    if problem.arms_sha256 is None:
        return []
    classifiers = context.load_arms(problem.arms_sha256)
    by_name = {feature.name: feature for feature in classifiers.features}
    measured = next((each.features for each in classifiers.arms.tests if each.name == test), ())
    return [by_name[name] for name in measured if name in by_name]


def _page(
    request: Request,
    context: Context,
    principal: Principal,
    place: tuple[str, str],
    shown: _Shown = _Shown(),  # noqa: B008  it is frozen
    *,
    refusal: _Refusal | None = None,
) -> Response:
    problem, document = _load(context, principal, place)
    following = None if document.next_test is None else document.next_test.name
    is_correction = shown.test in document.tests_done and document.status == "open"
    test = shown.test if is_correction else following
    said = shown.said if document.predictions is None else "".join(map(str, document.predictions.values()))
    asked = _judgements(context, problem, document, said)
    open_asked = next((each for each in asked if not each.said), None)
    costs = {each["name"]: each["cost"] for each in problem.document["tests"]}
    return render(
        request,
        "test_selection/round.html",
        status=refusal.status if refusal else HTTPStatus.OK,
        problem_name=problem.name,
        structure=problem.document["structure"],
        round=document,
        n_rounds=problem.n_rounds,
        said="".join(each.said for each in asked),
        asked=asked,
        judgement=open_asked,
        too_many=len(asked) > MAX_ASKED,
        test=test,
        features=_features(context, problem, test or ""),
        is_last=not is_correction and len(document.tests_done) == len(document.tests) - 1,
        costs=costs,
        form=refusal.form if refusal else None,
        faults=refusal.faults if refusal else (),
    )


def _go(document: RoundDocument) -> Response:
    place = f"{LIST}/{document.problem_id}/rounds/{document.id}"
    return redirect(place)
