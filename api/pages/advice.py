"""Advice of warnings and faults in the words of the pages, where a click does what a key does for a program."""

from __future__ import annotations

_IN_PLACE_OF = {
    "was it recorded after the outcome? It stays a feature; name it in ignore to leave it out": (
        "was it recorded after the outcome? Leave it out unless it is known when a risk is predicted."
    ),
    "if it means missing, name it in na_values": "tick it above if it means missing",
    "correct them, name them in na_values, or declare the column categorical": (
        "correct them in the file, tick them above if they mean missing, or choose “Category”"
    ),
    "a test measures features of a cohort: give `cohort_id` too": "choose the patients to learn from too",
}


def put_plainly(said: str) -> str:
    """Replace advice for a program by what can be done on the page."""
    for for_programs, here in _IN_PLACE_OF.items():
        said = said.replace(for_programs, here)
    return said
