"""Choice of the explored pipelines that predict together, and of their weights."""

from autoprog.ensemble.contributions import Contributions, contributions
from autoprog.ensemble.ensemble import Ensemble, Scale, WeighedPipeline, average
from autoprog.ensemble.model_averaging import RevisedWeights, best_probabilities
from autoprog.ensemble.rules import WEIGHING_RULES, Candidates, Choose, EnsembleName, Observed, WeighingRule

__all__ = [
    "WEIGHING_RULES",
    "Candidates",
    "Choose",
    "Contributions",
    "Ensemble",
    "EnsembleName",
    "Observed",
    "RevisedWeights",
    "Scale",
    "WeighedPipeline",
    "WeighingRule",
    "average",
    "best_probabilities",
    "contributions",
]
