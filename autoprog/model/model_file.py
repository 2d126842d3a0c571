"""A model's file: a manifest that describes the model, and its members beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from autoprog.cohort import Feature, WindowSchema, outcome_from_json, outcome_to_json
from autoprog.endpoints import rule_sets_from, rules_document
from autoprog.errors import ArtifactError
from autoprog.model.members import Member, ModelMetadata
from autoprog.model.serialization import keeps_patients, pack, unpack
from autoprog.validation import FeatureDistribution, PatientIntervals, Recalibration

if TYPE_CHECKING:
    from autoprog.model.model import PrognosticModel

_FORMAT = 3
_FORMATS = (1, 2, _FORMAT)

_MANIFEST = "manifest.json"

BEFORE_INTERVALS = "none was estimated when this model was made"
"""Interval method of models whose formats had no intervals."""

Model = TypeVar("Model", bound="PrognosticModel")


def write_model(model: PrognosticModel) -> bytes:
    """Write a model; the same bytes for the same model."""
    manifest = {
        "format": _FORMAT,
        "features": [feature.to_json() for feature in model.features],
        "outcome": outcome_to_json(model.outcome),
        "weights": [member.weight for member in model.members],
        "windows": None if model.windows is None else asdict(model.windows),
        "window": model.window,
        "member_windows": [member.window for member in model.members],
        "rules": rules_document(model.rule_sets, model.horizons),
        "metadata": model.metadata.to_json(),
        "recalibration": model.recalibration.to_json(),
        "competing": [each.to_json() for each in model.competing],
        "distribution": None if model.distribution is None else model.distribution.to_json(),
        "scale": model.scale,
        "intervals": [each.to_json() for each in model.intervals],
        "interval_method": model.interval_method,
    }
    files = {_MANIFEST: json.dumps(manifest, indent=1, allow_nan=False).encode()}
    files |= {_member_name(index): member.artifact for index, member in enumerate(model.members)}
    return pack(files, compress=False)


def read_model(kind: type[Model], content: bytes, *, lazily: bool = False) -> Model:
    """Read a model of this class, or its pipelines `lazily`, on first use; raises ArtifactError if there is none."""
    files = unpack(content)
    manifest = _read_manifest(files)
    try:
        model = kind(
            _read_features(manifest["features"]),
            outcome_from_json(manifest["outcome"]),
            _read_members(manifest, files),
            rule_sets_from(manifest["rules"]),
            ModelMetadata.from_json(manifest["metadata"]),
            Recalibration(**manifest["recalibration"]),
            # Earlier formats lack the following.
            manifest.get("scale", "risk"),
            _read_intervals(manifest),
            manifest.get("interval_method", BEFORE_INTERVALS),
            _read_windows(manifest),
            tuple(Recalibration(**each) for each in manifest.get("competing", ())),
            _read_distribution(manifest),
            manifest.get("window"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"the model's file is incomplete or damaged: {error}") from error
    if not lazily and not all(hasattr(member.estimator, model.outcome.target.answers) for member in model.members):
        raise ArtifactError("a member of the model's file is no fitted pipeline for its outcome")
    return model


def model_keeps_patients(content: bytes) -> bool:
    """Whether a model's file holds rows of training patients. Raises ArtifactError."""
    files = unpack(content)
    members = _read_members(_read_manifest(files), files)
    return any(keeps_patients(member.artifact) for member in members)


def _read_manifest(files: Mapping[str, bytes]) -> Mapping[str, Any]:
    """Read the manifest; raises ArtifactError if it is missing or of another format."""
    try:
        manifest: Mapping[str, Any] = json.loads(files[_MANIFEST])
        written = manifest["format"]
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError("this is no file of a prognostic model: it has no manifest") from error
    if written not in _FORMATS:
        raise ArtifactError(f"the model's file has format {written!r}; this version reads formats {_FORMATS}")
    return manifest


def _read_features(documents: Sequence[Mapping[str, Any]]) -> tuple[Feature, ...]:
    """Read features from documents made by `dataclasses.asdict`."""
    return tuple(Feature(**{**f, "levels": tuple(f["levels"])}) for f in documents)


def _read_members(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> tuple[Member, ...]:
    """Read the members with their weights and windows; raises KeyError if a file is absent."""
    weights = manifest["weights"]
    windows = manifest.get("member_windows", [None] * len(weights))
    rows = enumerate(zip(weights, windows, strict=False))  # weights that do not sum to 1 are found later
    return tuple(Member(weight, files[_member_name(i)], window) for i, (weight, window) in rows)


def _read_windows(manifest: Mapping[str, Any]) -> WindowSchema | None:
    """Read the schema of a model of visits; None for any other."""
    document = manifest.get("windows")
    return document and WindowSchema(_read_features(document["features"]), tuple(document["varying"]))


def _read_intervals(manifest: Mapping[str, Any]) -> tuple[PatientIntervals, ...]:
    """Read the intervals of every horizon, or of the one outcome."""
    return tuple(PatientIntervals.from_json(each) for each in manifest.get("intervals", ()))


def _read_distribution(manifest: Mapping[str, Any]) -> FeatureDistribution | None:
    """Read the distribution of the features; None if the file has none."""
    document = manifest.get("distribution")
    return None if document is None else FeatureDistribution.from_json(document)


def _member_name(index: int) -> str:
    """Name of a member's file in the archive."""
    return f"members/{index}.skops"
