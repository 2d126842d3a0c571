"""Outputs of all arms for many patients, as a file."""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from typing import Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from autoprog.errors import ArtifactError


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """Input of `replay`."""

    predictions: NDArray[np.int8]  # 0 or 1, one row per patient and one column per arm
    truth: NDArray[np.int8] | None  # the outcome, if known

    def to_bytes(self) -> bytes:
        """Write the table as a compressed file, one bit per value."""
        file = io.BytesIO()
        arrays = {"shape": np.array(self.predictions.shape), "predictions": np.packbits(self.predictions)}
        if self.truth is not None:
            arrays["truth"] = np.packbits(self.truth)
        np.savez_compressed(file, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read what `to_bytes` wrote, or raise ArtifactError; nothing in it is executed."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                rows, n = file["shape"].tolist()
                predictions = np.unpackbits(file["predictions"], count=rows * n).reshape(rows, n).astype(np.int8)
                truth = np.unpackbits(file["truth"], count=rows).astype(np.int8) if "truth" in file else None
                return cls(predictions, truth)
        except (BadZipFile, zlib.error, OSError, ValueError, KeyError, EOFError) as error:
            raise ArtifactError(f"the table of predictions is damaged: {error}") from error
