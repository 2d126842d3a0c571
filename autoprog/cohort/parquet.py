"""Store a cohort as one self-describing Parquet file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from autoprog.cohort.cohort import Cohort
from autoprog.cohort.outcome import outcome_from_json, outcome_to_json
from autoprog.cohort.schema import Feature
from autoprog.cohort.visits import EarlierVisits, VisitTable
from autoprog.errors import ArtifactError

_KEY = b"autoprog.cohort"
_VERSION = 3
_READ_VERSIONS = (1, 2, 3)  # 1: only binary outcomes; 2: no visits without an outcome
_WITHOUT_EARLIER = 2  # written as version 2, so that the digest stays the same
_NO_OUTCOME = -1


def to_parquet(cohort: Cohort) -> bytes:
    """Write a cohort.

    The columns are the features in order, the outcome and, if present, follow-up times, groups, the patients and times
    of visits, and the sampled patients whose copies rows are; the schema's metadata holds the rest as JSON. Visits
    without an outcome are the last rows. Equal cohorts give equal bytes, so that their digest names them.

    Parameters
    ----------
    cohort : Cohort
        The cohort to store.

    Returns
    -------
    bytes
        The file.
    """
    earlier = None if cohort.visits is None else cohort.visits.earlier
    n_earlier = 0 if earlier is None else len(earlier.time)
    X = cohort.X if earlier is None else np.concatenate([cohort.X, earlier.X])
    columns: list[tuple[str, NDArray[Any]]] = [(f.name, x) for f, x in zip(cohort.features, X.T, strict=True)]
    columns.append(("outcome", _padded(cohort.y, n_earlier)))
    if cohort.time is not None:
        columns.append(("time", _padded(cohort.time, n_earlier)))
    if cohort.groups is not None:
        columns.append(("groups", _padded(cohort.groups, n_earlier)))
    if cohort.visits is not None:
        patient, time = cohort.visits.patient, cohort.visits.time
        if earlier is not None:
            patient, time = np.concatenate([patient, earlier.patient]), np.concatenate([time, earlier.time])
        columns += [("patient", patient), ("visit_time", time)]
    if cohort.sampled is not None:
        columns.append(("sampled", cohort.sampled))
    description = {
        "version": _VERSION if n_earlier else _WITHOUT_EARLIER,
        "name": cohort.name,
        "mode": cohort.mode,
        "outcome": outcome_to_json(cohort.outcome),
        "features": [feature.to_json() for feature in cohort.features],
        "has_time": cohort.time is not None,
        "has_groups": cohort.groups is not None,
        "has_visits": cohort.visits is not None,
        **({"n_earlier": n_earlier} if n_earlier else {}),
        **({"has_weights": True} if cohort.sampled is not None else {}),
        **({"na_values": cohort.na_values} if cohort.na_values else {}),
    }
    arrays = [pa.array(values) for _, values in columns]
    fields = [pa.field(name, array.type, nullable=False) for (name, _), array in zip(columns, arrays, strict=True)]
    schema = pa.schema(fields, metadata={_KEY: json.dumps(description, sort_keys=True).encode()})
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), out, compression="zstd")
    return out.getvalue()


def _padded(values: NDArray[Any], n: int) -> NDArray[Any]:
    """Append `n` rows without an outcome."""
    return np.concatenate([values, np.full(n, _NO_OUTCOME, dtype=values.dtype)]) if n else values


def from_parquet(source: bytes | Path | BinaryIO) -> Cohort:
    """Read what `to_parquet` wrote.

    Parameters
    ----------
    source : bytes, Path or file
        The file.

    Returns
    -------
    Cohort
        Equal to the original, bit by bit.

    Raises
    ------
    ArtifactError
        If the file is missing, damaged or not a cohort's.
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
    X = np.column_stack(columns[:n]).astype(np.float64, copy=False)
    n_rows = len(X) - int(description.get("n_earlier", 0))
    rest = iter(columns[n:])
    y = next(rest).astype(np.int8, copy=False)
    time = next(rest).astype(np.float64, copy=False) if description.get("has_time") else None
    groups = next(rest).astype(np.int64, copy=False) if description["has_groups"] else None
    visits = None
    if description.get("has_visits"):
        patient, at = next(rest).astype(np.int64, copy=False), next(rest).astype(np.float64, copy=False)
        earlier = EarlierVisits(X[n_rows:], patient[n_rows:], at[n_rows:]) if n_rows < len(X) else None
        visits = VisitTable(patient[:n_rows], at[:n_rows], earlier)
    sampled = next(rest).astype(np.int64, copy=False) if description.get("has_weights") else None
    return Cohort(
        name=description["name"],
        outcome=outcome_from_json(description["outcome"]),
        features=features,
        X=X[:n_rows],
        y=y[:n_rows],
        groups=None if groups is None else groups[:n_rows],
        time=None if time is None else time[:n_rows],
        visits=visits,
        na_values=tuple(description.get("na_values", ())),
        sampled=sampled,
    )
