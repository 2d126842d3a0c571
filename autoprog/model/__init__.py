"""The fitted model: it predicts, and is stored as one file."""

from autoprog.model.model import Member, ModelMetadata, PatientRisk, PrognosticModel
from autoprog.model.serialization import ALLOWED_TYPES, dump_estimator, load_estimator

__all__ = [
    "ALLOWED_TYPES",
    "Member",
    "ModelMetadata",
    "PatientRisk",
    "PrognosticModel",
    "dump_estimator",
    "load_estimator",
]
