"""The command line: `autoprog serve`, `search`, `predict` and the parts of an installation."""

from __future__ import annotations

import signal
import sys

import psutil

from autoprog.cli import administration, searching, serving  # noqa: F401  they add their commands
from autoprog.cli.commands import app
from autoprog.cli.common import fail
from autoprog.errors import AutoprogError, Fault, InvalidInputError
from autoprog.extras import explain_missing

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; a named error prints one line per fault and exits with code 2, without a traceback."""
    # By default, the running search would wait until its lease ends, and the demo would leave its server running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        app(obj=psutil.Process().create_time())
    except ModuleNotFoundError as error:
        if (missing := explain_missing(error, "this command")) is None:
            raise
        fail(str(missing))
    except InvalidInputError as error:
        fail(*map(_fault_line, error.faults))
    except AutoprogError as error:
        fail(str(error))
    except OSError as error:
        if error.filename is None:
            raise
        fail(f"{error.filename}: {error.strerror}")


def _fault_line(fault: Fault) -> str:
    values = f"; among them {', '.join(fault.values)}" if fault.values else ""
    detail = fault.detail.replace("name them in na_values", "name them by --missing")  # what a spec calls it
    return f"{fault.pointer}: {detail}{values}"
