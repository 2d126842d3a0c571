"""Manifest of a model's file: its format and the description of its members."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from autoprog.cohort import Feature, WindowSchema
from autoprog.errors import ArtifactError
from autoprog.model.members import Member
from autoprog.validation import FeatureDistribution, PatientIntervals

FORMAT = 3
FORMATS = (1, 2, FORMAT)

MANIFEST = "manifest.json"


def read_manifest(files: Mapping[str, bytes]) -> Mapping[str, Any]:
    """Read the manifest; raises ArtifactError if it is missing or of another format."""
    try:
        manifest: Mapping[str, Any] = json.loads(files[MANIFEST])
        written = manifest["format"]
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError("this is no file of a prognostic model: it has no manifest") from error
    if written not in FORMATS:
        raise ArtifactError(f"the model's file has format {written!r}; this version reads formats {FORMATS}")
    return manifest


def read_features(documents: Sequence[Mapping[str, Any]]) -> tuple[Feature, ...]:
    """Read features from documents made by `dataclasses.asdict`."""
    return tuple(Feature(**{**f, "levels": tuple(f["levels"])}) for f in documents)


def read_members(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> tuple[Member, ...]:
    """Read the members with their weights and windows; raises KeyError if a file is absent."""
    weights = manifest["weights"]
    windows = manifest.get("member_windows", [None] * len(weights))
    rows = enumerate(zip(weights, windows, strict=False))  # weights that do not sum to 1 are found later
    return tuple(Member(weight, files[member_name(i)], window) for i, (weight, window) in rows)


def read_windows(manifest: Mapping[str, Any]) -> WindowSchema | None:
    """Read the schema of a model of visits; None for any other."""
    document = manifest.get("windows")
    return document and WindowSchema(read_features(document["features"]), tuple(document["varying"]))


def read_intervals(manifest: Mapping[str, Any]) -> tuple[PatientIntervals, ...]:
    """Read the intervals of every horizon, or of the one outcome."""
    return tuple(PatientIntervals.from_json(each) for each in manifest.get("intervals", ()))


def read_distribution(manifest: Mapping[str, Any]) -> FeatureDistribution | None:
    """Read the distribution of the features; None if the file has none."""
    document = manifest.get("distribution")
    return None if document is None else FeatureDistribution.from_json(document)


def member_name(index: int) -> str:
    """Name of a member's file in the archive."""
    return f"members/{index}.skops"
