from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import column, create_engine, func, inspect, select, table, text
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.orm import Session, undefer

from autoprog.errors import ConflictError, StoreUnavailableError
from autoprog.evaluation import Status
from autoprog.metalearning import meta_features
from autoprog.storage import connections
from autoprog.storage.database import Database, database_now, insert_if_absent, is_id, new_id
from autoprog.storage.repositories import CohortStatisticsRepository
from autoprog.storage.serialization import evaluation_from_row, evaluation_to_values
from autoprog.storage.tables import (
    ApiKeyRow,
    Base,
    CohortRow,
    CohortStatisticsRow,
    DiagnosisModelRow,
    EvaluationRow,
    ModelCohortRow,
    ModelRow,
    OwnerRow,
    SearchRow,
    StoredFileRow,
)
from tests.cohorts import mixed_cohort
from tests.metalearning.repositories import collect_statistics
from tests.storage.support import SHA256, add_owner, make_evaluation, queue_searches


def owner_names(database: Database) -> list[str]:
    with database.session(read_only=True) as session:
        return list(session.scalars(select(OwnerRow.name).order_by(OwnerRow.name)))


def table_names(database: Database) -> set[str]:
    engine = create_engine(database.url)
    try:
        return set(inspect(engine).get_table_names())
    finally:
        engine.dispose()


def test_a_session_commits_at_its_end(database: Database) -> None:
    with database.session() as session:
        add_owner(session, "a")
        assert owner_names(database) == []
    assert owner_names(database) == ["a"]


