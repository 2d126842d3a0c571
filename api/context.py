"""The parts of a server, without an application around them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from api.audit_trail import AuditTrail
from api.bodies import Bodies
from api.dependencies import Context
from api.diagnosis.loading import diagnosis_loader, tree_loader
from api.places import Places
from api.rate import Rate
from api.searches.events import Followers
from api.turns import Turns
from api.uses import Uses
from autoprog.app.live_problems import LiveProblems, arms_loader
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import KeyRepository

if TYPE_CHECKING:
    from api.single_sign_on.provider import IdentityProvider
    from autoprog.model import PrognosticModel

_MODELS_IN_MEMORY = 8
_FAILURES_A_MINUTE = 60
# Longer than clients wait. Requests that read may wait behind others for a table that is locked: these are told sooner.
_PATIENCE_S, _READERS_PATIENCE_S = 120.0, 10.0


def build_context(
    settings: Settings,
    database: Database,
    files: Files,
    *,
    local_owner: bool,
    engine_health: Callable[[], bool] | None = None,
) -> Context:
    """Build the parts that routes, pages and the command line's search share; the arguments are `create_app`'s."""
    load_diagnosis = diagnosis_loader(files)
    return Context(
        settings,
        database,
        files,
        local_owner,
        engine_health,
        load_model=_model_loader(files),
        load_diagnosis=load_diagnosis,
        load_tree=tree_loader(files, load_diagnosis),
        load_arms=arms_loader(files),
        live_problems=LiveProblems(),
        followers=Followers(database, partial(KeyRepository, vouched=timedelta(days=settings.person_keys_days))),
        turns=Turns(),
        bodies=Bodies(settings.upload_mb),
        # The rest of the connections is for requests that open a session themselves.
        authenticating=Places(database.readers // 4, _PATIENCE_S),
        reading=Places(database.readers // 2, _READERS_PATIENCE_S),
        writing=Places(database.writers // 2, _PATIENCE_S),
        audit=AuditTrail(database),
        uses=Uses(database),
        requests=Rate(settings.requests_a_minute),
        failures=Rate(_FAILURES_A_MINUTE),
        identity_provider=_identity_provider(settings),
    )


def _identity_provider(settings: Settings) -> IdentityProvider | None:
    if settings.single_sign_on is None:
        return None
    # Its libraries are for servers; the command line's search shares this module.
    from api.single_sign_on.provider import IdentityProvider  # noqa: PLC0415

    return IdentityProvider(settings.single_sign_on)


def _model_loader(files: Files) -> Callable[[str], PrognosticModel]:
    @lru_cache(maxsize=_MODELS_IN_MEMORY)
    def load(sha256: str) -> PrognosticModel:
        # The learning libraries take seconds to import; only a server that predicts pays for them.
        from autoprog.model import PrognosticModel  # noqa: PLC0415

        return PrognosticModel.from_bytes(files.get("models", sha256))

    return load
