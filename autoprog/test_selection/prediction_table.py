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
    """What `replay` takes.

    Attributes
    ----------
    predictions : ndarray of int8, shape = (rows, n)
        0 or 1: a row a patient, a column an arm.
    truth : ndarray of int8, shape = (rows,), or None
        The outcome, where it is known.
    """

    predictions: NDArray[np.int8]
    truth: NDArray[np.int8] | None

    def to_bytes(self) -> bytes:
        """As a file; a bit a value, compressed."""
        file = io.BytesIO()
        arrays = {"shape": np.array(self.predictions.shape), "predictions": np.packbits(self.predictions)}
        if self.truth is not None:
            arrays["truth"] = np.packbits(self.truth)
        np.savez_compressed(file, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read a table.

        Parameters
        ----------
        content : bytes
            As `to_bytes` wrote it; nothing in it is run.

        Returns
        -------
        PredictionTable
            The same.

        Raises
        ------
        ArtifactError
            If it is damaged.
        """
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                rows, n = file["shape"].tolist()
                predictions = np.unpackbits(file["predictions"], count=rows * n).reshape(rows, n).astype(np.int8)
                truth = np.unpackbits(file["truth"], count=rows).astype(np.int8) if "truth" in file else None
                return cls(predictions, truth)
        except (BadZipFile, zlib.error, OSError, ValueError, KeyError, EOFError) as error:
            raise ArtifactError(f"the table of predictions is damaged: {error}") from error
