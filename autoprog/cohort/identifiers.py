"""Identifiers of a cohort's patients as keyed digests: a patient can be found by identifier, and no identifier is read.

The digests are stored in a file of their own, never with the patients' values.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import canonical_text
from autoprog.errors import ArtifactError

_MAGIC = b"autoprog.identifiers.1\n"
_SALT, _DIGEST = 32, 16


@dataclass(frozen=True, eq=False)
class PatientIdentifiers:
    """Digests of the identifiers of a stored cohort's rows.

    Attributes
    ----------
    digests : ndarray, shape = (n_stored,)
        16 bytes for each row of the cohort and then for each earlier visit; equal for rows of one patient.
    salt : bytes
        Key of the digests, random for each cohort, so that digests of two cohorts cannot be joined.
    """

    digests: NDArray[np.void]
    salt: bytes

    @classmethod
    def of(cls, identifiers: Sequence[str], codes: NDArray[np.int64]) -> Self:
        """Make the digests of rows from distinct identifiers and, for each row, an index into them."""
        salt = secrets.token_bytes(_SALT)
        distinct = b"".join(_digest(salt, identifier) for identifier in identifiers)
        return cls(np.frombuffer(distinct, dtype=f"V{_DIGEST}")[codes], salt)

    def find(self, identifier: object) -> NDArray[np.bool_]:
        """Rows of the patient with this identifier, which is compared as cells are: 7, `"7"` and `"07"` are one."""
        wanted = np.frombuffer(_digest(self.salt, canonical_text(identifier)), dtype=f"V{_DIGEST}")
        found: NDArray[np.bool_] = self.digests == wanted
        return found

    def take(self, kept: NDArray[np.bool_]) -> Self:
        """Keep the rows that a mask selects."""
        return replace(self, digests=self.digests[kept])

    def to_bytes(self) -> bytes:
        """Write the digests and their key as a file."""
        return _MAGIC + self.salt + self.digests.tobytes()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read what `to_bytes` wrote; raises ArtifactError if it is damaged."""
        start = len(_MAGIC) + _SALT
        if not content.startswith(_MAGIC) or len(content) < start or (len(content) - start) % _DIGEST:
            msg = "this is no file of patients' identifiers, or it is damaged"
            raise ArtifactError(msg)
        return cls(np.frombuffer(content, dtype=f"V{_DIGEST}", offset=start), content[len(_MAGIC) : start])


def _digest(salt: bytes, identifier: str) -> bytes:
    # Identifiers may hold half a surrogate pair, as other texts of a file.
    return hashlib.blake2b(identifier.encode("utf-8", "surrogatepass"), key=salt, digest_size=_DIGEST).digest()
