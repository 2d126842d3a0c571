"""Work that does not end by itself."""

from __future__ import annotations

import time

from autoprog.jobs.ports import Job, JobResult


def hang(job: Job) -> JobResult:
    time.sleep(600)
    return JobResult({})
