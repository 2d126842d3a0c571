"""A release under load: the earlier version serves and searches while the tables are migrated, then hands over.

    python -m tests.drills.upgrade --postgres URL [--old REVISION]

URL names a server on which databases are made and dropped. The earlier version is the commit before the newest
migration, or REVISION. Its API and runners work on while `autoprog db upgrade` of this version runs, as the manual
says; then each process is ended and started again as this version's. What was acknowledged is there once, the search
ends with a model, and all that clients were told is a success, 429 or 503.
"""

from __future__ import annotations

import argparse
import io
import json
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.drills.cluster import Cluster
from tests.drills.faults import EVALUATIONS, own_database, under_load
from tests.system.server import ROOT


def before_newest_migration() -> str:
    """The commit before the one that brought the newest migration."""
    newest = max(path.name for path in (ROOT / "migrations" / "versions").glob("[0-9]*.py"))
    command = ("log", "-1", "--format=%H", "--diff-filter=A", "--", f"migrations/versions/{newest}")
    return _git(*command).decode().strip() + "^"


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


def drill(folder: Path, postgres: str, old: str) -> dict[str, Any]:
    """Do the drill; return its figures, with all that was wrong."""
    with tarfile.open(fileobj=io.BytesIO(_git("archive", old))) as archive:
        archive.extractall(folder / "old", filter="data")
    (folder / "installation").mkdir()
    cluster = Cluster(folder / "installation", postgres, root=folder / "old")
    migrated = 0.0

    def release(cluster: Cluster) -> None:
        nonlocal migrated
        cluster.root = ROOT
        began = time.monotonic()
        cluster.command("db", "upgrade", "--database", postgres)
        migrated = time.monotonic() - began
        time.sleep(5)
        for name in ("runner-1", "runner-2", "api"):
            cluster.end(name)
            cluster.start(name)

    with closing(cluster):
        found = under_load(cluster, release, EVALUATIONS)
    old_version = _git("rev-parse", "--short", old).decode().strip()
    return {"old": old_version, **found, "migration s": round(migrated, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", required=True)
    parser.add_argument("--old")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes end, too
    with tempfile.TemporaryDirectory() as folder, own_database(asked.postgres) as url:
        found = drill(Path(folder), url, asked.old or before_newest_migration())
    print(json.dumps({"drill": "upgrade", "database": "postgresql", **found}), flush=True)
    sys.exit(bool(found["wrong"]))


if __name__ == "__main__":
    main()
