"""What a model's file says of itself: its format, and what its members are."""

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
    """The manifest; raises ArtifactError where there is none, or it is of another format."""
    try:
        manifest: Mapping[str, Any] = json.loads(files[MANIFEST])
        written = manifest["format"]
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError("this is no file of a prognostic model: it has no manifest") from error
    if written not in FORMATS:
        raise ArtifactError(f"the model's file has format {written!r}; this version reads formats {FORMATS}")
    return manifest


def read_features(documents: Sequence[Mapping[str, Any]]) -> tuple[Feature, ...]:
    """The features that `dataclasses.asdict` made documents of."""
    return tuple(Feature(**{**f, "levels": tuple(f["levels"])}) for f in documents)


def read_members(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> tuple[Member, ...]:
    """Members with their weights and windows; raises KeyError where a file is absent."""
    weights = manifest["weights"]
    windows = manifest.get("member_windows", [None] * len(weights))
    rows = enumerate(zip(weights, windows, strict=False))  # weights that do not sum to 1 are found later
    return tuple(Member(weight, files[member_name(i)], window) for i, (weight, window) in rows)


def read_windows(manifest: Mapping[str, Any]) -> WindowSchema | None:
    """The schema of a model of visits; None for any other."""
    document = manifest.get("windows")
    return document and WindowSchema(read_features(document["features"]), tuple(document["varying"]))


def read_intervals(manifest: Mapping[str, Any]) -> tuple[PatientIntervals, ...]:
    """The intervals of every horizon, or of the one outcome."""
    return tuple(PatientIntervals.from_json(each) for each in manifest.get("intervals", ()))


def read_distribution(manifest: Mapping[str, Any]) -> FeatureDistribution | None:
    """What missing values may be; None where the file does not say."""
    document = manifest.get("distribution")
    return None if document is None else FeatureDistribution.from_json(document)


def member_name(index: int) -> str:
    """The file of a member in the archive."""
    return f"members/{index}.skops"
