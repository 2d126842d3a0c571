"""The log of a process: one format for its own lines and the libraries', without patients' values."""

from __future__ import annotations

import logging
import sys
import traceback
from types import TracebackType

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from autoprog.settings import Settings

_ExcInfo = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]


def log_to_stderr(settings: Settings, level: int = logging.INFO) -> None:
    """Send all logs to stderr: autoprog's own lines from `level` on, those of libraries from WARNING on."""
    console = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    renderer = structlog.processors.JSONRenderer() if settings.log_json else console
    processors: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        errors_without_text,
    ]
    structlog.configure(
        processors=[*processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    formatting = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=formatting, foreign_pre_chain=processors))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


def log_warnings_only() -> None:
    """Hide lines below a warning unless logging was configured, as it is not in a notebook."""
    if not structlog.is_configured():
        structlog.configure(
            processors=[structlog.processors.add_log_level, errors_without_text, structlog.dev.ConsoleRenderer()],
            wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
            logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        )


def errors_without_text(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace an exception by its type and where it arose: its text may quote a patient's value."""
    error = _find_error(event.pop("exc_info", None))
    if error is not None:
        event["error"] = type(error).__name__
        event["frames"] = [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
    return event


def _find_error(exc_info: bool | BaseException | _ExcInfo | None) -> BaseException | None:  # noqa: FBT001  logging's form
    if isinstance(exc_info, BaseException):
        return exc_info
    if isinstance(exc_info, tuple):
        return exc_info[1]
    return sys.exc_info()[1] if exc_info else None
