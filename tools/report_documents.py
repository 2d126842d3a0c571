"""Makes the documents of `tests/report/data`: real searches of some seconds, without what no text is written from.

Run: python -m tools.report_documents
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.report.searching import KINDS, search

_TARGET = Path(__file__).parents[1] / "tests" / "report" / "data"
_SECONDS = 20.0
_DRAWN = ("calibration_curve", "calibration_groups", "risk_distribution", "points", "curves", "risks", "path")


def trimmed(document: Any) -> Any:  # noqa: ANN401  JSON
    """Leave out what is only drawn, and decision curves between the ends of their range."""
    if isinstance(document, list):
        return [trimmed(each) for each in document]
    if not isinstance(document, dict):
        return document
    if "thresholds" in document and "treat_all" in document:
        return _ends(document)
    return {key: trimmed(value) for key, value in document.items() if key not in _DRAWN}


def _ends(curve: dict[str, Any]) -> dict[str, Any]:
    """A decision curve at the ends of its range."""
    kept = [k for k, t in enumerate(curve["thresholds"]) if any(abs(t - end) < 1e-9 for end in curve["range"])]

    def chosen(value: Any) -> Any:  # noqa: ANN401  JSON
        if isinstance(value, dict):
            return {key: chosen(each) for key, each in value.items()}
        return [value[k] for k in kept] if isinstance(value, list) else value

    return {key: value if key == "range" else chosen(value) for key, value in curve.items()}


def main() -> None:
    """Write one file a kind of outcome."""
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            found = trimmed(search(kind, Path(folder), seconds=_SECONDS, validate=True))
        (_TARGET / f"{kind}.json").write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
