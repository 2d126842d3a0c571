"""A model as one file: an archive of its manifest and its members."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

from autoprog.cohort import outcome_from_json
from autoprog.errors import ArtifactError
from autoprog.interpreter import rule_sets_from, rules_document
from autoprog.model.archive import pack, unpack
from autoprog.model.manifest import (
    FORMAT,
    MANIFEST,
    member_name,
    read_distribution,
    read_features,
    read_intervals,
    read_manifest,
    read_members,
    read_windows,
)
from autoprog.model.members import ModelMetadata
from autoprog.validation import Recalibration

if TYPE_CHECKING:
    from autoprog.model.model import PrognosticModel

BEFORE_INTERVALS = "none was estimated when this model was made"
"""Interval method of models whose formats had no intervals."""

Model = TypeVar("Model", bound="PrognosticModel")


def write_model(model: PrognosticModel) -> bytes:
    """Write a model; the same bytes for the same model."""
    manifest = {
        "format": FORMAT,
        "features": [asdict(feature) for feature in model.features],
        "outcome": asdict(model.outcome),
        "weights": [member.weight for member in model.members],
        "windows": None if model.windows is None else asdict(model.windows),
        "member_windows": [member.window for member in model.members],
        "rules": rules_document(model.rule_sets, model.horizons),
        "metadata": asdict(model.metadata),
        "recalibration": model.recalibration.to_json(),
        "competing": [each.to_json() for each in model.competing],
        "distribution": None if model.distribution is None else model.distribution.to_json(),
        "scale": model.scale,
        "intervals": [each.to_json() for each in model.intervals],
        "interval_method": model.interval_method,
    }
    files = {MANIFEST: json.dumps(manifest, indent=1, allow_nan=False).encode()}
    files |= {member_name(index): member.artifact for index, member in enumerate(model.members)}
    return pack(files, compress=False)


def read_model(kind: type[Model], content: bytes) -> Model:
    """Read a model of this class; raises ArtifactError if the file holds none."""
    files = unpack(content)
    manifest = read_manifest(files)
    try:
        model = kind(
            read_features(manifest["features"]),
            outcome_from_json(manifest["outcome"]),
            read_members(manifest, files),
            rule_sets_from(manifest["rules"]),
            ModelMetadata(**manifest["metadata"]),
            Recalibration(**manifest["recalibration"]),
            # Earlier formats lack the following.
            manifest.get("scale", "risk"),
            read_intervals(manifest),
            manifest.get("interval_method", BEFORE_INTERVALS),
            read_windows(manifest),
            tuple(Recalibration(**each) for each in manifest.get("competing", ())),
            read_distribution(manifest),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"the model's file is incomplete or damaged: {error}") from error
    answers = "cumulative_incidence" if model.horizons else "predict_proba"
    if not all(hasattr(member.estimator, answers) for member in model.members):
        raise ArtifactError("a member of the model's file is no fitted pipeline for its outcome")
    return model
