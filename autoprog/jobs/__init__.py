"""Jobs beside the searches: work that takes longer than a request, and the runner that carries it out.

This module is light: a process that only serves imports it to queue jobs. `ports`, `work` and `runner` are for the
processes that run them, and bring the learning libraries with them.
"""

from __future__ import annotations

from enum import StrEnum


class JobKind(StrEnum):
    """What a job does; `autoprog.jobs.work.WORK` says how."""

    DIAGNOSIS_TREE = "diagnosis_tree"
    TEST_SELECTION_TRAINING = "test_selection_training"
    TEST_SELECTION_REPLAY = "test_selection_replay"
    TEST_FRONTIER = "test_frontier"


__all__ = ["JobKind"]
