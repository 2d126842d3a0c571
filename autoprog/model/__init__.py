"""The fitted model: it predicts, and is stored as one file."""

from autoprog.model.model import Member, ModelMetadata, PatientRisk, PrognosticModel
from autoprog.model.serialization import allowed_types, dump_estimator, load_estimator

__all__ = [
    "Member",
    "ModelMetadata",
    "PatientRisk",
    "PrognosticModel",
    "allowed_types",
    "dump_estimator",
    "load_estimator",
]
