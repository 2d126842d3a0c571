"""Which of the explored pipelines predict together, and with what weights."""

from autoprog.ensemble.ensemble import Ensemble, Member
from autoprog.ensemble.model_averaging import RevisedWeights, average_models, best_probabilities

__all__ = ["Ensemble", "Member", "RevisedWeights", "average_models", "best_probabilities"]
