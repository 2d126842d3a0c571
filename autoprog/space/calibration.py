"""The calibration stage of Table 1: from scores to risks, learnt on inner held-out predictions.

The calibrator wraps all the stages before it, so that none of them has seen the patients that it is fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

from autoprog.space._base import Algorithm, TableShape
from autoprog.space.hyperparameters import Parameter

_INNER_FOLDS = 3


def _calibrated(method: str) -> Algorithm:
    def build(_parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
        folds = min(_INNER_FOLDS, shape.n_minority)
        return CalibratedClassifierCV(
            method=method, cv=StratifiedKFold(folds, shuffle=True, random_state=seed), ensemble=False, n_jobs=1
        )

    return Algorithm(
        "calibration",
        method,
        (),
        build,
        family="calibration",
        takes_missing=True,
        stored_types=(
            "sklearn.calibration._CalibratedClassifier",
            "sklearn.calibration._SigmoidCalibration",
            "sklearn.model_selection._split.StratifiedKFold",
        ),
    )


CALIBRATION: tuple[Algorithm, ...] = (
    _calibrated("sigmoid"),
    _calibrated("isotonic"),
    Algorithm("calibration", "none", (), lambda *_: None, family="calibration", takes_missing=True),
)
