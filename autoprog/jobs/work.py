"""The table of jobs: the function and the limits of each kind."""

from __future__ import annotations

from collections.abc import Mapping

from autoprog.jobs import JobKind
from autoprog.jobs.diagnosis import build_diagnosis_tree
from autoprog.jobs.ports import Work
from autoprog.jobs.test_selection import replay_table, trace_test_frontier, train_classifiers
from autoprog.work import CallLimits

WORK: Mapping[JobKind, Work] = {
    JobKind.DIAGNOSIS_TREE: Work(build_diagnosis_tree, CallLimits(time_s=1800, memory_mb=4096)),
    JobKind.TEST_SELECTION_TRAINING: Work(train_classifiers, CallLimits(time_s=4 * 3600, memory_mb=4096)),
    JobKind.TEST_SELECTION_REPLAY: Work(replay_table, CallLimits(time_s=4 * 3600, memory_mb=4096)),
    JobKind.TEST_FRONTIER: Work(trace_test_frontier, CallLimits(time_s=4 * 3600, memory_mb=4096)),
}
