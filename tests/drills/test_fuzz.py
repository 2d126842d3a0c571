"""The inputs that fuzzing has kept are read again; `make fuzz` looks for more."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import pytest

from tests.drills.fuzz import CORPUS
from tests.drills.readers import MAX_BYTES, MAX_S, READERS, refused


@pytest.mark.filterwarnings("ignore")  # of what hostile numbers do to arithmetic
@pytest.mark.parametrize("name", READERS)
def test_every_kept_input_is_read_or_refused_in_time(name: str) -> None:
    reader = READERS[name]
    inputs = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    assert len(inputs) >= 10
    for content in reader.seeds():  # the first imports libraries
        reader.read(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for content in inputs:
        start = time.process_time()
        reader.read(content)
        assert time.process_time() - start <= MAX_S
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 <= MAX_BYTES


def test_the_corpus_is_small() -> None:
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == set(READERS)
    assert sum(path.stat().st_size for path in files) <= 300_000


def test_shares_make_a_whole() -> None:
    assert sum(reader.share for reader in READERS.values()) == 100


def test_another_error_than_a_refusal_is_a_crash() -> None:
    def crash() -> None:
        raise KeyError("age")

    with pytest.raises(KeyError):
        refused(crash)
    assert not refused(Path)
