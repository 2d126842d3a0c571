"""What a cohort is asked to predict."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Binary:
    """An outcome that a patient has or has not.

    Attributes
    ----------
    column : str
        The column of the file that holds it.
    positive : str
        The value that means "has it", as canonical text (`"1"`, `"yes"`): see `canonical_text`.
    negative : str
        The other value.
    """

    column: str
    positive: str
    negative: str
