"""A fixed list of calls, for those who need no more than their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from autoprog.search.ports import Call, CallLimits, CallOutcome, Dispatcher


def run_calls(
    dispatcher: Dispatcher, calls: Sequence[Call], limits: CallLimits, stop: Callable[[], bool]
) -> Iterator[CallOutcome]:
    """Run calls and tell of each when it ends; an iterator that is closed early kills what still runs.

    Parameters
    ----------
    dispatcher : Dispatcher
        Runs them.
    calls : sequence of Call
        What to run, in this order as slots come free; their keys must differ.
    limits : CallLimits
        Of each call.
    stop : callable () -> bool
        Polled; when it turns true, running calls are killed and the rest is not started.

    Yields
    ------
    CallOutcome
        One a call, in the order in which they end; cancelled ones too.

    Raises
    ------
    ValueError
        If two calls have the same key.
    EngineUnavailableError
        When no worker can be reached.
    """
    with dispatcher.open(stop) as queue:
        for call in calls:
            queue.submit(call, limits)
        yield from queue.outcomes()
