"""The fitted model, which predicts and is stored as one file."""

from autoprog.model.comparison import compare_models
from autoprog.model.contributions import Contribution, Contributions, HorizonContribution, find_columns, remove_each
from autoprog.model.external_validation import external_validation
from autoprog.model.members import Member, ModelMetadata
from autoprog.model.model import PrognosticModel
from autoprog.model.model_file import model_keeps_patients
from autoprog.model.next_tests import MAX_RANKED, NextTest, NextTests, rank_next_tests
from autoprog.model.patient_risk import HorizonRisk, PatientRisk
from autoprog.model.serialization import allowed_types, check_estimator, dump_estimator, keeps_patients, load_estimator
from autoprog.model.updating import MIN_EVENTS, RecalibrationMethod, update_model

__all__ = [
    "MAX_RANKED",
    "MIN_EVENTS",
    "Contribution",
    "Contributions",
    "HorizonContribution",
    "HorizonRisk",
    "Member",
    "ModelMetadata",
    "NextTest",
    "NextTests",
    "PatientRisk",
    "PrognosticModel",
    "RecalibrationMethod",
    "allowed_types",
    "check_estimator",
    "compare_models",
    "dump_estimator",
    "external_validation",
    "find_columns",
    "keeps_patients",
    "load_estimator",
    "model_keeps_patients",
    "rank_next_tests",
    "remove_each",
    "update_model",
]
