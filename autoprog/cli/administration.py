"""Commands for the operator: database, keys, owners, audit trail."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from autoprog.cli.commands import audit, db, keys, models, owners
from autoprog.cli.common import (
    DatabaseUrl,
    DataDir,
    fail,
    prepare_database,
    read_options,
)

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from autoprog.storage.repositories import KeyRepository


_CENTURY = timedelta(days=36_525)


@db.command("upgrade")
def db_upgrade(data_dir: DataDir = None, database: DatabaseUrl = None) -> None:
    """Migrate the database's tables to this version."""
    from autoprog.storage.database import Database

    settings = read_options(data_dir=data_dir, database=database)
    prepare_database(lambda: Database(settings.database_url), settings, upgrade=True).close()


@keys.command("create")
def keys_create(
    owner: Annotated[str, typer.Option(help="Whom the key speaks for; made when new.")],
    scopes: Annotated[
        list[str], typer.Option(help="Any of read, write, predict, approve, admin; repeat or separate by commas.")
    ],
    days: Annotated[
        float | None, typer.Option(min=0, help="How long it is valid; default: until it is revoked.")
    ] = None,
    data_dir: DataDir = None,
    database: DatabaseUrl = None,
) -> None:
    """Make an API key and print it, once."""
    from autoprog.scopes import SCOPES
    from autoprog.storage.tables import MAX_OWNER_NAME

    wanted = [scope for text in scopes for scope in text.split(",") if scope]
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if not owner.strip():
        fail("--owner is empty")
    if len(owner) > MAX_OWNER_NAME:
        fail(f"--owner has {len(owner)} characters; at most {MAX_OWNER_NAME} are allowed")
    if unknown or not wanted:
        fail(f"unknown scopes {', '.join(unknown) or '(none given)'}; known are {', '.join(SCOPES)}")
    life = None if days is None else _duration("--days", days, timedelta(days=1))
    with _keys(data_dir, database) as (session, stored):
        row, text = stored.create(owner, wanted, life=life)
        _enter(session, "keys create", row.id)
    print(text)


def _duration(option: str, number: float, unit: timedelta) -> timedelta:
    """Return a number of days or hours as a duration; ends the command if it is NaN or above a century."""
    if not number <= _CENTURY / unit:
        fail(f"{option} must be at most a hundred years")
    return number * unit


@contextmanager
def _keys(data_dir: DataDir, database: DatabaseUrl) -> Iterator[tuple[Session, KeyRepository]]:
    """Open a transaction on the keys of an installation."""
    from autoprog.storage.database import Database
    from autoprog.storage.repositories import KeyRepository

    settings = read_options(data_dir=data_dir, database=database)
    target = prepare_database(lambda: Database(settings.database_url), settings)
    with closing(target), target.session() as session:
        yield session, KeyRepository(session, timedelta(days=settings.person_keys_days))


def _enter(session: Session, command: str, resource: str) -> None:
    """Append a command to the audit trail, in the same transaction."""
    from autoprog.storage.repositories import AuditEvent, AuditRepository
    from autoprog.storage.repositories.audit import local_address

    AuditRepository(session).append([AuditEvent(command, resource, local_address(), "done")])


@keys.command("list")
def keys_list(
    owner: Annotated[str | None, typer.Option(help="Whose keys; default: everybody's.")] = None,
    data_dir: DataDir = None,
    database: DatabaseUrl = None,
) -> None:
    """List keys: identifier, scopes, when made and last used, owner, and whether they are valid; never the secret."""
    from autoprog.storage.database import Database, database_now
    from autoprog.storage.repositories import KeyRepository

    settings = read_options(data_dir=data_dir, database=database)
    target = prepare_database(lambda: Database(settings.database_url), settings)
    with closing(target), target.session(read_only=True) as session:
        stored = KeyRepository(session, timedelta(days=settings.person_keys_days))
        now = database_now(session)
        listed = stored.all(owner)
        live = stored.live({key.id for _, key in listed})
        scopes = {key.id: sorted(stored.scopes(key)) for _, key in listed}
    people = {key.id: key.person for _, key in listed if key.person}
    for name, key in listed:
        used = f"used {key.used_at:%Y-%m-%d}" if key.used_at else "never used"
        if key.revoked_at is not None:
            state = f"revoked {key.revoked_at:%Y-%m-%d}"
        elif key.id not in live and key.made_by and (key.expires_at is None or key.expires_at > now):
            state = "ended, as its maker no longer logs in"
        elif key.expires_at is not None:
            state = f"{'expires' if key.expires_at > now else 'expired'} {key.expires_at:%Y-%m-%d}"
        else:
            state = "live"
        who = f"  {key.person}" if key.person else f"  made by {people[key.made_by]}" if key.made_by else ""
        print(f"{key.id}  {','.join(scopes[key.id])}  made {key.created_at:%Y-%m-%d}  {used}  {name}  {state}{who}")


