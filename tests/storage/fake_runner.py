"""A process that works on searches as a runner does, except that its evaluations only take their time.

It ends when no search is left. Every evaluation names the process and the token that wrote it as its reason.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from sqlalchemy import func, select

from autoprog.errors import LeaseLostError
from autoprog.evaluation import Evaluation, Status
from autoprog.search.ports import Claim
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.store import DatabaseStore
from autoprog.storage.tables import SearchRow
from tests.storage.support import make_configuration, make_result


def main(database_url: str, files_url: str, evaluations: int, lease_s: float) -> None:
    database = Database(database_url)
    store = DatabaseStore(database, Files(files_url))
    print("ready", flush=True)
    while _open_searches(database):
        claim = store.claim(f"runner-{os.getpid()}", lease_s)
        if claim is None:
            time.sleep(0.05)
            continue
        ended = threading.Event()
        heart = threading.Thread(target=_beat, args=(store, claim, lease_s, ended))
        heart.start()
        try:
            _work(store, claim, evaluations)
        except LeaseLostError:
            pass
        finally:
            ended.set()
            heart.join()
    database.close()


def _open_searches(database: Database) -> int:
    with database.session(read_only=True) as session:
        return session.scalar(select(func.count()).where(SearchRow.finished_at.is_(None))) or 0


def _beat(store: DatabaseStore, claim: Claim, lease_s: float, ended: threading.Event) -> None:
    try:
        while not ended.wait(lease_s / 5):
            store.heartbeat(claim, lease_s)
    except LeaseLostError:
        pass


def _work(store: DatabaseStore, claim: Claim, evaluations: int) -> None:
    done = {evaluation.number for evaluation in store.load(claim).evaluations}
    for number in range(evaluations):
        if number not in done:
            time.sleep(0.01)
            writer = f"{os.getpid()} {claim.token}"
            store.record_evaluation(
                claim, Evaluation(number, 0, make_configuration(number + 1), Status.CRASHED, reason=writer)
            )
            print("wrote", claim.search_id, number, flush=True)
    store.finish(claim, make_result(), cancelled=False)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
