"""A cohort as it is stored: one Parquet file that describes itself."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from autoprog.cohort.cohort import Cohort
from autoprog.cohort.outcome import Binary
from autoprog.cohort.schema import Feature
from autoprog.errors import ArtifactError

_KEY = b"autoprog.cohort"
_VERSION = 1


def to_parquet(cohort: Cohort) -> bytes:
    """Write a cohort.

    The columns are the features in order, the outcome, and the groups where there are any; everything else stands in
    the schema's metadata as JSON. The same cohort gives the same bytes, so that their digest names it.

    Parameters
    ----------
    cohort : Cohort
        What to store.

    Returns
    -------
    bytes
        The file.
    """
    arrays = [pa.array(x) for x in cohort.X.T]
    names = [feature.name for feature in cohort.features]
    arrays.append(pa.array(cohort.y))
    names.append(cohort.outcome.column)
    if cohort.groups is not None:
        arrays.append(pa.array(cohort.groups))
        names.append("groups")
    description = {
        "version": _VERSION,
        "name": cohort.name,
        "mode": cohort.mode,
        "outcome": asdict(cohort.outcome),
        "features": [asdict(feature) for feature in cohort.features],
        "has_groups": cohort.groups is not None,
    }
    fields = [pa.field(name, array.type, nullable=False) for name, array in zip(names, arrays, strict=True)]
    schema = pa.schema(fields, metadata={_KEY: json.dumps(description, sort_keys=True).encode()})
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), out, compression="zstd")
    return out.getvalue()


def from_parquet(source: bytes | Path | BinaryIO) -> Cohort:
    """Read back what `to_parquet` wrote.

    Parameters
    ----------
    source : bytes, Path or file
        The file.

    Returns
    -------
    Cohort
        Equal to the one that was written, bit by bit.

    Raises
    ------
    ArtifactError
        If it is no such file, or damaged.
    """
    try:
        table = pq.ParquetFile(io.BytesIO(source) if isinstance(source, bytes) else source).read()
        description = json.loads((table.schema.metadata or {})[_KEY])
        if description["version"] != _VERSION:
            msg = f"the cohort's file has format {description['version']}; this version reads {_VERSION}"
            raise ArtifactError(msg)
        return _cohort(table, description)
    except FileNotFoundError as error:
        msg = "the cohort's file is not there"
        raise ArtifactError(msg) from error
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError) as error:
        msg = "this is no cohort's file, or it is damaged"
        raise ArtifactError(msg) from error


def _cohort(table: pa.Table, description: dict[str, Any]) -> Cohort:
    features = tuple(Feature(**{**f, "levels": tuple(f["levels"])}) for f in description["features"])
    columns = [column.to_numpy() for column in table.columns]
    n = len(features)
    return Cohort(
        name=description["name"],
        outcome=Binary(**description["outcome"]),
        features=features,
        X=np.column_stack(columns[:n]).astype(np.float64, copy=False),
        y=columns[n].astype(np.int8, copy=False),
        groups=columns[n + 1].astype(np.int64, copy=False) if description["has_groups"] else None,
    )
