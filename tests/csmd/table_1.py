"""Table I of the source and the predictions that it is replayed on."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from autoprog.csmd import Arms
from tests.cohorts import real_cohort
from tests.csmd.naive import cascade

COSTS = {"pima": (4.0, 29.0, 46.0), "heart": (32.0, 397.0, 601.0)}
ERRORS = {"pima": (0.3125, 0.2331, 0.2279), "heart": (0.29292, 0.20202, 0.14815)}
# trade-offs, optimal arm, totals, range of xi from the table alone
INSTANCES = {
    ("pima", 1): ((0.01, 0.0106, 0.015), 1, (0.3525, 0.5405, 0.9179), (-0.278, 0.188)),
    ("pima", 2): ((0.01, 0.004, 0.0038), 2, (0.3525, 0.3491, 0.4027), (-0.402, 0.054)),
    ("pima", 3): ((0.01, 0.0113, 0.015), 1, (0.3525, 0.5608, 0.9179), (-0.258, 0.208)),
    ("pima", 4): ((0.0001, 0.0001, 0.0001), 3, (0.3129, 0.2360, 0.2325), (np.inf, np.inf)),
    ("pima", 5): ((0.01, 0.002, 0.0055), 2, (0.3525, 0.2911, 0.4809), (-0.266, 0.190)),
    ("heart", 1): ((0.0001, 0.0008, 0.001), 1, (0.29612, 0.51962, 0.74915), (-0.181, 0.224)),
    ("heart", 2): ((0.0001, 0.0001, 0.00035), 2, (0.29612, 0.24172, 0.35850), (-0.180, 0.117)),
    ("heart", 3): ((0.0001, 0.0009, 0.001), 1, (0.29612, 0.55932, 0.74915), (-0.141, 0.263)),
    ("heart", 4): ((0.00001, 0.00004, 0.0001), 3, (0.29324, 0.21790, 0.20825), (np.inf, np.inf)),
    ("heart", 5): ((0.0042, 0.0001, 0.00027), 2, (0.42732, 0.24172, 0.31042), (-0.228, 0.069)),
}


def instance(dataset: str, case: int) -> Arms:
    """The cascade of a case; the table's costs are totals."""
    totals = COSTS[dataset]
    return cascade(np.diff([0.0, *totals]).tolist(), list(INSTANCES[dataset, case][0]))


@cache
def pima_predictions() -> tuple[np.ndarray, np.ndarray]:
    """Out-of-sample predictions of the three arms, and the truth; impossible zeros as zeros."""
    cohort = real_cohort("pima_missing")
    X, y = np.nan_to_num(cohort.X), cohort.y
    names = [feature.name for feature in cohort.features]
    profile = [j for j, name in enumerate(names) if name not in {"glucose", "insulin"}]
    arms = [profile, [*profile, names.index("glucose")], [*profile, names.index("glucose"), names.index("insulin")]]
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    model = LogisticRegression(max_iter=10_000)
    return np.array([cross_val_predict(model, X[:, columns], y, cv=folds) for columns in arms]).T, y
