"""The list of models, one model, its risk calculator, and its validation in other patients."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.cohorts.schemas import OutcomeDocument
from api.cohorts.service import cohort_document
from api.computing import Turn
from api.dependencies import Context, ContextDependency, ReadSession
from api.models import service
from api.models.schemas import ComparisonRequest, ModelDocument, PatientPrediction, PredictionRequest, ValidationRequest
from api.models.status import check_usable
from api.pages.forms import Sent, SentForm
from api.pages.lists import Asked
from api.pages.models.calculator import (
    Choice,
    Ranked,
    draw_contributions,
    find_rules,
    list_answers,
    read_choice,
    read_values,
    squares,
)
from api.pages.numbers import typed_numbers
from api.pages.rendering import confirm, redirect, render, translate
from api.pages.searches.results import Verdict, find_doubts, list_horizons
from api.pages.sessions import PagePredictor, PageReader, PageWriter
from autoprog.cohort import outcome_from_json, units_differ
from autoprog.cohort.messages import split_pointer
from autoprog.errors import Fault, InvalidInputError, NotFoundError
from autoprog.storage.repositories import (
    CatalogueRepository,
    CohortRepository,
    ModelRepository,
    SearchRepository,
    ValidationRepository,
)
from autoprog.storage.stored_files import remove_unreferenced
from autoprog.storage.tables import ModelRow

router = APIRouter(include_in_schema=False)

_SHOWN = 50  # cohorts and models, the newest
_CATALOGUES_SHOWN = 100


@router.get("/models")
def list_models(request: Request, principal: PageReader, session: ReadSession, asked: Asked) -> Response:
    """List models, newest first, or those of cohorts whose name contains a text."""
    found = asked.find(ModelRepository(session), principal.owner_id)
    names = {row.id: _name(session, principal.owner_id, row) for row in found.items}
    models = [service.model_document(row) for row in found.items]
    return render(request, "models/list.html", models=models, names=names, asked=asked, next_cursor=found.next_cursor)


@router.get("/models/{model_id}")
def show_model(request: Request, model_id: str, principal: PageReader, session: ReadSession) -> Response:
    """Show what a model predicts, for whom, and how good it is."""
    return _model_page(request, session, principal.owner_id, model_id)


def _model_page(
    request: Request,
    session: Session,
    owner_id: str,
    model_id: str,
    faults: Sequence[Fault] = (),
    *,
    cohort_id: str = "",
    other_id: str = "",
) -> Response:
    """Show a model, with the cohort and the other model that were chosen and could not be used."""
    values = _load(session, owner_id, model_id)
    model: ModelDocument = values["model"]
    cohorts = map(cohort_document, CohortRepository(session).find(owner_id, "", limit=_SHOWN).items)
    rows = {row.id: row for row in ModelRepository(session).find(owner_id, "", limit=_SHOWN).items}
    others = [service.model_document(row) for row in rows.values() if row.id != model_id]
    return render(
        request,
        "models/one.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if faults else HTTPStatus.OK,
        validations=ValidationRepository(session).load_page(owner_id, model_id).items,
        cohorts=[each for each in cohorts if _have_like_times(each.outcome, model.outcome)],
        others=[(each, _name(session, owner_id, rows[each.id])) for each in others if _may_be_compared(each, model)],
        faults=[fault.detail for fault in faults],
        cohort_id=cohort_id,
        other_id=other_id,
        **values,
    )


@router.get("/models/{model_id}/calculator")
def show_calculator(
    request: Request, model_id: str, context: ContextDependency, principal: PagePredictor, _turn: Turn
) -> Response:
    """Show the calculator with nothing known."""
    return _calculate(request, context, principal, model_id, SentForm())


@router.post("/models/{model_id}/calculator")
def calculate(
    request: Request, model_id: str, context: ContextDependency, principal: PagePredictor, form: Sent, _turn: Turn
) -> Response:
    """Show the risk of the patient in the form."""
    return _calculate(request, context, principal, model_id, form)


def _calculate(request: Request, context: Context, principal: PagePredictor, model_id: str, form: SentForm) -> Response:
    row, values = _load_usable(context, principal, model_id)
    model: ModelDocument = values["model"]
    if "visit_time" in model.outcome.model_dump():
        return render(request, "models/no_calculator.html", **values)
    sent = {name: form.get(name) for name in form.fields}
    patient, texts, faults = read_values(model.features, sent, typed_numbers(request), translate(request))
    prediction, interval = None, None
    if not faults:
        asked = PredictionRequest(patients=[patient], explain=any(value is not None for value in patient.values()))
        try:
            answered = service.predict(context, row, asked)
            prediction, interval = answered.items[0], answered.interval
        except InvalidInputError as error:
            faults = [Fault(_last_step(fault), fault.detail) for fault in error.faults]
    is_part, choice = "hx-request" in request.headers, read_choice(form)
    # A part is shown at once, and asks for the ranked tests itself.
    ranked = None if is_part or faults or not choice.tests else _rank(request, context, row, choice, patient)
    return render(
        request,
        "models/answer.html" if is_part else "models/calculator.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if faults or (ranked and ranked.faults) else HTTPStatus.OK,
        texts=texts,
        faults={fault.pointer: fault.detail for fault in faults},
        interval=interval,
        squares=squares,
        imputed=[f"{name} was imputed" for name, text in texts.items() if not text],
        ranked=ranked,
        choice=choice,
        **_explain(prediction, texts, values["rules"], values["verdict"]),
        **values,
    )


def _load_usable(context: Context, principal: PagePredictor, model_id: str) -> tuple[ModelRow, dict[str, Any]]:
    """Return a model that may predict, and what the pages of its calculator show."""
    with context.database.session(read_only=True) as session:
        row = ModelRepository(session).get(principal.owner_id, model_id)
        check_usable(session, principal, row)
        catalogues = CatalogueRepository(session).find(principal.owner_id, "", limit=_CATALOGUES_SHOWN).items
        values = _load(session, principal.owner_id, model_id)
    return row, values | {"catalogues": {each.id: each.name for each in catalogues}}


@router.post("/models/{model_id}/next-tests")
def rank_next_tests(
    request: Request, model_id: str, context: ContextDependency, principal: PagePredictor, form: Sent, _turn: Turn
) -> Response:
    """Show which tests would change the risk of the patient in the form most, for their price."""
    row, values = _load_usable(context, principal, model_id)
    sent = {name: form.get(name) for name in form.fields}
    patient, _, faults = read_values(values["model"].features, sent, typed_numbers(request), translate(request))
    if faults:
        ranked = Ranked(None, [f"{each.pointer}: {each.detail}" for each in faults])
    else:
        ranked = _rank(request, context, row, read_choice(form), patient)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if ranked.faults else HTTPStatus.OK
    return render(request, "models/next_tests.html", status=status, ranked=ranked, **values)


def _rank(request: Request, context: Context, row: ModelRow, choice: Choice, patient: dict[str, object]) -> Ranked:
    try:
        return Ranked(service.rank_next_tests(context, row, choice.to_request(patient, typed_numbers(request))))
    except InvalidInputError as error:
        text = translate(request)
        words = {
            "/prices/minute": text("A minute is worth"), "/prices/harm": text("A unit of harm is worth"),
            "/catalogue_id": text("Tests"),
        }  # fmt: skip
        names = [words.get(each.pointer, _last_step(each)) for each in error.faults]
        return Ranked(None, [f"{name}: {each.detail}" for name, each in zip(names, error.faults, strict=True)])


def _last_step(fault: Fault) -> str:
    """Name of the feature, or of the field, that a fault is about."""
    return ["", *split_pointer(fault.pointer)][-1]


def _explain(
    prediction: PatientPrediction | None, texts: dict[str, str], rules: dict[str, Any] | None, verdict: Verdict
) -> dict[str, Any]:
    if prediction is None:
        return {"prediction": None, "answers": [], "bars": [], "met": []}
    return {
        "prediction": prediction,
        "answers": list_answers(prediction, verdict),
        "bars": draw_contributions(prediction, texts),
        "met": find_rules(prediction, rules, verdict),
    }


@router.post("/models/{model_id}/validate")
def validate(
    request: Request, model_id: str, context: ContextDependency, principal: PageWriter, form: Sent, _turn: Turn
) -> Response:
    """Validate a model on another cohort, and show the result."""
    _, cohort_id = translate(request), form.get("cohort")
    faults = [Fault("/cohort", _("choose the cohort of the other patients"))]
    if cohort_id:
        try:
            with context.database.session() as session:
                asked = ValidationRequest(cohort_id=cohort_id)
                made = service.validate(context, session, principal.owner_id, model_id, asked).id
            return redirect(f"/models/{model_id}/validations/{made}")
        except InvalidInputError as error:
            faults = list(error.faults)
    with context.database.session(read_only=True) as session:
        return _model_page(request, session, principal.owner_id, model_id, faults, cohort_id=cohort_id)


@router.get("/models/{model_id}/validations/{validation_id}")
def show_validation(
    request: Request, model_id: str, validation_id: str, principal: PageReader, session: ReadSession
) -> Response:
    """Show how a model does in other patients."""
    values = _load(session, principal.owner_id, model_id)
    row = ValidationRepository(session).of(principal.owner_id, model_id, validation_id)
    cohort = None
    if row.cohort_id is not None:
        cohort = cohort_document(CohortRepository(session).get(principal.owner_id, row.cohort_id))
    return render(
        request,
        "models/validation.html",
        validation=row.document,
        validation_id=validation_id,
        other=cohort,
        horizons=list_horizons(row.document),
        **values,
    )


@router.get("/models/{model_id}/comparison")
def compare(  # noqa: PLR0917  the dependencies of a page
    request: Request,
    model_id: str,
    context: ContextDependency,
    _turn: Turn,
    principal: PageWriter,
    session: ReadSession,
    other: str,
    cohort: str,
) -> Response:
    """Show the model beside another one in the same patients."""
    values = _load(session, principal.owner_id, model_id)
    theirs = ModelRepository(session).get(principal.owner_id, other)
    patients = cohort_document(CohortRepository(session).get(principal.owner_id, cohort))
    try:
        asked = ComparisonRequest(other_model_id=other, cohort_id=cohort)
        found = service.compare(context, principal.owner_id, model_id, asked)
    except InvalidInputError as error:
        owner_id, faults = principal.owner_id, error.faults
        return _model_page(request, session, owner_id, model_id, faults, cohort_id=cohort, other_id=other)
    return render(
        request,
        "models/comparison.html",
        comparison=found,
        other=service.model_document(theirs),
        other_name=_name(session, principal.owner_id, theirs),
        patients=patients,
        **values,
    )


@router.get("/models/{model_id}/delete")
def ask_to_delete(request: Request, model_id: str, principal: PageWriter, session: ReadSession) -> Response:
    """Ask whether a model is to be deleted."""
    row = ModelRepository(session).get(principal.owner_id, model_id)
    _ = translate(request)
    return confirm(
        request,
        _("Delete this model?"),
        _("The model of “%(name)s” and its validations will be deleted. This cannot be undone.")
        % {"name": _name(session, principal.owner_id, row)},
        f"/models/{model_id}",
        ("delete", "yes", _("Delete")),
    )


@router.post("/models/{model_id}/delete")
def delete_model(model_id: str, context: ContextDependency, principal: PageWriter) -> Response:
    """Delete a model."""
    with context.database.session() as session:
        freed = ModelRepository(session).delete(principal.owner_id, model_id)
    remove_unreferenced(context.database, context.files, [freed])
    return redirect("/models")


def _load(session: Session, owner_id: str, model_id: str) -> dict[str, Any]:
    """Return what all pages of a model show."""
    row = ModelRepository(session).get(owner_id, model_id)
    search = None
    if row.search_id is not None:
        search = SearchRepository(session).get(owner_id, row.search_id)
    return {
        "model": service.model_document(row),
        "name": _name(session, owner_id, row),
        # An updated model has no score of its own: the search's is of its first version.
        "ensemble": search.ensemble if search is not None and row.version == 1 else None,
        "verdict": find_doubts(None if search is None else search.ensemble),
        "metric": None if search is None else search.settings["metric"],
        "rules": None if search is None else search.rules,
        "search_warnings": [] if search is None else search.warnings,
    }


_WORDS_AND_TIMES = {"label", "time_unit", "horizons"}


def _may_be_compared(model: ModelDocument, other: ModelDocument) -> bool:
    """Check whether models predict the same outcome, whatever it is called, until some time that both have."""
    first, second = (each.outcome.model_dump(exclude=_WORDS_AND_TIMES) for each in (model, other))
    until, others = (set[float | None](each.horizons) or {None} for each in (model, other))
    return first == second and not until.isdisjoint(others) and _have_like_times(model.outcome, other.outcome)


def _have_like_times(outcome: OutcomeDocument, other: OutcomeDocument) -> bool:
    """Check whether outcomes are of one kind, and their times not known to be in different units."""
    units = (getattr(each, "time_unit", None) for each in (outcome, other))
    return type(outcome) is type(other) and not units_differ(*units)


def _name(session: Session, owner_id: str, row: ModelRow) -> str:
    """Return the name of a model: its cohort's, as long as that is there, else its outcome's column."""
    if row.cohort_id is not None:
        try:
            return CohortRepository(session).get(owner_id, row.cohort_id).name
        except NotFoundError:  # deleted meanwhile
            pass
    return outcome_from_json(row.document["outcome"]).target.subject
