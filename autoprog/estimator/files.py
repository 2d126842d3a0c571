"""An estimator as one file: the model's own, with what is known of the search beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from autoprog.errors import ArtifactError
from autoprog.estimator.archive import SearchArchive
from autoprog.estimator.modes import choose_mode
from autoprog.model import PrognosticModel
from autoprog.model.serialization import pack, unpack

if TYPE_CHECKING:
    from autoprog.estimator.estimator import AutoPrognosis

_FORMAT = 1
_ESTIMATOR, _SEARCH = "estimator.json", "search.json"
_DATABASE, _COHORT = "search.db.zlib", "cohort.parquet"

Estimator = TypeVar("Estimator", bound="AutoPrognosis")


def write_estimator(estimator: AutoPrognosis, model: PrognosticModel, archive: SearchArchive | None) -> bytes:
    """Write an estimator, with its search if one is given."""
    classes, names = (getattr(estimator, name, None) for name in ("classes_", "feature_names_in_"))
    document = {
        "format": _FORMAT,
        "parameters": estimator.get_params(deep=False),
        "classes": None if classes is None else {"type": classes.dtype.str, "values": classes.tolist()},
        "n_features": estimator.n_features_in_,
        "feature_names": None if names is None else names.tolist(),
        "documents": estimator._documents() if hasattr(estimator, "ensemble_") else None,  # noqa: SLF001  our own
    }
    files = unpack(model.to_bytes())
    files[_ESTIMATOR] = json.dumps(document, default=_plain).encode()
    if archive is not None:
        parts = {"spec": archive.spec, "owner": archive.owner, "search_id": archive.search_id}
        files[_SEARCH] = json.dumps({**parts, "planned_warnings": archive.planned_warnings}).encode()
        files[_DATABASE], files[_COHORT] = archive.database, archive.source
    return pack(files, compress=False)


def read_estimator(kind: type[Estimator], content: bytes) -> Estimator:
    """Read an estimator, or one that only predicts from a model's file; raises ArtifactError."""
    files, model = unpack(content), PrognosticModel.from_bytes(content)
    if _ESTIMATOR not in files:
        return _of_model(kind, model)
    try:
        document = json.loads(files[_ESTIMATOR])
        if document["format"] != _FORMAT:
            raise ArtifactError(f"the file has format {document['format']!r}; this version reads {_FORMAT}")
        estimator = kind(**document["parameters"])
        estimator.model_, estimator.horizons_ = model, np.array(model.horizons)
        estimator.n_features_in_ = document["n_features"]
        if document["classes"] is not None:
            of_object = document["classes"]["type"] == "|O"
            dtype = np.dtype(object) if of_object else np.dtype(document["classes"]["type"])
            estimator.classes_ = np.array(document["classes"]["values"], dtype=dtype)
        if document["feature_names"] is not None:
            estimator.feature_names_in_ = np.array(document["feature_names"], dtype=object)
        if document["documents"] is not None:
            estimator._keep_documents(document["documents"])  # noqa: SLF001  our own
        if _SEARCH in files:
            parts = json.loads(files[_SEARCH])
            parts["planned_warnings"] = tuple(parts["planned_warnings"])
            estimator._archive = SearchArchive(files[_DATABASE], files[_COHORT], **parts)  # noqa: SLF001  our own
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"the estimator's file is incomplete or damaged: {error}") from error
    return estimator


def _of_model(kind: type[Estimator], model: PrognosticModel) -> Estimator:
    if model.windows is not None:
        raise ArtifactError("the model is of visits, which PrognosticModel.from_bytes(content).predict takes")
    estimator = kind(mode=cast("Any", model.outcome.mode))
    estimator.model_, estimator.horizons_ = model, np.array(model.horizons)
    names = [feature.name for feature in model.inputs]
    estimator.n_features_in_, estimator.feature_names_in_ = len(names), np.array(names, dtype=object)
    choose_mode(estimator.mode).restore(estimator, model)
    return estimator


def _plain(value: object) -> object:
    """Parameters that JSON does not know: numbers of numpy, sequences and mappings; a random state is not kept."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    msg = f"a {type(value).__name__} cannot be saved"
    raise TypeError(msg)
