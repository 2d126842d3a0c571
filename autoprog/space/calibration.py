"""The calibration stage of Table 1: from scores to risks, learnt on inner held-out predictions.

The calibrator wraps all the stages before it, so that none of them has seen the patients that it is fitted on: a
calibrated pipeline costs one fit to all training patients and three to two thirds of them; of many patients half are
enough, and it costs two fits to these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

from autoprog.space._base import Algorithm, Cost, Input, TableShape
from autoprog.space.event_times import CalibratedIncidence
from autoprog.space.hyperparameters import Parameter

_INNER_FOLDS = 3
# Of more patients, so many inner folds.
_MANY, _INNER_FOLDS_OF_MANY = 50_000, 2
_TAKES: frozenset[Input] = frozenset({"missing", "negative", "categories", "collinear"})


class Calibrated(CalibratedClassifierCV):  # type: ignore[misc]
    """scikit-learn's calibration, with a sigmoid that never turns a ranking round.

    The scores of a learner that knows little are often opposed to the outcomes of held-out patients, and a sigmoid of
    any slope would then rank new patients against the learner. Where its slope has the wrong sign, everyone gets the
    share of events, the likeliest of the maps that keep the ranking. An isotonic map keeps it anyway.
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the pipeline and its calibration.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_features)
            What the pipeline takes.
        y : array-like, shape = (n_patients,)
            0 and 1.

        Returns
        -------
        Calibrated
            Itself.
        """
        super().fit(X, y)
        if self.method == "sigmoid":
            for calibrated in self.calibrated_classifiers_:
                for sigmoid in calibrated.calibrators:
                    if sigmoid.a_ > 0:  # risk = 1 / (1 + exp(a score + b))
                        sigmoid.a_, sigmoid.b_ = 0.0, -float(logit(np.asarray(y).mean()))
        return self


def _calibrated(method: Literal["sigmoid", "isotonic"], reference: str) -> Algorithm:
    def build(_parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
        most = _INNER_FOLDS if shape.n_patients <= _MANY else _INNER_FOLDS_OF_MANY
        folds = min(most, shape.n_minority)
        if shape.times:
            return CalibratedIncidence(method=method, times=shape.times, cv=folds, seed=seed)
        inner = StratifiedKFold(folds, shuffle=True, random_state=seed)
        return Calibrated(method=method, cv=inner, ensemble=False, n_jobs=1)

    return Algorithm(
        "calibration",
        method,
        (),
        build,
        family="calibration",
        takes=_TAKES,
        refits=1.0 + _INNER_FOLDS * (1 - 1 / _INNER_FOLDS),
        stored_types=(
            "autoprog.space.calibration.Calibrated",
            "autoprog.space.event_times.calibrated.CalibratedIncidence",
            "sklearn.calibration._CalibratedClassifier",
            "sklearn.calibration._SigmoidCalibration",
            "sklearn.model_selection._split.StratifiedKFold",
        ),
        reference=reference,
    )


CALIBRATION: tuple[Algorithm, ...] = (
    _calibrated("sigmoid", "Platt 1999, Advances in Large Margin Classifiers"),
    _calibrated("isotonic", "Zadrozny & Elkan 2002, KDD"),
    Algorithm(
        "calibration",
        "none",
        (),
        lambda *_: None,
        family="calibration",
        takes=_TAKES,
        cost=Cost(0.0),
        reference="the learner's own probabilities",
    ),
)
