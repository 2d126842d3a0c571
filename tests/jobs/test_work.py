"""The tables that a new kind of job has to be entered in."""

from __future__ import annotations

import pickle
from typing import get_args

import pytest

from autoprog.jobs import JobKind
from autoprog.jobs.ports import FileKind, Job
from autoprog.jobs.work import WORK
from autoprog.storage.database import Database
from autoprog.storage.files import Files, Kind, StoredFile
from autoprog.storage.stored_files import remove_unreferenced, store_file


def test_every_kind_of_job_is_done_by_something_that_a_child_can_import() -> None:
    assert set(WORK) == set(JobKind)
    for kind, work in WORK.items():
        assert pickle.dumps(work.function)  # looks it up by its module and name
        assert work.limits.time_s > 0
        assert work.limits.memory_mb >= 16
        assert len(kind) <= 32  # the column
        assert pickle.dumps(Job(kind))


def test_jobs_and_the_storage_know_the_same_kinds_of_files() -> None:
    assert get_args(FileKind) == get_args(Kind)


@pytest.mark.parametrize("kind", get_args(Kind))
def test_a_file_that_no_row_names_is_found_out_whatever_its_kind(database: Database, files: Files, kind: Kind) -> None:
    with database.session() as session:
        file = StoredFile(kind, store_file(database, files, session, kind, b"content"))
    assert files.has(file)
    remove_unreferenced(database, files, [file, file])
    assert not files.has(file)
