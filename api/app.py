"""The application: its parts, middleware and routes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from api import docs_page, error_handlers, health, metrics, openapi, problem_types
from api.audit import Audited
from api.body_limit import BodyLimit
from api.catalogues.routes import router as test_catalogues
from api.cohorts.routes import router as cohorts
from api.context import build_context
from api.diagnosis.learners.routes import router as diagnosis_learners
from api.diagnosis.models.routes import router as diagnosis_models
from api.diagnosis.models.schemas import CohortModelRequest, DiagnosisModelRequest, DiagnosisModelSpec
from api.diagnosis.multiway.routes import router as multiway_questions
from api.diagnosis.sessions.routes import router as diagnosis_sessions
from api.diagnosis.sessions.schemas import AnswerRequest
from api.explanations.routes import router as explanations
from api.feature_selection.routes import router as feature_streams
from api.jobs.routes import router as jobs
from api.loopback import LoopbackOnly
from api.models.routes import policy_router as prediction_policy
from api.models.routes import router as models
from api.pages.routes import router as pages
from api.patient_erasures.routes import router as patient_erasures
from api.searches.routes import router as searches
from api.searches.schemas import SearchRequest
from api.security_headers import SecurityHeaders
from api.space.routes import router as space
from api.test_selection.frontiers.routes import router as test_frontiers
from api.test_selection.problems.routes import router as selection_problems
from api.test_selection.replays.routes import router as selection_replays
from api.test_selection.rounds.routes import router as selection_rounds
from api.thresholds.routes import router as threshold_learners
from autoprog.cohort import CohortSpec
from autoprog.search import SearchSettings
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files

_OPENAPI = "/openapi.json"
_DOCUMENTS = (
    CohortSpec, SearchRequest, SearchSettings, DiagnosisModelRequest, CohortModelRequest, DiagnosisModelSpec,
    AnswerRequest,
)  # fmt: skip
_ROUTERS = (  # those asked most often come first, as each costs every request to a later one some time
    searches, models, cohorts, prediction_policy, diagnosis_models, diagnosis_sessions, diagnosis_learners,
    multiway_questions, test_catalogues, selection_problems, selection_rounds, selection_replays, test_frontiers,
    explanations, feature_streams, threshold_learners, patient_erasures, jobs, space,
)  # fmt: skip


def create_app(
    settings: Settings,
    database: Database,
    files: Files,
    *,
    local_owner: bool,
    engine_health: Callable[[], bool] | None = None,
    operations_apart: bool = False,
) -> FastAPI:
    """Build the application.

    Parameters
    ----------
    settings : Settings
        The server's settings, among them the limits of uploads and requests.
    database : Database
        Need not be migrated yet: `/readyz` reports whether it is.
    files : Files
        Cohort files and models.
    local_owner : bool
        Treat every client on this machine as one owner who needs no key until one is made; refuse proxies, foreign
        hosts and foreign origins.
    engine_health : callable or None
        Whether a worker can be reached; None where searches run in other processes.
    operations_apart : bool
        Leave `/metrics`, `/docs` and `/openapi.json` to `create_operations`.

    Returns
    -------
    FastAPI
        An ASGI application that shares nothing with others in the process.
    """
    app = FastAPI(
        title="autoprog",
        version=version("autoprog"),
        description="Prognostic models from patient cohorts. Not a medical device.",
        redirect_slashes=False,
        openapi_url=None if operations_apart else _OPENAPI,
        docs_url=None,
        redoc_url=None,
        lifespan=_serve,
    )
    app.state.context = build_context(settings, database, files, local_owner=local_owner, engine_health=engine_health)
    for router in (*_ROUTERS, pages, health.router, problem_types.router):
        app.include_router(router)
    if not operations_apart:
        app.include_router(docs_page.router)
    error_handlers.install(app)
    # The middleware added last sees a request first.
    app.add_middleware(BodyLimit, upload_mb=settings.upload_mb, respond=error_handlers.respond)
    if local_owner:
        app.add_middleware(LoopbackOnly)
    app.add_middleware(error_handlers.UnexpectedErrors)
    app.add_middleware(Audited)
    app.add_middleware(SecurityHeaders)
    app.state.metrics = metrics.measure(app)
    if not operations_apart:
        metrics.expose(app, app.state.metrics)
    openapi.install(app, _DOCUMENTS)
    return app


@asynccontextmanager
async def _serve(app: FastAPI) -> AsyncIterator[None]:
    yield
    await run_in_threadpool(app.state.context.audit.flush)


def create_operations(app: FastAPI) -> FastAPI:
    """Build a separate application for operators, to be served where clients have no access.

    Parameters
    ----------
    app : FastAPI
        Made by `create_app` with `operations_apart`.

    Returns
    -------
    FastAPI
        `/livez`, `/readyz`, `/metrics`, `/docs` and `/openapi.json` of `app`, without keys.
    """
    side = FastAPI(title=app.title, redirect_slashes=False, openapi_url=None, docs_url=None, redoc_url=None)
    side.state.context = app.state.context
    for router in (health.router, docs_page.router):
        side.include_router(router)
    side.add_api_route(_OPENAPI, lambda: JSONResponse(app.openapi()))
    metrics.expose(side, app.state.metrics)
    error_handlers.install(side)
    side.add_middleware(error_handlers.UnexpectedErrors)
    side.add_middleware(SecurityHeaders)
    return side
