"""The fitted model: it predicts, and is stored as one file."""

from autoprog.model.external_validation import external_validation
from autoprog.model.model import Member, ModelMetadata, PatientRisk, PrognosticModel
from autoprog.model.recalibrating import LEAST_EVENTS, RecalibrationMethod, recalibrated
from autoprog.model.serialization import allowed_types, dump_estimator, load_estimator

__all__ = [
    "LEAST_EVENTS",
    "Member",
    "ModelMetadata",
    "PatientRisk",
    "PrognosticModel",
    "RecalibrationMethod",
    "allowed_types",
    "dump_estimator",
    "external_validation",
    "load_estimator",
    "recalibrated",
]
