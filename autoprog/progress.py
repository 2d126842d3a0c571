"""Progress of a search on one line: in a terminal, in a notebook, as plain lines in a file, or silent."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Any, Protocol, Self

_LINE_S = 5.0


class ProgressLine(Protocol):
    """One line that shows how far a search is."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(self, *_: object) -> None:
        """Leave the last line as it is."""

    def update(self, text: str, done_s: float, total_s: float) -> None:
        """Show a text, with the seconds of the budget that are spent."""

    def note(self, text: str) -> None:
        """Show a text once, above or below the line."""


def open_progress(verbose: int | None) -> ProgressLine:
    """Choose the line: none for 0; where nobody would see it, plain lines for 1 and none for None."""
    if verbose == 0:
        return SilentLine()
    if (display := _notebook_display()) is not None:
        return NotebookLine(display)
    if sys.stderr.isatty():
        return TerminalLine()
    return SilentLine() if verbose is None else PlainLines()


class SilentLine:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, text: str, done_s: float, total_s: float) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""


class PlainLines(SilentLine):
    """A line on stderr every five seconds."""

    def __init__(self) -> None:
        self._last_s = -_LINE_S

    def __enter__(self) -> Self:
        self.note("starting")
        return self

    def update(self, text: str, done_s: float, total_s: float) -> None:
        """Print, unless the last line is younger than five seconds."""
        if time.monotonic() - self._last_s >= _LINE_S:
            self._last_s = time.monotonic()
            self.note(f"{done_s:.0f} of {total_s:.0f} s, {text}")

    def note(self, text: str) -> None:
        """Print."""
        print(text, file=sys.stderr, flush=True)  # noqa: T201


class TerminalLine:
    """A bar at the foot of the terminal."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415  only where there is a terminal
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        self._bar = Progress(
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, text: str, done_s: float, total_s: float) -> None:
        """Move the bar."""
        self._bar.update(self._task, description=text, completed=min(done_s, total_s), total=total_s)

    def note(self, text: str) -> None:
        """Print above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)


class NotebookLine:
    """An output of the cell that changes in place."""

    def __init__(self, display: Any) -> None:  # noqa: ANN401  IPython has no types here
        self._display = display
        self._handle: Any = None
        self._notes: list[str] = []

    def __enter__(self) -> Self:
        self._handle = self._display(self._document("starting", 0.0, 1.0), raw=True, display_id=True)
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, text: str, done_s: float, total_s: float) -> None:
        """Replace the output."""
        self._handle.update(self._document(text, done_s, total_s), raw=True)

    def note(self, text: str) -> None:
        """Keep a text below the line."""
        self._notes.append(text)

    def _document(self, text: str, done_s: float, total_s: float) -> dict[str, str]:
        lines = [f"{done_s:.0f} of {total_s:.0f} s, {text}", *self._notes]
        bar = f'<progress max="{total_s:.0f}" value="{min(done_s, total_s):.0f}"></progress> '
        return {"text/plain": "\n".join(lines), "text/html": bar + "<br>".join(map(escape, lines))}


def _notebook_display() -> Any | None:  # noqa: ANN401  IPython has no types here
    """IPython's `display` if a notebook runs this, else None."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # noqa: PLC0415  it runs already

    return display
