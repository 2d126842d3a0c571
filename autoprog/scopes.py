"""Scopes of keys and people."""

from __future__ import annotations

from typing import Literal, get_args

Scope = Literal["read", "write", "predict", "approve", "admin"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Read resources; make, cancel and delete them; ask models for predictions; approve and retire models; make and revoke
keys, end sessions and block people."""
