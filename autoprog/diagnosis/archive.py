"""Named arrays in one file: written alike every time, read without running code."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.errors import ArtifactError


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Write arrays of numbers.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        By name.

    Returns
    -------
    bytes
        A compressed npz archive; the same arrays give the same bytes.
    """
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def unpack_arrays(data: bytes, what: str) -> dict[str, NDArray[Any]]:
    """Read what `pack_arrays` wrote.

    Parameters
    ----------
    data : bytes
        The whole archive.
    what : str
        What it should be, for the error's text.

    Returns
    -------
    dict of str to ndarray
        By name.

    Raises
    ------
    ArtifactError
        If the bytes are something else.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, KeyError, OSError, EOFError, AttributeError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        msg = f"the stored {what} cannot be read"
        raise ArtifactError(msg) from error
