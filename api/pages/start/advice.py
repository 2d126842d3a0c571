"""Advice of warnings in the words of the start page, where a click does what a spec's key does for a program."""

from __future__ import annotations

_IN_PLACE_OF = {
    "was it recorded after the outcome? It stays a feature; name it in ignore to leave it out": (
        "was it recorded after the outcome? Leave it out unless it is known when a risk is predicted."
    ),
    "if it means missing, name it in na_values": "tick it above if it means missing",
}


def put_plainly(warning: str) -> str:
    """Replace the advice that a warning has for a spec by what can be done on the page."""
    for for_specs, here in _IN_PLACE_OF.items():
        warning = warning.replace(for_specs, here)
    return warning
