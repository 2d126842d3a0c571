"""The commands of an operator: what they do, and one clear line where they cannot."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from sqlalchemy import make_url

from api.space.service import space_document
from autoprog.cli.serving import _served
from autoprog.errors import StorageFullError
from autoprog.settings import read_settings
from autoprog.space import Space, calibration
from autoprog.space.prediction import BEYOND_TABLE_1
from autoprog.storage.database import Database, database_now, new_id
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.repositories import AuditRepository, KeyRepository
from autoprog.storage.stored_files import store_file
from autoprog.storage.tables import ApiKeyRow, ModelRow
from tests.cli.answer import Answer, CommandLine

DATABASES = "--database, AUTOPROG_DATABASE: give sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST:PORT/NAME"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("serve --database patients", DATABASES),
        ("serve --database mysql://root@localhost/patients", DATABASES),
        ("runner --database patients", DATABASES),
        ("keys create --owner a --scopes read --database patients", DATABASES),
        ("db upgrade --database patients", DATABASES),
        ("db upgrade --database postgresql+psycopg://x:secret@127.0.0.1:1/no", "the database cannot be used: "),
        ("db upgrade --database sqlite:///words.txt", "the database cannot be used: file is not a database"),
        ("serve --host 0.0.0.0", "refusing to serve on 0.0.0.0 without API keys: make one with `autoprog keys create`"),
        (
            "serve --require-keys",
            "refusing to serve on 127.0.0.1 without API keys: make one with `autoprog keys create`",
        ),
        ("runner --scheduler scheduler:8786", "scheduler: give tcp://HOST:PORT or tls://HOST:PORT"),
        ("worker --scheduler scheduler", "scheduler: give tcp://HOST:PORT or tls://HOST:PORT"),
        ("worker --scheduler tcp://127.0.0.1:8786", "AUTOPROG_PLAIN_SCHEDULER=true"),
        ("runner --scheduler tcp://127.0.0.1:8786", "AUTOPROG_PLAIN_SCHEDULER=true"),
        ("scheduler", "set AUTOPROG_CERTIFICATES"),
        ("keys create --owner a --scopes root", "unknown scopes root; known are read, write, predict, approve"),
        ("keys create --owner a --scopes ,", "unknown scopes (none given); known are read, write, predict, approve"),
        ("keys create --owner a --scopes read --days inf", "--days must be at most a hundred years"),
        ("keys create --owner a --scopes read --days 1e9", "--days must be at most a hundred years"),
        ("keys rotate a --overlap-hours inf", "--overlap-hours must be at most a hundred years"),
        ("keys create --owner= --scopes read", "--owner is empty"),
        (f"keys create --owner {'a' * 201} --scopes read", "--owner has 201 characters; at most 200 are allowed"),
        ("keys create --owner a --scopes read --data-dir words.txt", "words.txt: File exists"),
    ],
)
def test_what_cannot_be_done_is_one_line(autoprog: CommandLine, tmp_path: Path, command: str, line: str) -> None:
    (tmp_path / "words.txt").write_text("no database, but longer than a database's header would be" * 20)
    answer = autoprog(*command.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("autoprog: ")
    assert line in answer.err
    assert answer.err.count("\n") == 1
    assert "secret" not in answer.err


def test_version_is_that_of_the_package(autoprog: CommandLine) -> None:
    assert autoprog("--version") == Answer(0, version("autoprog") + "\n", "")


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("AUTOPROG_WORKERS", "0", "AUTOPROG_WORKERS: Input should be greater than or equal to 1"),
        ("AUTOPROG_SCHEDULER", "here", "AUTOPROG_SCHEDULER: give tcp://HOST:PORT or tls://HOST:PORT"),
        (
            "AUTOPROG_PLUGINS",
            "learners",
            'AUTOPROG_PLUGINS: this is no JSON list of modules, such as ["ward7.learners"]',
        ),
        (
            "AUTOPROG_PLUGINS",
            '["no_such_learners"]',
            "AUTOPROG_PLUGINS: 'no_such_learners' cannot be imported: No module named 'no_such_learners'",
        ),
        (
            "AUTOPROG_ACCEPTED_MODEL_KEYS",
            "secret",
            'AUTOPROG_ACCEPTED_MODEL_KEYS: this is no JSON list of keys, such as ["KEY"], or [] for none',
        ),
        (
            "AUTOPROG_ACCEPTED_MODEL_KEYS",
            '["B"]',
            "AUTOPROG_ACCEPTED_MODEL_KEYS needs AUTOPROG_MODEL_KEY: without it no signature is checked",
        ),
        ("AUTOPROG_SECRETS_DIR", "nowhere", "AUTOPROG_SECRETS_DIR: there is no folder nowhere"),
    ],
)
def test_a_wrong_setting_is_named(
    autoprog: CommandLine, monkeypatch: pytest.MonkeyPatch, name: str, value: str, line: str
) -> None:
    monkeypatch.setenv(name, value)
    assert autoprog("space") == Answer(2, "", f"autoprog: {line}\n")


def write_secret(folder: Path, name: str, text: str) -> Path:
    path = folder / f"autoprog_{name}"
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_the_password_of_the_database_may_stand_in_a_file_and_hold_any_characters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, autoprog: CommandLine
) -> None:
    write_secret(tmp_path, "database_password", "a/b@c:d %ä?\n")
    monkeypatch.setenv("AUTOPROG_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("AUTOPROG_DATABASE", "postgresql+psycopg://ada@host:5432/name?connect_timeout=1")
    settings = read_settings({})
    url = make_url(settings.database_url)
    assert (url.username, url.password, url.host) == ("ada", "a/b@c:d %ä?", "host")
    assert (url.port, url.database, url.query) == (5432, "name", {"connect_timeout": "1"})
    assert "a/b" not in repr(settings)
    for other in ("postgresql+psycopg://host/name", "postgresql+psycopg://ada:known@host/name"):
        monkeypatch.setenv("AUTOPROG_DATABASE", other)
        answer = autoprog("space")
        assert answer.code == 2
        assert "AUTOPROG_DATABASE with a user and no password" in answer.err
        assert answer.err.count("\n") == 1


def test_secrets_that_cannot_be_used_are_named_all_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, autoprog: CommandLine
) -> None:
    write_secret(tmp_path, "oidc_client_secret", " \n")
    write_secret(tmp_path, "model_kye", "secret")
    write_secret(tmp_path, "model_key", "secret").chmod(0o644)
    (tmp_path / "autoprog_database").mkdir()
    write_secret(tmp_path, "database_password", "").write_bytes(b"secret\xff")
    monkeypatch.setenv("AUTOPROG_SECRETS_DIR", str(tmp_path))
    answer = autoprog("space")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.splitlines() == [
        f"autoprog: {tmp_path}/autoprog_database: this is a folder; write the secret into a file of this name",
        f"autoprog: {tmp_path}/autoprog_database_password: the file is not UTF-8",
        f"autoprog: {tmp_path}/autoprog_model_key: other users of this machine can read or change the file: chmod 600",
        f"autoprog: {tmp_path}/autoprog_model_kye: there is no setting of this name",
        f"autoprog: {tmp_path}/autoprog_oidc_client_secret: the file is empty",
    ]


def test_a_secret_of_another_user_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, autoprog: CommandLine
) -> None:
    path = write_secret(tmp_path, "model_key", "secret")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root reads every file")
    monkeypatch.setenv("AUTOPROG_SECRETS_DIR", str(tmp_path))
    assert "cannot be read by the user of this process: Permission denied" in autoprog("space").err


def test_a_secret_that_is_mounted_may_be_readable_by_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_secret(tmp_path, "model_key", "from a mount").chmod(0o444)
    monkeypatch.setenv("AUTOPROG_SECRETS_DIR", str(tmp_path))
    monkeypatch.setattr(os.path, "ismount", lambda path: path == tmp_path)  # as /run/secrets in a container
    key = read_settings({}).model_key
    assert key is not None
    assert key.get_secret_value() == "from a mount"


def test_secrets_are_read_from_files_unless_the_environment_has_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_secret(tmp_path, "model_key", "from a file\n")
    write_secret(tmp_path, "database", "sqlite:///file.db")
    (tmp_path / "postgres_password").write_text("of another program")
    monkeypatch.setenv("AUTOPROG_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("AUTOPROG_DATABASE", "sqlite:///environment.db")
    settings = read_settings({})
    assert settings.model_key is not None
    assert settings.model_key.get_secret_value() == "from a file"
    assert settings.database_url == "sqlite:///environment.db"
    assert read_settings({"database": "sqlite:///given.db"}).database_url == "sqlite:///given.db"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("search none.csv --spec {} --out result", "'none.csv' does not exist"),
        ("search . --spec {} --out result", "'.' is a directory"),
        ("predict none.autoprog none.csv", "'none.autoprog' does not exist"),
        ("serve --port 70000", "'--port'"),
        ("worker --scheduler tcp://127.0.0.1:1 --slots 0", "'--slots'"),
        ("sevre", "No such command 'sevre'"),
    ],
)
def test_wrong_usage_is_explained(autoprog: CommandLine, command: str, text: str) -> None:
    answer = autoprog(*command.split())
    assert (answer.code, answer.out) == (2, "")
    assert text in answer.err
    assert "Traceback" not in answer.err


def test_a_database_of_a_later_version_is_refused(autoprog: CommandLine, tmp_path: Path) -> None:
    assert autoprog("db", "upgrade", "--data-dir", tmp_path).code == 0
    with closing(sqlite3.connect(tmp_path / "autoprog.db")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    answer = autoprog("keys", "create", "--owner", "a", "--scopes", "read", "--data-dir", tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("autoprog: the database is not of this version of autoprog, nor of an earlier one: ")


def test_upgrade_makes_the_tables(autoprog: CommandLine, empty_database: Database) -> None:
    assert autoprog("db", "upgrade", "--database", empty_database.url) == Answer(0, "", "")
    assert empty_database.is_migrated()


def test_a_key_is_printed_once_and_works(autoprog: CommandLine, database: Database) -> None:
    scopes = ["--scopes", "read,write", "--scopes", "predict"]
    answer = autoprog("keys", "create", "--owner", "Ward 7", *scopes, "--database", database.url)
    assert (answer.code, answer.err) == (0, "")
    with database.session() as session:
        key = KeyRepository(session).authenticate(answer.out.strip())
    assert key is not None
    assert set(key.scopes) == {"read", "write", "predict"}


def test_an_owner_is_erased_once_it_is_confirmed(autoprog: CommandLine, database: Database, tmp_path: Path) -> None:
    where = ["--database", database.url, "--data-dir", tmp_path]
    autoprog("keys", "create", "--owner", "Ward 7", "--scopes", "read", *where)
    autoprog("keys", "create", "--owner", "Ward 8", "--scopes", "read", *where)
    assert "--yes" in autoprog("owners", "delete", "Ward 7", *where).err
    assert "Ward 7" in autoprog("keys", "list", *where).out
    erased = json.loads(autoprog("owners", "delete", "Ward 7", "--yes", *where).out)
    assert (erased["owner"], erased["rows"], erased["files_removed"]) == ("Ward 7", {"api_key": 1}, [])
    listed = autoprog("keys", "list", *where).out
    assert "Ward 7" not in listed
    assert "Ward 8" in listed
    again = autoprog("owners", "delete", "Ward 7", "--yes", *where)
    assert (again.code, again.err) == (2, "autoprog: there is no owner named 'Ward 7'\n")


def test_the_key_of_models_is_changed_by_a_command(
    autoprog: CommandLine, database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    where = ["--database", database.url, "--data-dir", tmp_path]
    folder = str(tmp_path / "files")
    with database.session() as session:
        sha256 = store_file(database, Files(folder, b"old"), session, "models", b"a model")
        owner = KeyRepository(session).ensure_owner("Ward 7")
        now = database_now(session)
        session.add(ModelRow(id=new_id(), owner_id=owner.id, version=1, sha256=sha256, document={}, created_at=now))
    assert "AUTOPROG_MODEL_KEY" in autoprog("models", "sign", *where).err
    monkeypatch.setenv("AUTOPROG_ACCEPTED_MODEL_KEYS", '["old"]')
    assert "needs AUTOPROG_MODEL_KEY" in autoprog("models", "sign", *where).err
    monkeypatch.setenv("AUTOPROG_MODEL_KEY", "new")
    assert autoprog("models", "sign", *where) == Answer(0, "signed 1 files\n", "")
    assert autoprog("models", "sign", *where).out == "signed 0 files\n"
    assert Files(folder, b"new").get("models", sha256) == b"a model"
    monkeypatch.setenv("AUTOPROG_MODEL_KEY", "newest")
    refused = autoprog("models", "sign", *where)
    assert (refused.code, refused.out) == (2, "signed 0 files\n")
    assert f"{sha256} of models was made with another key" in refused.err
    assert Files(folder, b"new").get("models", sha256) == b"a model"


def test_the_audit_trail_lists_signed_models_of_a_command_that_ended_early(
    autoprog: CommandLine, database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    where = ["--database", database.url, "--data-dir", tmp_path]
    monkeypatch.setenv("AUTOPROG_ACCEPTED_MODEL_KEYS", '["old"]')
    monkeypatch.setenv("AUTOPROG_MODEL_KEY", "new")
    with database.session() as session:
        known = AuditRepository(session).end().sequence
    for content in (b"a model", b"another model"):
        with database.session() as session:
            sha256 = store_file(database, Files(str(tmp_path / "files"), b"old"), session, "models", content)
            owner, now = KeyRepository(session).ensure_owner("Ward 7"), database_now(session)
            session.add(ModelRow(id=new_id(), owner_id=owner.id, version=1, sha256=sha256, document={}, created_at=now))
    signed: list[str] = []
    sign_again = Files.sign_again

    def sign_one(files: Files, file: StoredFile) -> bool:
        if signed:
            raise StorageFullError("no room is left")
        signed.append(file.sha256)
        return sign_again(files, file)

    monkeypatch.setattr(Files, "sign_again", sign_one)
    assert "no room is left" in autoprog("models", "sign", *where).err
    exported = autoprog("audit", "export", "--after", known, *where).out
    events = [json.loads(line) for line in exported.splitlines()]
    assert [(event["action"], event["resource"]) for event in events] == [("models sign", f"models/{signed[0]}")]


def test_a_key_is_listed_without_its_secret_and_can_be_revoked(autoprog: CommandLine, database: Database) -> None:
    where = ["--database", database.url]
    secret = autoprog("keys", "create", "--owner", "Ward 7", "--scopes", "read", *where).out.strip()
    listed = autoprog("keys", "list", "--owner", "Ward 7", *where).out
    key_id = listed.split()[0]
    assert secret.split("_")[1] == key_id
    assert secret.split("_", 2)[2] not in listed
    assert listed.rstrip().endswith("live")
    assert autoprog("keys", "revoke", key_id, *where) == Answer(0, "", "")
    assert "revoked" in autoprog("keys", "list", "--owner", "Ward 7", *where).out
    with database.session() as session:
        assert KeyRepository(session).authenticate(secret) is None
    assert autoprog("keys", "revoke", "0" * 32, *where).code == 2


def test_keys_are_listed_with_their_maker(autoprog: CommandLine, database: Database) -> None:
    where = ["--database", database.url]
    with database.session() as session:
        keys = KeyRepository(session)
        ada = keys.record_person("1" * 64, "ada", "Ward 7", ["admin"])
        key, _ = keys.create("Ward 7", ["read"], made_by=ada.id)
    assert "live  made by ada" in autoprog("keys", "list", *where).out
    with database.session() as session:
        session.get_one(ApiKeyRow, ada.id).used_at = datetime.now(UTC) - timedelta(days=91)
    assert "ended, as its maker no longer logs in  made by ada" in autoprog("keys", "list", *where).out
    assert autoprog("keys", "revoke", ada.id, *where).code == 0
    assert autoprog("keys", "list", *where).out.count("  revoked ") == 2
    assert key.id in autoprog("keys", "list", *where).out


def test_a_key_ends_by_itself_and_is_rotated_with_an_overlap(autoprog: CommandLine, database: Database) -> None:
    where = ["--database", database.url]
    create = ["keys", "create", "--scopes", "read", *where, "--owner"]
    lasting, old = autoprog(*create, "Ward 7").out.strip(), autoprog(*create, "Ward 8", "--days", "30").out.strip()
    over = autoprog(*create, "Ward 9", "--days", "0").out.strip()
    old_id = old.split("_")[1]
    new = autoprog("keys", "rotate", old_id, "--overlap-hours", "1", *where).out.strip()
    gone = autoprog(*create, "Ward 9").out.strip()
    autoprog("keys", "rotate", gone.split("_")[1], "--overlap-hours", "0", *where)
    with database.session(read_only=True) as session:
        keys = KeyRepository(session)
        assert [keys.authenticate(key) is not None for key in (lasting, old, new, over, gone)] == [
            True, True, True, False, False
        ]  # fmt: skip
        rows = {row.id: row for _, row in keys.all()}
    first, second = rows[old_id], rows[new.split("_")[1]]
    assert first.expires_at is not None
    assert second.expires_at is not None
    assert timedelta(minutes=59) < first.expires_at - second.created_at <= timedelta(hours=1)
    assert second.expires_at - second.created_at == timedelta(days=30)
    listed = autoprog("keys", "list", *where).out.splitlines()
    assert [next(name for name in ("Ward 7", "Ward 8", "Ward 9") if name in line) for line in listed] == [
        "Ward 7", "Ward 8", "Ward 8", "Ward 9", "Ward 9", "Ward 9"
    ]  # fmt: skip
    assert autoprog("keys", "rotate", over.split("_")[1], *where).code == 2


def test_a_person_is_not_rotated(autoprog: CommandLine, database: Database) -> None:
    with database.session() as session:
        ada = KeyRepository(session).record_person("1" * 64, "ada", "Ward 7", ["admin"])
    answer = autoprog("keys", "rotate", ada.id, "--database", database.url)
    assert (answer.code, answer.out) == (2, "")
    assert "this is a person" in answer.err


# uvicorn ends its thread by SystemExit.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_address_for_operators_that_is_in_use_ends_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(FastAPI(), host="127.0.0.1", port=port, log_config=None))
        with pytest.raises(SystemExit) as ended, _served(server):
            raise AssertionError("it serves on a port that another one has")
    assert ended.value.code == 2
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


def test_commands_are_in_the_audit_trail_which_can_be_verified_and_exported(
    autoprog: CommandLine, empty_database: Database
) -> None:
    where = ["--database", empty_database.url]
    assert autoprog("db", "upgrade", *where).code == 0
    key_id = autoprog("keys", "create", "--owner", "Ward 7", "--scopes", "read", *where).out.split("_")[1]
    noted = autoprog("audit", "verify", *where).out.strip()
    assert noted.startswith("1:")
    assert autoprog("keys", "revoke", key_id, *where).code == 0
    assert autoprog("audit", "verify", "--expect", noted, *where).out.startswith("2:")
    events = [json.loads(line) for line in autoprog("audit", "export", *where).out.splitlines()]
    assert [(event["action"], event["resource"]) for event in events] == [
        ("keys create", key_id), ("keys revoke", key_id)
    ]  # fmt: skip
    assert f"1:{events[0]['sha256']}" == noted
    assert len(autoprog("audit", "export", "--after", "1", *where).out.splitlines()) == 1
    refused = autoprog("audit", "verify", "--expect", "1:" + "f" * 64, *where)
    assert refused.code == 2
    assert refused.err.startswith("autoprog: the audit trail was altered: ")
    assert autoprog("audit", "verify", "--expect", "1", *where).code == 2


def test_a_server_s_database_is_not_upgraded_by_the_way(autoprog: CommandLine, empty_database: Database) -> None:
    if empty_database.url.startswith("sqlite"):
        return
    answer = autoprog("runner", "--database", empty_database.url)
    assert answer == Answer(2, "", "autoprog: the database is not at this version: run `autoprog db upgrade` first\n")
    assert not empty_database.is_migrated()


def test_space_is_listed(autoprog: CommandLine) -> None:
    answer = autoprog("space")
    assert answer.code == 0
    for line in ("imputation (8)", "features (10)", "calibration (5)"):
        assert line in [row.strip() for row in answer.out.splitlines()]
    assert re.search(
        r"^  mice +iterations: 1 \.\. 20, log \(5\) +missing, negative, collinear *\n"
        r" +at most [\d,]+ columns *\n +on [\d,]+ patients *\n +seconds: [\d.]+ n\^[\d.]+ d\^[\d.]+ *\n",
        answer.out,
        re.MULTILINE,
    )
    assert re.search(r"^  cox +negative, times *\n  \(survival, temporal\) ", answer.out, re.MULTILINE)
    assert answer.out.splitlines()[-1].endswith(" dimensions")


def test_no_name_is_cut_off_where_lines_are_short(autoprog: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = set(re.findall(r"\w+", autoprog("space").out))
    assert {a.name for a in Space.full().algorithms} <= words
    assert {axis.name for a in Space.full().algorithms for axis in a.hyperparameters} <= words


def test_space_as_json_is_what_the_api_shows(autoprog: CommandLine) -> None:
    answer = autoprog("space", "--json")
    assert answer.code == 0
    assert json.loads(answer.out) == space_document(Space.full()).model_dump(mode="json")


def test_space_without_plug_ins_is_table_1_and_what_is_beyond(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AUTOPROG_")}
    command = [sys.executable, "-m", "autoprog.cli", "space", "--json"]
    told = json.loads(subprocess.check_output(command, cwd=tmp_path, env=environment, timeout=120))
    algorithms = [algorithm for stage in told["stages"] for algorithm in stage["algorithms"]]
    assert sum(algorithm["table_1"] for algorithm in algorithms) == 41
    assert [a["name"] for a in algorithms if not a["table_1"]] == [
        a.name for a in (*BEYOND_TABLE_1, *calibration.BEYOND_TABLE_1)
    ]
    assert told["pipelines"] == 8 * 10 * 28 * 5
