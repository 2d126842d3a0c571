"""Performance of four cheap learners on a few hundred patients.

======  =======================================================================  ======  =======
symbol  meaning                                                                  shape   range
======  =======================================================================  ======  =======
X, y    design matrix and labels of at most 1,000 patients                       (n, p)  real
AUC     area under the ROC curve on a fold's held-out patients; mean of 3 folds  scalar  [0, 1]
======  =======================================================================  ======  =======

The rarer outcome has as many patients as there are, up to one half: the AUC does not depend on the balance, but its
standard error does. Learners see medians for missing cells and standardised columns, without those that are constant in
training. Without any column the AUC is 0.5.

References
----------
Pfahringer, Bensusan & Giraud-Carrier 2000, ICML.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from autoprog.cohort import Feature
from autoprog.metalearning.meta_features.information import evenly_spaced
from autoprog.space.design_matrix import DesignMatrix

MAX_PATIENTS = 1_000
"""The most patients that the landmarks are measured on."""

MAX_FEATURES = 200
"""Use 200 evenly spaced features if there are more."""

FOLDS = 3

CHANCE = 0.5
# Held-out values are clipped at this many standard deviations. Larger ones are wrong units or codes, and no learner
# could tell them apart.
_FARTHEST = 1e6
# Scores are rounded, because machines round differently beyond this.
_DECIMALS = 9


def _learners() -> dict[str, BaseEstimator]:
    return {
        "landmark_stump": DecisionTreeClassifier(max_depth=1, random_state=0),
        "landmark_naive_bayes": GaussianNB(),
        "landmark_nearest_neighbour": KNeighborsClassifier(1, algorithm="brute", n_jobs=1),
        "landmark_linear": Ridge(alpha=1.0, solver="cholesky"),
    }


def landmark_features(
    features: Sequence[Feature], X: NDArray[np.float64], y: NDArray[np.float64], rng: np.random.Generator
) -> dict[str, float]:
    """Cross-validate simple learners; 0.5 without features, or if an outcome has fewer than 3 patients."""
    rows = _balanced_rows(y, rng)
    labels = y[rows].astype(np.int8)
    kept = evenly_spaced(len(features), MAX_FEATURES)
    scores: dict[str, list[float]] = {name: [] for name in _learners()}
    if len(kept) and min(labels.sum(), len(labels) - labels.sum()) >= FOLDS:
        columns = [features[j] for j in kept]
        table = _in_a_unit(columns, X[np.ix_(rows, kept)])
        folds = _stratified_folds(labels, rng)
        with threadpool_limits(1):
            for number in range(FOLDS):
                _score_fold(scores, columns, table, labels, folds == number)
    return {name: float(np.mean(aucs)) if aucs else CHANCE for name, aucs in scores.items()}


def _score_fold(
    scores: dict[str, list[float]],
    columns: Sequence[Feature],
    table: NDArray[np.float64],
    labels: NDArray[np.int8],
    held_out: NDArray[np.bool_],
) -> None:
    train, test = _standardised(columns, table[~held_out], table[held_out])
    for name, learner in _learners().items():
        risk = _predicted(learner, train, labels[~held_out], test) if train.any() else np.zeros(len(test))
        known = np.isfinite(risk).all()
        scores[name].append(float(roc_auc_score(labels[held_out], np.round(risk, _DECIMALS))) if known else CHANCE)


def _in_a_unit(columns: Sequence[Feature], table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each numeric column to a maximum of about 1, because the square of 1e200 overflows."""
    largest = np.fmax.reduce(np.abs(table), axis=0, initial=0.0)
    # Scaling by a power of 2 is exact.
    exponents = np.where([f.kind == "numeric" for f in columns], np.frexp(largest)[1], 0)
    return np.ldexp(table, -exponents)


def _standardised(
    columns: Sequence[Feature], train: NDArray[np.float64], test: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Design matrices of both, in standard deviations of `train`; columns that are constant there are 0."""
    with np.errstate(over="ignore"):  # clipped below
        for step in (
            DesignMatrix.for_features(columns),
            SimpleImputer(strategy="median", keep_empty_features=True),
            StandardScaler(),
        ):
            train = step.fit_transform(train)
            test = step.transform(test)
    varies = np.ptp(train, axis=0) > 0
    return np.where(varies, train, 0.0), np.where(varies, np.clip(test, -_FARTHEST, _FARTHEST), 0.0)


def _predicted(
    learner: BaseEstimator, train: NDArray[np.float64], labels: NDArray[np.int8], test: NDArray[np.float64]
) -> NDArray[np.float64]:
    learner.fit(train, labels)
    risk: NDArray[np.float64] = (
        learner.predict_proba(test)[:, 1] if hasattr(learner, "predict_proba") else learner.predict(test)
    )
    return risk


def _balanced_rows(y: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose the landmarks' patients, in order; up to half have the rarer outcome."""
    of_outcome = sorted((np.flatnonzero(y == outcome) for outcome in (0, 1)), key=len)
    n_rarer = min(len(of_outcome[0]), MAX_PATIENTS // 2)
    sizes = (n_rarer, min(len(of_outcome[1]), MAX_PATIENTS - n_rarer))
    drawn = [rng.permutation(rows)[:size] for rows, size in zip(of_outcome, sizes, strict=True)]
    return np.sort(np.concatenate(drawn))


def _stratified_folds(labels: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.intp]:
    folds = np.empty(len(labels), dtype=np.intp)
    for outcome in (0, 1):
        rows = rng.permutation(np.flatnonzero(labels == outcome))
        folds[rows] = np.arange(len(rows)) % FOLDS
    return folds
