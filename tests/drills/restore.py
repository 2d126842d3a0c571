"""A backup made under load, as `docs/operating.md` says, is restored elsewhere: all that was acknowledged is there.

    python -m tests.drills.restore [--postgres URL]

URL names a server on which databases are made and dropped; without one SQLite is used. Clients upload cohorts while
files, database and files again are copied, and a patient of the first cohorts is erased before the second copy of the
files. The restored installation must hold what was acknowledged before the copy began, every file that it refers to
with its digest, the audit trail up to then, and a model that predicts the same bits; the patient is erased again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import make_url, select

from autoprog.errors import ArtifactError
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.stored_files import REFERENCES
from tests.api.searching import patient
from tests.drills.cluster import Cluster
from tests.drills.faults import own_database, wait_for_end

_FEWEST = 10
_PATIENT = "of the first cohorts"


@contextmanager
def uploading(cluster: Cluster) -> Iterator[dict[str, dict[str, Any]]]:
    """Upload cohorts of different patients during the block; what was acknowledged, by identifier."""
    acknowledged: dict[str, dict[str, Any]] = {}
    ended = threading.Event()

    def upload() -> None:
        spec = json.dumps({"name": "small", "identifier": "id", "outcome": {"column": "died", "positive": 1}})
        while not ended.wait(0.05):
            rows = [f"{i},{50 + i},{len(acknowledged)},{i % 2}" for i in range(20)]
            rows[0] = f"{_PATIENT if len(acknowledged) < _FEWEST else 0},51,{-len(acknowledged)},1"
            content = "\n".join(["id,age,weight,died", *rows]).encode()
            files: dict[str, Any] = {"file": ("small.csv", content), "spec": (None, spec)}
            document = cluster.client.post("/v1/cohorts", files=files).raise_for_status().json()
            acknowledged[document["id"]] = document

    thread = threading.Thread(target=upload)
    thread.start()
    try:
        yield acknowledged
    finally:
        ended.set()
        thread.join()


def back_up(cluster: Cluster, place: Path) -> None:
    """Copy the files, the database, and the files again; erase a patient before the last."""
    place.mkdir()
    _copy_files(cluster, place)
    if cluster.direct_url is None:
        with (
            closing(sqlite3.connect(cluster.folder / "data" / "autoprog.db")) as source,
            closing(sqlite3.connect(place / "autoprog.db")) as copy,
        ):
            source.backup(copy)
    else:
        _run("pg_dump", "--format=custom", f"--file={place / 'dump'}", _libpq(cluster.direct_url))
    _erase_patient(cluster)
    _copy_files(cluster, place)


def _copy_files(cluster: Cluster, place: Path) -> None:
    hidden = shutil.ignore_patterns(".*")
    shutil.copytree(cluster.folder / "data" / "files", place / "files", ignore=hidden, dirs_exist_ok=True)


def _erase_patient(cluster: Cluster) -> int:
    """Erase a patient; the number of cohorts that had the patient."""
    erased = cluster.client.post("/v1/patient-erasures", json={"identifier": _PATIENT}).raise_for_status().json()
    return len(erased["cohorts"])


def restore(place: Path, folder: Path, postgres: str | None) -> None:
    """Put a backup into an empty data folder and, if given, an empty database."""
    data = folder / "data"
    data.mkdir(parents=True)
    shutil.copytree(place / "files", data / "files")
    if postgres is None:
        shutil.copy(place / "autoprog.db", data / "autoprog.db")
    else:
        _run("pg_restore", "--exit-on-error", f"--dbname={_libpq(postgres)}", str(place / "dump"))


def _libpq(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def drill(folder: Path, server: str | None, *, with_model: bool = True) -> dict[str, Any]:
    """Back up and restore, with or without a model; return the figures, with all that was wrong."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(own_database(server)) if server else None for _ in range(2))
        (folder / "first").mkdir()
        cluster = Cluster(folder / "first", first, searching=with_model)
        stack.callback(cluster.close)
        model = wait_for_end(cluster, cluster.start_search(3, 15))["model_id"] if with_model else None
        predicted = None if model is None else _predict(cluster, model)
        with uploading(cluster) as acknowledged:
            while len(acknowledged) < _FEWEST:
                time.sleep(0.05)
            expected, end = dict(acknowledged), cluster.command("audit", "verify").strip()
            began = time.monotonic()
            back_up(cluster, folder / "backup")
            took = time.monotonic() - began
        (folder / "second").mkdir()
        restore(folder / "backup", folder / "second", second)
        again = Cluster(folder / "second", second, searching=False)
        stack.callback(again.close)
        restored = {each["id"]: each for each in again.items("/v1/cohorts")}
        wrong = [f"cohort {key} is lost or differs" for key, value in expected.items() if restored.get(key) != value]
        if model is not None and _predict(again, model) != predicted:
            wrong.append("the model predicts otherwise")
        again.command("audit", "verify", "--expect", end)
        n_files, damaged = _check_files(again)
        n_erased = _erase_patient(again)
        if n_erased != _FEWEST:
            wrong.append(f"the patient is erased again from {n_erased} cohorts")
    return {
        "acknowledged before": len(expected),
        "uploaded during the copy": len(acknowledged) - len(expected),
        "restored": len(restored),
        "files": n_files,
        "backup s": round(took, 2),
        "wrong": [*wrong, *damaged],
    }


def _predict(cluster: Cluster, model: str) -> object:
    asked = {"patients": [patient()]}
    return cluster.client.post(f"/v1/models/{model}/predictions", json=asked).raise_for_status().json()


def _check_files(cluster: Cluster) -> tuple[int, list[str]]:
    """Read every file that a row refers to; the number of files, and what is wrong with them."""
    data = cluster.folder / "data"
    database = Database(cluster.direct_url or f"sqlite:///{data / 'autoprog.db'}")
    files, wrong, n = Files(str(data / "files")), [], 0
    with closing(database), database.session(read_only=True) as session:
        for kind, columns in REFERENCES.items():
            for column in columns:
                for sha256 in set(session.scalars(select(column).where(column.is_not(None)))):
                    n += 1
                    try:
                        files.get(kind, str(sha256))
                    except ArtifactError as error:
                        wrong.append(str(error))
    return n, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes end, too
    with tempfile.TemporaryDirectory() as folder:
        found = drill(Path(folder), asked.postgres)
    print(
        json.dumps({"drill": "restore", "database": "postgresql" if asked.postgres else "sqlite", **found}), flush=True
    )
    sys.exit(bool(found["wrong"]))


if __name__ == "__main__":
    main()
