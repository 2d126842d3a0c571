from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from autoprog.errors import NotFoundError
from autoprog.storage.database import Database, new_id
from autoprog.storage.repositories import KeyRepository
from autoprog.storage.tables import ApiKeyRow


def test_a_key_opens_for_its_owner_with_its_scopes(database: Database) -> None:
    with database.session() as session:
        row, text = KeyRepository(session).create("ward-3", ["searches:write", "cohorts:read", "cohorts:read"])
    with database.session(read_only=True) as session:
        keys = KeyRepository(session)
        found = keys.authenticate(text)
        assert found is not None
        assert (found.id, found.owner_id, found.scopes) == (row.id, row.owner_id, ["cohorts:read", "searches:write"])


def test_the_secret_is_not_kept(database: Database) -> None:
    with database.session() as session:
        row, text = KeyRepository(session).create("ward-3", [])
    secret = text.removeprefix(f"ap_{row.id}_")
    assert len(secret) >= 43  # 256 bits in base64
    with database.session(read_only=True) as session:
        stored = session.get_one(ApiKeyRow, row.id)
    assert stored.secret_sha256 == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in repr(vars(stored))


def test_what_is_no_key_opens_nothing(database: Database) -> None:
    with database.session() as session:
        keys = KeyRepository(session)
        (row, text), (_, other) = keys.create("a", []), keys.create("b", [])
        swapped = f"ap_{row.id}_{other.split('_', 2)[2]}"
        attempts = ["", "ap", "ap__", f"ap_{row.id}", f"ap_{row.id}_", text[:-1], text + "x", text.upper(), swapped]
        attempts += [f"ap_{new_id()}_secret", "ap_\0_x", f"xx{text[2:]}", "ap_é_ü"]
        assert [keys.authenticate(attempt) for attempt in attempts] == [None] * len(attempts)
        assert keys.authenticate(text) is not None


def test_a_revoked_key_is_closed_for_good(database: Database) -> None:
    with database.session() as session:
        keys = KeyRepository(session)
        assert not keys.exists()
        row, text = keys.create("a", [])
        assert keys.exists()
        keys.revoke(row.id)
        revoked_at = row.revoked_at
        assert keys.authenticate(text) is None
        assert not keys.exists()
        keys.revoke(row.id)
        assert row.revoked_at == revoked_at
        for unknown in (new_id(), "\0"):
            with pytest.raises(NotFoundError):
                keys.revoke(unknown)


def test_keys_that_a_person_has_made_end_when_she_is_blocked(database: Database) -> None:
    with database.session() as session:
        keys = KeyRepository(session)
        ada, eve = (
            keys.record_person(digest * 64, name, "a", ["admin"]).id for digest, name in (("1", "ada"), ("2", "eve"))
        )
        _, of_operator = keys.create("a", ["read"])
        _, of_eve = keys.create("a", ["read"], made_by=eve)
        first, of_ada = keys.create("a", ["read"], made_by=ada)
        _, rotated = keys.rotate(first.id, timedelta(hours=1))
        assert keys.authenticate(of_ada) is not None
        keys.revoke(ada)
    with database.session() as session:
        keys = KeyRepository(session)
        assert [keys.authenticate(text) is None for text in (of_ada, rotated, of_eve, of_operator)] == [
            True,
            True,
            False,
            False,
        ]
        with pytest.raises(NotFoundError, match="blocked"):
            keys.create("a", ["read"], made_by=ada)
        keys.unblock(ada)
        assert keys.authenticate(of_ada) is None


def test_a_person_is_not_rotated(database: Database) -> None:
    with database.session() as session:
        keys = KeyRepository(session)
        ada = keys.record_person("1" * 64, "ada", "a", ["admin"])
        with pytest.raises(NotFoundError, match="person"):
            keys.rotate(ada.id, timedelta(hours=1))
        assert keys.live({row.id for _, row in keys.all()}) == {ada.id}
        assert ada.expires_at is None


@pytest.mark.parametrize("life", [timedelta(days=30), None])
def test_a_key_that_is_rotated_again_leaves_another_of_its_whole_life(
    database: Database, life: timedelta | None
) -> None:
    with database.session() as session:
        keys = KeyRepository(session)
        old, _ = keys.create("a", ["read"], life=life)
        lost, _ = keys.rotate(old.id, timedelta(hours=1))
        keys.rotate(lost.id, timedelta(minutes=1))
        ends_at = old.expires_at
        new, text = keys.rotate(old.id, timedelta(hours=2))
        assert keys.authenticate(text) is not None
        assert (new.expires_at and new.expires_at - new.created_at) == life
        assert old.expires_at == ends_at


def test_keys_end_when_their_maker_no_longer_logs_in(database: Database) -> None:
    with database.session() as session:
        keys = KeyRepository(session)
        ada = keys.record_person("1" * 64, "ada", "a", ["admin"])
        _, text = keys.create("a", ["read"], made_by=ada.id)
        ada.used_at = datetime.now(UTC) - timedelta(days=90, minutes=1)
        session.flush()
        assert keys.authenticate(text) is None
        assert KeyRepository(session, timedelta(days=91)).authenticate(text) is not None
        keys.note_use(ada.id)
        session.expire_all()
        assert keys.authenticate(text) is not None


def test_a_key_may_do_no_more_than_its_maker_may_now(database: Database) -> None:
    with database.session() as session:
        keys = KeyRepository(session)
        ada = keys.record_person("1" * 64, "ada", "a", ["admin", "read", "write"])
        key, _ = keys.create("a", ["read", "write"], made_by=ada.id)
        of_operator, _ = keys.create("a", ["read", "write"])
        for now, left in ((["read", "predict"], {"read"}), ([], set()), (["write", "read"], {"read", "write"})):
            keys.record_person("1" * 64, "ada", "a", now)
            assert keys.scopes(key) == left
        rotated, _ = keys.rotate(key.id, timedelta(hours=1))
        keys.record_person("1" * 64, "ada", "a", ["read"])
        assert keys.scopes(rotated) == {"read"}
        assert keys.scopes(of_operator) == {"read", "write"}


def test_an_owner_exists_once(database: Database) -> None:
    ids = []
    for _ in range(2):
        with database.session() as session:
            ids.append(KeyRepository(session).ensure_owner("local").id)
    assert ids[0] == ids[1]