@keys.command("rotate")
def keys_rotate(
    key_id: Annotated[str, typer.Argument(help="Identifier, as `autoprog keys list` shows it.")],
    overlap_hours: Annotated[float, typer.Option(min=0, help="How long the old key stays valid.")] = 24.0,
    data_dir: DataDir = None,
    database: DatabaseUrl = None,
) -> None:
    """Make a key in place of another one and print it, once; the old one ends after the overlap."""
    overlap = _duration("--overlap-hours", overlap_hours, timedelta(hours=1))
    with _keys(data_dir, database) as (session, stored):
        row, text = stored.rotate(key_id, overlap)
        _enter(session, "keys rotate", f"{key_id}/{row.id}")
    print(text)


@keys.command("revoke")
def keys_revoke(
    key_id: Annotated[str, typer.Argument(help="Identifier, as `autoprog keys list` shows it.")],
    data_dir: DataDir = None,
    database: DatabaseUrl = None,
) -> None:
    """Revoke a key, or block a person and revoke her keys; what was made with them stays with the owner."""
    with _keys(data_dir, database) as (session, stored):
        stored.revoke(key_id)
        _enter(session, "keys revoke", key_id)


@keys.command("unblock")
def keys_unblock(
    key_id: Annotated[str, typer.Argument(help="Identifier, as `autoprog keys list` shows it.")],
    data_dir: DataDir = None,
    database: DatabaseUrl = None,
) -> None:
    """Let in again a person of the identity provider who was blocked; her earlier keys stay revoked."""
    with _keys(data_dir, database) as (session, stored):
        stored.unblock(key_id)
        _enter(session, "keys unblock", key_id)


@owners.command("delete")
def owners_delete(
    name: Annotated[str, typer.Argument(help="The owner's name, as `autoprog keys list` shows it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Needed, as nothing can be undone.")] = False,
    data_dir: DataDir = None,
    database: DatabaseUrl = None,
) -> None:
    """Erase an owner with all keys, cohorts, searches and models, for ever; print what was erased as JSON."""
    from autoprog.app.service import Service
    from autoprog.storage.erasure import erase_owner
    from autoprog.storage.repositories.audit import local_address

    if not yes:
        fail(f"this erases all that belongs to {name!r} for ever: add --yes")
    settings = read_options(data_dir=data_dir, database=database)
    service = Service(settings)
    prepare_database(lambda: service.database, settings)
    with closing(service):
        erased = erase_owner(service.database, service.files, name, local_address())
    files = {"files_removed": erased.removed, "files_of_others_too": erased.kept, "files_left": erased.left}
    listed = {name: ["/".join(file) for file in found] for name, found in files.items()}
    print(json.dumps({"owner": name, "owner_id": erased.owner_id, "rows": erased.rows, **listed}, indent=2))
    if erased.left:
        fail(f"{len(erased.left)} files could not be removed: the log says why, and the service tries again each hour")


@models.command("sign")
def models_sign(data_dir: DataDir = None, database: DatabaseUrl = None) -> None:
    """Sign with AUTOPROG_MODEL_KEY what a key of AUTOPROG_ACCEPTED_MODEL_KEYS has signed, so that this key can go."""
    from autoprog.app.service import Service
    from autoprog.storage.stored_files import sign_files

    settings = read_options(data_dir=data_dir, database=database)
    if settings.model_key is None:
        fail("AUTOPROG_MODEL_KEY is not set: models are not signed")
    service = Service(settings)
    prepare_database(lambda: service.database, settings)
    with closing(service):
        signed, wrong = sign_files(
            service.database, service.files, lambda session, file: _enter(session, "models sign", "/".join(file))
        )
    print(f"signed {signed} files")
    if wrong:
        fail("; ".join(wrong))


@audit.command("verify")
def audit_verify(
    expect: Annotated[
        str | None, typer.Option(help="NUMBER:DIGEST as printed earlier, which the trail must still hold.")
    ] = None,
    data_dir: DataDir = None,
    database: DatabaseUrl = None,
) -> None:
    """Check the whole chain and print its end as NUMBER:DIGEST; note it where nobody can change it."""
    from autoprog.storage.database import Database
    from autoprog.storage.repositories import AuditRepository, ChainEnd

    number, _, digest = (expect or "").partition(":")
    if expect is not None and not (number.isdecimal() and len(digest) == len(hashlib.sha256().hexdigest())):
        fail("--expect: give NUMBER:DIGEST as `autoprog audit verify` prints it")
    known = None if expect is None else ChainEnd(int(number), digest)
    settings = read_options(data_dir=data_dir, database=database)
    target = prepare_database(lambda: Database(settings.database_url), settings)
    with closing(target), target.session(read_only=True) as session:
        end = AuditRepository(session).verify(known)
    print(f"{end.sequence}:{end.sha256}")


@audit.command("export")
def audit_export(
    after: Annotated[int, typer.Option(min=0, help="The last event that is known already.")] = 0,
    data_dir: DataDir = None,
    database: DatabaseUrl = None,
) -> None:
    """Print the events as JSON, one per line."""
    from autoprog.storage.database import Database
    from autoprog.storage.repositories import AuditRepository
    from autoprog.storage.repositories.audit import audit_document

    settings = read_options(data_dir=data_dir, database=database)
    target = prepare_database(lambda: Database(settings.database_url), settings)
    with closing(target), target.session(read_only=True) as session:
        for row in AuditRepository(session).after(after):
            print(json.dumps(audit_document(row)))
