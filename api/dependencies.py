"""What handlers ask for: the server's parts and a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from sqlalchemy.orm import Session

from api.audit_trail import AuditTrail
from api.rate import Rate
from api.test_selection.live import LiveProblems
from api.turns import Turns
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import KeyRepository

if TYPE_CHECKING:
    from autoprog.diagnosis import Sessions, Tree
    from autoprog.model import PrognosticModel
    from autoprog.test_selection import ArmClassifiers

_LOCAL_OWNER = "local"


@dataclass(frozen=True)
class Context:
    """The parts of a server.

    Attributes
    ----------
    settings : Settings
        Limits.
    database : Database
        Rows.
    files : Files
        Cohort files and models.
    is_local : bool
        Whether everybody who can reach the server is one and the same owner, who needs no key until one is made.
    engine_health : callable or None
        Whether a worker can be reached; None where searches run in other processes.
    load_model : callable
        SHA-256 of a model's file -> the model; keeps the last ones in memory.
    load_diagnosis : callable
        SHA-256 of the file of a diagnosis model -> the sessions on it, and the model with them; keeps the last ones.
    load_tree : callable
        SHA-256 of the files of a diagnosis model and of its tree -> the tree; keeps the last ones.
    load_arms : callable
        SHA-256 of the file of a problem's classifiers -> the classifiers; keeps the last ones.
    live_problems : LiveProblems
        What the rounds of problems of test selection have shown so far.
    turns : Turns
        Who computes, and who waits for it.
    audit : AuditTrail
        What was done, and by whom.
    requests : Rate
        Of every owner.
    failures : Rate
        Of every address from which no valid key came.
    """

    settings: Settings
    database: Database
    files: Files
    is_local: bool
    engine_health: Callable[[], bool] | None
    load_model: Callable[[str], PrognosticModel]
    load_diagnosis: Callable[[str], Sessions]
    load_tree: Callable[[str, str], Tree]
    load_arms: Callable[[str], ArmClassifiers]
    live_problems: LiveProblems
    turns: Turns
    audit: AuditTrail
    requests: Rate
    failures: Rate

    @cached_property
    def local_owner_id(self) -> str:
        """The owner of everything on a local server."""
        with self.database.session() as session:
            return KeyRepository(session).ensure_owner(_LOCAL_OWNER).id


def get_context(request: Request) -> Context:
    """Find the parts of the server that a request has reached."""
    context: Context = request.app.state.context
    return context


ContextDependency = Annotated[Context, Depends(get_context)]


def _write_session(context: ContextDependency) -> Iterator[Session]:
    with context.database.session() as session:
        yield session


def _read_session(context: ContextDependency) -> Iterator[Session]:
    with context.database.session(read_only=True) as session:
        yield session


# Scope "function" ends the transaction before the answer is sent: what a client is told has been committed.
WriteSession = Annotated[Session, Depends(_write_session, scope="function")]
ReadSession = Annotated[Session, Depends(_read_session, scope="function")]
