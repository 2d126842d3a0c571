"""All queries of the service, one class per resource; each works in the given session and never commits.

`owner_id` is the API key's owner. Other owners' rows do not exist for it: to read one raises NotFoundError.
"""

from autoprog.storage.repositories.audit import AuditEvent, AuditRepository, ChainEnd
from autoprog.storage.repositories.browser_sessions import BrowserSessionRepository
from autoprog.storage.repositories.cohort_statistics import CohortStatisticsRepository, EarlierCohort
from autoprog.storage.repositories.cohorts import CohortRepository
from autoprog.storage.repositories.diagnosis import (
    DiagnosisLearnerRepository,
    DiagnosisModelRepository,
    DiagnosisSessionRepository,
)
from autoprog.storage.repositories.evaluations import EvaluationRepository, Tally
from autoprog.storage.repositories.explanations import ExplanationRepository
from autoprog.storage.repositories.feature_streams import (
    FeatureSelectionRepository,
    FeatureStreamRepository,
    ThresholdLearnerRepository,
)
from autoprog.storage.repositories.idempotency import IdempotencyRepository, StoredAnswer
from autoprog.storage.repositories.jobs import Backlog, JobRepository, QueueRepository
from autoprog.storage.repositories.keys import KeyRepository, is_key
from autoprog.storage.repositories.models import ModelRepository, ModelStatusRepository, ValidationRepository
from autoprog.storage.repositories.patient_erasures import Derived, PatientErasureRepository
from autoprog.storage.repositories.searches import SearchRepository
from autoprog.storage.repositories.test_selection import (
    CatalogueRepository,
    FrontierRepository,
    SelectionProblemRepository,
    SelectionReplayRepository,
)
from autoprog.storage.repositories.test_selection_rounds import (
    ArmTally,
    SelectionFeedbackRepository,
    SelectionRoundRepository,
)

__all__ = [
    "ArmTally",
    "AuditEvent",
    "AuditRepository",
    "Backlog",
    "BrowserSessionRepository",
    "CatalogueRepository",
    "ChainEnd",
    "CohortRepository",
    "CohortStatisticsRepository",
    "Derived",
    "DiagnosisLearnerRepository",
    "DiagnosisModelRepository",
    "DiagnosisSessionRepository",
    "EarlierCohort",
    "EvaluationRepository",
    "ExplanationRepository",
    "FeatureSelectionRepository",
    "FeatureStreamRepository",
    "FrontierRepository",
    "IdempotencyRepository",
    "JobRepository",
    "KeyRepository",
    "ModelRepository",
    "ModelStatusRepository",
    "PatientErasureRepository",
    "QueueRepository",
    "SearchRepository",
    "SelectionFeedbackRepository",
    "SelectionProblemRepository",
    "SelectionReplayRepository",
    "SelectionRoundRepository",
    "StoredAnswer",
    "Tally",
    "ThresholdLearnerRepository",
    "ValidationRepository",
    "is_key",
]
