"""Jobs besides the searches: work that takes longer than a request, and its runner.

This module is light, since a process that only serves imports it to queue jobs. `ports`, `work` and `runner` load the
learning libraries.
"""

from __future__ import annotations

from enum import StrEnum


class JobKind(StrEnum):
    """The kind of a job; `autoprog.jobs.work.WORK` maps it to its function."""

    DIAGNOSIS_TREE = "diagnosis_tree"
    TEST_SELECTION_TRAINING = "test_selection_training"
    TEST_SELECTION_REPLAY = "test_selection_replay"
    TEST_FRONTIER = "test_frontier"
    EXPLANATION = "explanation"


__all__ = ["JobKind"]
