"""The warning of patients whom the model knows little about."""

from __future__ import annotations

import warnings
from collections.abc import Sequence


class ExtrapolationWarning(UserWarning):
    """Patients differ from those that the model was fitted to, so that their risks are less certain."""


def warn_of_unusual(texts: Sequence[str], stacklevel: int) -> None:
    """Warn once of all unusual values."""
    if texts:
        warnings.warn("; ".join(texts), ExtrapolationWarning, stacklevel=stacklevel + 1)
