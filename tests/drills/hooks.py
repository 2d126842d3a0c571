"""What Schemathesis checks of each response besides its own checks; it imports this file in its own environment."""

from __future__ import annotations

import atexit
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import schemathesis

_FOREIGN = frozenset(os.environ.get("FOREIGN_IDENTIFIERS", "").split())
_STATUSES: Counter[int] = Counter()


@atexit.register
def _write_statuses() -> None:
    if "STATUSES" in os.environ:
        Path(os.environ["STATUSES"]).write_text(json.dumps(_STATUSES))


@schemathesis.check
def no_foreign_identifier(_context: Any, response: Any, case: Any) -> None:
    """Fail if a response holds an identifier of another owner that the request did not name itself."""
    _STATUSES[response.status_code] += 1
    text, asked = response.text, f"{case.formatted_path} {case.body!r} {case.query!r}"
    told = [identifier for identifier in _FOREIGN if identifier in text and identifier not in asked]
    assert not told, f"the response names {told[0]}, which is another owner's"
