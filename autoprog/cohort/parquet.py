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
from numpy.typing import NDArray

from autoprog.cohort.cohort import Cohort
from autoprog.cohort.outcome import outcome_from_json
from autoprog.cohort.schema import Feature
from autoprog.cohort.visits import VisitTable
from autoprog.errors import ArtifactError

_KEY = b"autoprog.cohort"
_VERSION = 2
_READ_VERSIONS = (1, 2)  # version 1 had binary outcomes alone


def to_parquet(cohort: Cohort) -> bytes:
    """Write a cohort.

    The columns are the features in order, the outcome, and, where there are any, the follow-up times, the groups, and
    the visits' patients and times; everything else stands in the schema's metadata as JSON. The same cohort gives the
    same bytes, so that their digest names it.

    Parameters
    ----------
    cohort : Cohort
        What to store.

    Returns
    -------
    bytes
        The file.
    """
    columns: list[tuple[str, NDArray[Any]]] = [(f.name, x) for f, x in zip(cohort.features, cohort.X.T, strict=True)]
    columns.append(("outcome", cohort.y))
    if cohort.time is not None:
        columns.append(("time", cohort.time))
    if cohort.groups is not None:
        columns.append(("groups", cohort.groups))
    if cohort.visits is not None:
        columns += [("patient", cohort.visits.patient), ("visit_time", cohort.visits.time)]
    description = {
        "version": _VERSION,
        "name": cohort.name,
        "mode": cohort.mode,
        "outcome": asdict(cohort.outcome),
        "features": [asdict(feature) for feature in cohort.features],
        "has_time": cohort.time is not None,
        "has_groups": cohort.groups is not None,
        "has_visits": cohort.visits is not None,
    }
    arrays = [pa.array(values) for _, values in columns]
    fields = [pa.field(name, array.type, nullable=False) for (name, _), array in zip(columns, arrays, strict=True)]
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
        if description["version"] not in _READ_VERSIONS:
            msg = f"the cohort's file has format {description['version']}; this version reads 1 to {_VERSION}"
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
    rest = iter(columns[n:])
    y = next(rest).astype(np.int8, copy=False)
    time = next(rest).astype(np.float64, copy=False) if description.get("has_time") else None
    groups = next(rest).astype(np.int64, copy=False) if description["has_groups"] else None
    visits = None
    if description.get("has_visits"):
        visits = VisitTable(next(rest).astype(np.int64, copy=False), next(rest).astype(np.float64, copy=False))
    return Cohort(
        name=description["name"],
        outcome=outcome_from_json(description["outcome"]),
        features=features,
        X=np.column_stack(columns[:n]).astype(np.float64, copy=False),
        y=y,
        groups=groups,
        time=time,
        visits=visits,
    )
