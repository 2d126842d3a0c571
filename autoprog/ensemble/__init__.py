"""Which of the explored pipelines predict together, and with what weights."""

from autoprog.ensemble.ensemble import Ensemble, Member, Scale, average
from autoprog.ensemble.model_averaging import RevisedWeights, best_probabilities
from autoprog.ensemble.rules import RULES, Candidates, EnsembleName, Rule

__all__ = [
    "RULES",
    "Candidates",
    "Ensemble",
    "EnsembleName",
    "Member",
    "RevisedWeights",
    "Rule",
    "Scale",
    "average",
    "best_probabilities",
]
