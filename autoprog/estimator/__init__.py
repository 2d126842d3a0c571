"""The search as a scikit-learn estimator: for notebooks and scripts, without a server."""

from autoprog.estimator.estimator import AutoPrognosis
from autoprog.estimator.tables import Survival

__all__ = ["AutoPrognosis", "Survival"]
