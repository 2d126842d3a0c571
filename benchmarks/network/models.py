"""The rivals, and a model of another module."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier, early_stopping
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.cohort import Cohort
from autoprog.evaluation import Plan, fit_pipeline
from autoprog.space import Configuration, Step
from benchmarks.network.tasks import Fold, Model

INNER_FOLDS = 5
PENALTIES = np.logspace(-5, 3, 33)
LEAVES = (4, 8, 15)

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rival:
    """A function of a fold, and the numbers of causes that it is for: 0 for a binary outcome."""

    predict: Callable[[Fold], _Floats]
    causes: tuple[int, ...] = (0,)

    def takes(self, cohort: Cohort) -> bool:
        """Whether the model is for such outcomes."""
        return _n_causes(cohort) in self.causes

    def __call__(self, fold: Fold) -> _Floats:
        """Fit to the one part and predict the other."""
        return self.predict(fold)


@dataclass(frozen=True)
class Imported:
    """A class of another module, for the outcomes that its methods allow."""

    kind: Callable[[], Any]

    def takes(self, cohort: Cohort) -> bool:
        """Whether the model is for such outcomes."""
        return hasattr(self.kind, "cumulative_incidence" if _n_causes(cohort) else "predict_proba")

    def __call__(self, fold: Fold) -> _Floats:
        """Fit to the one part and predict the other."""
        X, new = fold.matrices()
        if _n_causes(fold.learn):
            model = self.kind().fit(X, fold.learn.outcomes)
            return np.asarray(model.cumulative_incidence(new, np.array(fold.learn.horizons)))[:, 0]
        return np.asarray(self.kind().fit(X, fold.learn.y).predict_proba(new))[:, 1]


def imported(name: str) -> Model:
    """The model of NAME=MODULE:CLASS."""
    module, _, attribute = name.partition("=")[2].partition(":")
    if not attribute:
        msg = f"{name} is neither one of {', '.join(MODELS)} nor NAME=MODULE:CLASS"
        raise SystemExit(msg)
    return Imported(getattr(importlib.import_module(module), attribute))


def ridge(fold: Fold) -> _Floats:
    """Logistic regression, the penalty of 33 by inner log loss."""
    X, new = fold.matrices()
    regression = LogisticRegressionCV(
        Cs=PENALTIES, cv=_inner(fold), scoring="neg_log_loss", solver="newton-cholesky", max_iter=200
    )
    model = make_pipeline(_imputer(), StandardScaler(), regression).fit(X, fold.learn.y)
    return np.asarray(model.predict_proba(new)[:, 1])


def boosting(fold: Fold) -> _Floats:
    """Mean of five stopped early, each on the fifth that it does not see; leaves by the log loss of these fifths."""
    X, new = fold.matrices()
    y = fold.learn.y
    losses: list[float] = []
    risks: list[_Floats] = []
    for leaves in LEAVES:
        held_out: _Floats = np.empty(len(y))
        beyond: _Floats = np.zeros(len(new))
        for learn, stop in _inner(fold).split(X, y):
            booster = LGBMClassifier(
                n_estimators=3000,
                learning_rate=0.05,
                num_leaves=leaves,
                min_child_samples=20,
                subsample=0.8,
                subsample_freq=1,
                colsample_bytree=0.8,
                reg_lambda=1.0,
                random_state=fold.seed,
                n_jobs=1,
                verbosity=-1,
            )
            stopping = early_stopping(100, verbose=False)
            booster.fit(X[learn], y[learn], eval_X=X[stop], eval_y=y[stop], eval_metric="logloss", callbacks=[stopping])
            chances = np.asarray(booster.predict_proba(np.concatenate([X[stop], new])))[:, 1]
            held_out[stop] = chances[: len(stop)]
            beyond += chances[len(stop) :] / INNER_FOLDS
        losses.append(log_loss(y, held_out))
        risks.append(beyond)
    return risks[int(np.argmin(losses))]


def forest(fold: Fold) -> _Floats:
    """500 trees with at least five patients in a leaf."""
    X, new = fold.matrices()
    trees = RandomForestClassifier(500, min_samples_leaf=5, n_jobs=1, random_state=fold.seed)
    return np.asarray(make_pipeline(_imputer(), trees).fit(X, fold.learn.y).predict_proba(new)[:, 1])


def _inner(fold: Fold) -> StratifiedKFold:
    return StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=fold.seed)


def _imputer() -> SimpleImputer:
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def _of_space(learner: str, fold: Fold) -> _Floats:
    """Median imputation and a learner of the space as it comes."""
    horizons = fold.learn.horizons
    configuration = Configuration(Step("median"), Step("none"), Step(learner), Step("none"))
    plan = Plan("uno_c", INNER_FOLDS, 1, fold.seed, times=horizons)
    pipeline = fit_pipeline(configuration, fold.learn, np.arange(fold.learn.n_rows), plan, fold.seed)
    return fold.learn.target.predict_risks(pipeline, fold.new, horizons)


def _n_causes(cohort: Cohort) -> int:
    return 0 if cohort.time_to_event is None else cohort.time_to_event.n_causes


def network(fold: Fold) -> _Floats:
    """The network that `training/network` keeps."""
    from training.network.learners import PriorNetworkClassifier, PriorNetworkHazards  # noqa: PLC0415  torch

    kind = PriorNetworkHazards if _n_causes(fold.learn) else PriorNetworkClassifier
    return Imported(kind)(fold)


MODELS: dict[str, Model] = {
    "ridge": Rival(ridge),
    "boosting": Rival(boosting),
    "forest": Rival(forest),
    "fine_gray": Rival(partial(_of_space, "fine_gray"), (2, 3)),
    "cause_specific": Rival(partial(_of_space, "cox"), (1, 2, 3)),
    "prior_network": Rival(network, (0, 2, 3)),
}
