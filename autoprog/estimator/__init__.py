"""The search as a scikit-learn estimator: for notebooks and scripts, without a server."""

from autoprog.estimator.estimator import AutoPrognosis
from autoprog.estimator.targets import Survival
from autoprog.estimator.unusual import ExtrapolationWarning

__all__ = ["AutoPrognosis", "ExtrapolationWarning", "Survival"]