def test_a_session_that_raises_leaves_nothing(database: Database) -> None:
    def write_and_raise() -> None:
        with database.session() as session:
            add_owner(session, "a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_raise()
    assert owner_names(database) == []


def test_a_write_in_a_session_that_only_reads_is_an_error(database: Database) -> None:
    with pytest.raises(DBAPIError, match=r"read-?only"), database.session(read_only=True) as session:
        add_owner(session, "a")
    with database.session() as session:
        add_owner(session, "b")
    assert owner_names(database) == ["b"]


def test_a_statement_that_is_wrong_is_no_matter_of_time(database: Database) -> None:
    with pytest.raises(DBAPIError, match="nowhere"), database.session() as session:
        session.execute(text("SELECT * FROM nowhere"))


def test_a_lock_that_cannot_be_had_in_time_is_no_fault_of_the_work(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two processes on one database."""
    monkeypatch.setattr(connections, "_BUSY_TIMEOUT_MS", 0)
    other = Database(database.url)

    def wait_in_vain() -> None:
        with other.session() as session:
            if database.url.startswith("postgresql"):
                session.execute(text("SET LOCAL lock_timeout = '50ms'"))
            add_owner(session, "a")

    with database.session() as session:
        add_owner(session, "a")
        with pytest.raises(StoreUnavailableError, match="lock") as caught:
            wait_in_vain()
    assert isinstance(caught.value.__cause__, OperationalError)
    other.close()
    assert owner_names(database) == ["a"]


def test_who_waits_for_postgresql_waits_for_so_long(database: Database) -> None:
    if database.url.startswith("sqlite"):
        pytest.skip("SQLite has no such settings")
    own = Database(f"{database.url}?connect_timeout=9&options=-c%20lock_timeout%3D9s")

    def shown(of: Database, *, read_only: bool) -> list[str]:
        names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
        with of.session(read_only=read_only) as session:
            return [str(session.scalar(text(f"SHOW {name}"))) for name in names]

    assert shown(database, read_only=True) == ["2s", "30s", "1min"]
    assert shown(database, read_only=False) == ["5s", "1min", "1min"]
    assert shown(own, read_only=True) == ["9s", "30s", "1min"]
    own.close()


def test_readers_of_postgresql_send_their_statements_alone(database: Database) -> None:
    if database.url.startswith("sqlite"):
        pytest.skip("SQLite's readers need a transaction")
    with database.session(read_only=True) as session:
        started = [session.scalar(text("SELECT pg_current_xact_id_if_assigned(), now()::text")) for _ in range(2)]
        begun = {session.scalar(text("SELECT now()")) for _ in range(2)}
    assert started == [None, None]
    assert len(begun) == 2  # one time for each transaction


def test_a_reader_whose_connection_was_idle_gets_another_if_it_broke_off(
    empty_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a database of its own, since every connection to it ends, also those that others would go on to use."""
    if empty_database.url.startswith("sqlite"):
        pytest.skip("SQLite has no server")

    def read() -> None:
        with empty_database.session(read_only=True) as session:
            assert session.scalar(text("SELECT 1")) == 1

    def end_readers() -> None:
        with empty_database.session() as session:
            ended = session.scalars(
                text(
                    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            ).all()
        assert ended
        assert all(ended)

    monkeypatch.setattr(connections, "_FRESH_S", math.inf)
    read()
    end_readers()
    with pytest.raises(StoreUnavailableError):  # it was used just now, and is not asked
        read()
    read()
    end_readers()
    monkeypatch.setattr(connections, "_FRESH_S", 0.0)
    read()


def test_a_connection_that_breaks_off_is_made_anew(database: Database) -> None:
    def break_off() -> None:
        with database.session() as session:
            add_owner(session, "a")
            session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    if database.url.startswith("sqlite"):
        pytest.skip("no connection leads to SQLite")
    with pytest.raises(StoreUnavailableError):
        break_off()
    with database.session() as session:
        add_owner(session, "b")
    assert owner_names(database) == ["b"]


def test_a_transaction_that_postgresql_ends_as_idle_is_no_fault_of_the_work(database: Database) -> None:
    def sleep_too_long() -> None:
        with database.session() as session:
            session.execute(text("SET LOCAL idle_in_transaction_session_timeout = '50ms'"))
            time.sleep(0.5)
            add_owner(session, "a")

    if database.url.startswith("sqlite"):
        pytest.skip("SQLite ends no transaction")
    with pytest.raises(StoreUnavailableError, match="idle-in-transaction timeout"):
        sleep_too_long()
    with database.session() as session:
        add_owner(session, "b")
    assert owner_names(database) == ["b"]


def test_a_database_that_takes_no_writes_is_unavailable(database: Database) -> None:
    """As a replica that has not been promoted, or a file on a disk that is mounted read-only."""
    refuse = "SET TRANSACTION READ ONLY" if database.url.startswith("postgresql") else "PRAGMA query_only = 1"

    def write() -> None:
        with database.session() as session:
            session.execute(text(refuse))
            add_owner(session, "a")

    with pytest.raises(StoreUnavailableError, match=r"read-?only"):
        write()
    assert owner_names(database) == []


@pytest.mark.parametrize("url", ["sqlite:////no/such/folder/a.db", "postgresql+psycopg://root@127.0.0.1:1/none"])
def test_a_database_that_is_not_there_is_unavailable(url: str) -> None:
    database = Database(url)
    with pytest.raises(StoreUnavailableError, match="the database cannot be used: "), database.session() as session:
        session.scalar(select(1))


def test_a_reader_goes_on_beside_a_writer(database: Database) -> None:
    with database.session() as writer:
        add_owner(writer, "a")
        with database.session(read_only=True) as reader:
            assert reader.scalars(select(OwnerRow)).all() == []


def test_foreign_keys_hold(database: Database) -> None:
    orphan = ApiKeyRow(id=new_id(), owner_id=new_id(), secret_sha256="", scopes=[], created_at=datetime.now(UTC))
    with database.session() as session:
        session.add(orphan)
        with pytest.raises(IntegrityError):
            session.flush()
        session.rollback()


def test_what_is_written_for_an_owner_deleted_meanwhile_is_a_conflict(database: Database) -> None:
    def write() -> None:
        with database.session() as session:
            session.add(
                ApiKeyRow(id=new_id(), owner_id=new_id(), secret_sha256="", scopes=[], created_at=datetime.now(UTC))
            )

    with pytest.raises(ConflictError, match="deleted meanwhile"):
        write()


def test_any_other_violation_is_an_error_of_the_program(database: Database) -> None:
    def write_twice() -> None:
        with database.session() as session:
            owner = new_id()
            for name in ("a", "b"):
                session.add(OwnerRow(id=owner, name=name, created_at=datetime.now(UTC)))
                session.flush()
                session.expunge_all()

    with pytest.raises(IntegrityError):
        write_twice()


def test_sqlite_is_set_up_for_several_processes(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with database.session() as session:
        pragmas = [session.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "synchronous", "busy_timeout")]
    database.close()
    assert pragmas == ["wal", 1, 10_000]


def test_the_time_is_the_present_in_utc(database: Database) -> None:
    before = datetime.now(UTC)
    with database.session() as session:
        times = [database_now(session) for _ in range(2)]
    assert times[0].utcoffset() == timedelta(0)
    assert times == sorted(times)
    assert before <= times[0] <= database.now() <= datetime.now(UTC)


def test_moments_of_any_zone_come_back_in_utc(database: Database) -> None:
    moment = datetime(2026, 7, 1, 1, 30, 0, 123456, tzinfo=timezone(timedelta(hours=5)))
    with database.session() as session:
        session.add(OwnerRow(id=new_id(), name="a", created_at=moment))
    with database.session(read_only=True) as session:
        stored = session.scalars(select(OwnerRow)).one().created_at
        assert session.scalar(select(func.count()).where(OwnerRow.created_at == moment)) == 1
    assert stored == moment
    assert stored.utcoffset() == timedelta(0)


def test_a_row_is_inserted_once(database: Database) -> None:
    with database.session() as session:
        values = {"id": new_id(), "name": "a", "created_at": database_now(session)}
        assert insert_if_absent(session, OwnerRow, values)
        assert not insert_if_absent(session, OwnerRow, {**values, "id": new_id()})
    assert owner_names(database) == ["a"]


def test_identifiers_sort_by_age_and_differ() -> None:
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == len(ids)
    assert [each[:12] for each in ids] == sorted(each[:12] for each in ids)
    assert all(is_id(each) for each in ids)
    assert not any(is_id(text) for text in ("", "A" * 32, "a" * 31, "a" * 33, "a" * 31 + "\0", "a" * 32 + "\n"))


def test_tables_and_migrations_agree(empty_database: Database) -> None:
    empty_database.migrate()
    engine = create_engine(empty_database.url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_migrations_go_up_and_down_and_up(empty_database: Database) -> None:
    assert not empty_database.is_migrated()
    empty_database.migrate()
    assert empty_database.is_migrated()
    assert table_names(empty_database) == {*Base.metadata.tables, "alembic_version"}
    queue_searches(empty_database, 2)
    empty_database.migrate()
    assert owner_names(empty_database) == ["ward-3"]
    empty_database.migrate("base")
    assert not empty_database.is_migrated()
    assert table_names(empty_database) == {"alembic_version"}
    empty_database.migrate()
    assert owner_names(empty_database) == []


def add_earlier(session: Session, kind: type[Base], **values: object) -> str:
    """A row as earlier versions wrote one, with no columns but these."""
    columns = [column(each.name, each.type) for each in kind.__table__.columns]
    row_id = new_id()
    values = {"id": row_id, "created_at": database_now(session), **values}
    session.execute(table(kind.__tablename__, *columns).insert().values(**values))
    return row_id


def add_earlier_owner(session: Session) -> str:
    return add_earlier(session, OwnerRow, name="ward-3")


def add_earlier_cohort(session: Session, owner_id: str) -> str:
    document = {"n_rows": 303}
    return add_earlier(
        session, CohortRow, owner_id=owner_id, name="c", sha256=SHA256, n_patients=303, spec={}, document=document
    )


def test_files_that_were_stored_before_there_was_a_record_are_entered(empty_database: Database) -> None:
    empty_database.migrate("0007")
    with empty_database.session() as session:
        owner_id = add_earlier_owner(session)
        add_earlier_cohort(session, owner_id)
        add_earlier_cohort(session, owner_id)
        model = {"owner_id": owner_id, "name": "a", "sha256": "a" * 64, "document": {}}
        add_earlier(session, DiagnosisModelRow, **model)
        add_earlier(session, DiagnosisModelRow, **model, tree_sha256="c" * 64, tree={})
    empty_database.migrate()
    with empty_database.session(read_only=True) as session:
        entered = session.scalars(select(StoredFileRow).order_by(StoredFileRow.kind)).all()
        assert [(row.kind, row.sha256) for row in entered] == [
            ("cohorts", SHA256), ("diagnosis_models", "a" * 64), ("diagnosis_trees", "c" * 64)
        ]  # fmt: skip
        assert all(abs(row.put_at - database_now(session)) < timedelta(hours=1) for row in entered)
    empty_database.migrate("base")


def test_cohorts_of_models_are_entered_as_far_as_they_are_known(empty_database: Database) -> None:
    empty_database.migrate("0025")
    with empty_database.session() as session:
        owner_id = add_earlier_owner(session)
        a, b, c = (add_earlier_cohort(session, owner_id) for _ in range(3))
        search = add_earlier(
            session, SearchRow, owner_id=owner_id, cohort_id=a, settings={}, status="succeeded", token=1, losses=0,
            spent_s=0.0, warnings=[], inherited_batches=0,
        )  # fmt: skip

        def add(version: int, cohort_id: str | None, parent_id: str | None, search_id: str | None = None) -> str:
            made = {"owner_id": owner_id, "version": version, "sha256": SHA256, "document": {}}
            return add_earlier(session, ModelRow, **made, cohort_id=cohort_id, parent_id=parent_id, search_id=search_id)

        first = add(1, a, None, search)
        second = add(2, b, first, search)
        third = add(3, c, second, search)
        parentless = add(2, b, None, search)
        orphan = add(2, b, None)
        of_orphan = add(3, c, orphan)
        add(1, None, None)
    empty_database.migrate()
    with empty_database.session(read_only=True) as session:
        known = [(row.model_id, row.cohort_id) for row in session.scalars(select(ModelCohortRow))]
    expected = {first: [a], second: [a, b], third: [a, b, c], parentless: [a, b], orphan: [b], of_orphan: [b, c]}
    assert sorted(known) == sorted((model, cohort) for model, cohorts in expected.items() for cohort in cohorts)
    empty_database.migrate("base")


def test_evaluations_lose_their_key_and_nothing_else(empty_database: Database) -> None:
    empty_database.migrate("0008")
    search_id = new_id()
    with empty_database.session() as session:
        owner_id = add_earlier_owner(session)
        row = SearchRow(
            id=search_id, owner_id=owner_id, cohort_id=add_earlier_cohort(session, owner_id), settings={}, warnings=[],
            status="queued", token=0, losses=0, created_at=database_now(session),
        )  # fmt: skip
        newer = {"continues_id", "inherited_batches", "spent_s", "heard_at"}
        of_search = [column(each.name, each.type) for each in SearchRow.__table__.columns if each.name not in newer]
        values = {each.name: getattr(row, each.name) for each in of_search}
        session.execute(table("search", *of_search).insert().values(**values))
    columns = [column(each.name, each.type) for each in EvaluationRow.__table__.columns]
    columns = [each for each in columns if each.name not in {"path", "out_of_bag", "competing"}]  # which are newer
    assert "config_key" not in {each.name for each in columns}
    earlier = table("evaluation", *columns, column("config_key"))
    written = [make_evaluation(0), make_evaluation(1, status=Status.TIMEOUT)]
    with empty_database.session() as session:
        for evaluation in written:
            row = EvaluationRow(**evaluation_to_values(search_id, evaluation, database_now(session)))
            values = {each.name: getattr(row, each.name) for each in columns}
            session.execute(earlier.insert().values(**values, config_key=evaluation.configuration.key))
    empty_database.migrate()
    with empty_database.session(read_only=True) as session:
        rows = session.scalars(select(EvaluationRow).order_by(EvaluationRow.number).options(undefer("*"))).all()
        assert [repr(evaluation_from_row(row)) for row in rows] == [repr(evaluation) for evaluation in written]
    empty_database.migrate("base")  # on the way the keys are made again, which were never empty
    assert table_names(empty_database) == {"alembic_version"}


def test_statistics_of_searches_before_the_warm_start_are_read(empty_database: Database) -> None:
    empty_database.migrate("0006")
    document = collect_statistics("c", meta_features(mixed_cohort()), [0.01, 0.02]).to_json()
    del document["offsets"]
    gains = [{**gain, "offset": 0.1 * i} for i, gain in enumerate(document["algorithms"])]
    with empty_database.session() as session:
        owner_id = add_earlier_owner(session)
        cohort_id = add_earlier_cohort(session, owner_id)
        row = CohortStatisticsRow(
            cohort_id=cohort_id, metric="auc_roc", owner_id=owner_id, shared=False, n_evaluations=50,
            document={**document, "algorithms": gains}, created_at=database_now(session),
        )  # fmt: skip
        session.add(row)
    empty_database.migrate()
    with empty_database.session() as session:
        (earlier,) = CohortStatisticsRepository(session).earlier(owner_id, "auc_roc", but_sha256="-")
    assert earlier.statistics.offsets == {
        "prediction/a00": 0.0, "prediction/a01": 0.1, "prediction/logistic_regression": 0.2
    }  # fmt: skip
    assert [gain.best for gain in earlier.statistics.algorithms] == [0.01, 0.02, 0.0]
    empty_database.migrate("base")
    assert table_names(empty_database) == {"alembic_version"}


def test_migrating_makes_the_folder_and_needs_no_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "empty"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    database = Database(f"sqlite:///{tmp_path / 'new 100%' / 'autoprog.db'}")
    database.migrate()
    assert database.is_migrated()
    database.close()
    assert list(elsewhere.iterdir()) == []


def test_processes_that_migrate_at_once_do_not_disturb_each_other(empty_database: Database) -> None:
    code = "import sys; from autoprog.storage.database import Database; Database(sys.argv[1]).migrate()"
    command = [sys.executable, "-c", code, empty_database.url]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    errors = [process.communicate(timeout=120)[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, errors
    assert empty_database.is_migrated()


def test_a_new_file_that_another_process_writes_to_is_waited_for(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "new.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, other.commit).start()
    database = Database(f"sqlite:///{tmp_path / 'new.db'}")
    database.create()
    with database.session() as session:
        add_owner(session, "a")
    assert owner_names(database) == ["a"]
    database.close()
    other.close()


def test_many_writers_of_a_process_wait_in_line(database: Database) -> None:
    names = [f"owner {i:02}" for i in range(40)]

    def write(name: str) -> None:
        with suppress(ZeroDivisionError), database.session() as session:
            add_owner(session, name)
            if name.endswith("7"):  # whoever fails must let the next one go on
                raise ZeroDivisionError

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert owner_names(database) == [name for name in names if not name.endswith("7")]
