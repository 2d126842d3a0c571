"""Name, owner and scopes of a person, from the claims of the identity provider's token."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.problems import ForbiddenError
from autoprog.scopes import SCOPES
from autoprog.settings import SingleSignOn

_MAX_NAME = 200
_DIGITS = 12  # of the digest, in place of a name
_NAMES = ("preferred_username", "email", "name", "sub")


@dataclass(frozen=True, slots=True)
class Identity:
    """A person or program of the identity provider.

    Attributes
    ----------
    subject_sha256 : str
        Digest of issuer, subject and owner: the same for every token of the same person with the same owner.
    name : str
        As people know her, for settings and audit trail.
    owner : str
        Name of the owner for whom she works.
    scopes : frozenset of str
        What she may do; empty for whoever has no role here.
    """

    subject_sha256: str
    name: str
    owner: str
    scopes: frozenset[str]


def read_identity(claims: Mapping[str, Any], settings: SingleSignOn) -> Identity:
    """Read owner and scopes from verified claims; raises ForbiddenError if they name no owner."""
    owner = settings.owner or _read_owner(claims, settings.owner_claim or "")
    given = _values(claims.get(settings.scopes_claim))
    scopes = frozenset(scope for value in given for scope in settings.roles.get(value, (value,)) if scope in SCOPES)
    parts = (settings.issuer, str(claims["sub"]), owner)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    name = next((text for text in (_text(claims.get(claim)) for claim in _NAMES) if text), digest[:_DIGITS])
    return Identity(digest, name, owner, scopes)


def _read_owner(claims: Mapping[str, Any], owner_claim: str) -> str:
    """The owner that a claim names, as a text or as a list of one; raises ForbiddenError."""
    value = claims.get(owner_claim)
    if value is None:
        raise ForbiddenError(f"your account names no organisation: its claim {owner_claim!r} is missing")
    given = value[0] if isinstance(value, list) and len(value) == 1 else value
    owner = _text(given)
    # As it is: two organisations whose names differ in what is not seen, or at their ends, must not become one owner.
    if not owner or owner != given:
        raise ForbiddenError(
            f"your account names no organisation: its claim {owner_claim!r} is not one name of at most {_MAX_NAME} "
            "visible characters, without blanks at its ends"
        )
    return owner


def _text(value: object) -> str:
    """A claim as a name that can be shown; empty if it is none."""
    return "".join(c for c in value if c.isprintable()).strip()[:_MAX_NAME] if isinstance(value, str) else ""


def _values(value: object) -> list[str]:
    """The values of a claim that is a list, or a text with spaces between them."""
    if isinstance(value, str):
        return value.split()
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
