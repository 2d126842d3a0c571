"""The table of jobs: how each kind is done, and where it is stopped."""

from __future__ import annotations

from collections.abc import Mapping

from autoprog.jobs import JobKind
from autoprog.jobs.diagnosis import build_diagnosis_tree
from autoprog.jobs.ports import Work
from autoprog.search.ports import CallLimits

WORK: Mapping[JobKind, Work] = {
    JobKind.DIAGNOSIS_TREE: Work(build_diagnosis_tree, CallLimits(time_s=1800, memory_mb=4096)),
}
