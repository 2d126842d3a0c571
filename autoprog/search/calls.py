"""Running a fixed list of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from autoprog.search.ports import Call, CallLimits, CallOutcome, Dispatcher


def run_calls(
    dispatcher: Dispatcher, calls: Sequence[Call], limits: CallLimits, stop: Callable[[], bool]
) -> Iterator[CallOutcome]:
    """Run calls with distinct keys and yield every outcome as it comes; closing the iterator kills what still runs."""
    with dispatcher.open(stop) as queue:
        for call in calls:
            queue.submit(call, limits)
        yield from queue.outcomes()
