"""A dispatcher without processes, for tests of what a search makes of outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from autoprog.search.ports import Call, CallLimits, CallOutcome, CallStatus


class InlineDispatcher:
    """Runs calls one after another in this thread.

    Parameters
    ----------
    before : callable (number of the call over all runs) -> CallStatus or None
        Called before each call; a status that it returns becomes the call's outcome.
    """

    slots = 1

    def __init__(self, before: Callable[[int], CallStatus | None] = lambda _: None) -> None:
        self._before = before
        self.calls = 0

    def run(self, calls: Sequence[Call], limits: CallLimits, stop: Callable[[], bool]) -> Iterator[CallOutcome]:
        # Last first: what a search remembers must not depend on the order of arrival.
        for call in reversed(calls):
            forced = self._before(self.calls)
            self.calls += 1
            if stop():
                yield CallOutcome(call.key, CallStatus.CANCELLED)
            elif forced is not None:
                yield CallOutcome(call.key, forced, reason="as the test says")
            else:
                yield self._outcome(call)

    def _outcome(self, call: Call) -> CallOutcome:
        try:
            return CallOutcome(call.key, CallStatus.SUCCEEDED, call.function(*call.arguments), duration_s=0.01)
        except Exception as error:  # noqa: BLE001  as the engine does
            return CallOutcome(call.key, CallStatus.FAILED, reason=f"{type(error).__name__}: {error}")
