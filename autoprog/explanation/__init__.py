"""What an ensemble has learnt: importance and effects of its inputs, and what more patients would give."""

from autoprog.explanation.explanation import Explanation, explain
from autoprog.explanation.importance import InputImportance
from autoprog.explanation.learning_curve import CurvePoint
from autoprog.explanation.local_effects import Effect
from autoprog.explanation.refits import Member
from autoprog.explanation.typical_patients import FindingContribution, TypicalPatient, TypicalPatients

__all__ = [
    "CurvePoint",
    "Effect",
    "Explanation",
    "FindingContribution",
    "InputImportance",
    "Member",
    "TypicalPatient",
    "TypicalPatients",
    "explain",
]
