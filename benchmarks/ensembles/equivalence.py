"""The interval of a patient's risk, and what it adds to refits of the ensemble to bootstrap samples.

On simulated cohorts, with ensembles of fixed learners and single ones, of each patient among 500 new ones:

    bootstrap    refits of the whole ensemble to 20 samples: spread of the averaged risk, of the very patient
    learnt_B     the same, learnt from B of them as `autoprog.validation.patient_intervals` does
    delivered    the last, widened as it is delivered

all with the delivered recalibration and its uncertainty. Coverage is the share of patients whose true risk is in the
interval.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.endpoints import Endpoint, make_endpoint
from autoprog.performance import bootstrap_rows
from autoprog.space.design_matrix import DesignMatrix
from autoprog.validation import (
    INTERVAL_LEVEL,
    PRIOR_PRECISION,
    Refit,
    estimate_lack_of_fit,
    fit_patient_intervals,
    recalibration_covariance,
)
from benchmarks.ensembles.coverage import design
from benchmarks.ensembles.lines import read
from benchmarks.ensembles.simulated import Nature

COHORTS, REFITS, LEARNT = 60, 20, (5, 10, 20)

# Apart from the seeds of the searches whose coverage is measured. The width was chosen by the first so many.
_FIRST_SEED, CHOSEN_BY = 0, 40
_FOLDS, _NEW = 5, 500

_LEARNERS: dict[str, Callable[[], BaseEstimator]] = {
    "logistic": lambda: LogisticRegression(C=1.0, max_iter=1000),
    "ridge": lambda: LogisticRegression(C=0.01, max_iter=1000),
    "forest": lambda: RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    "boosting": lambda: LGBMClassifier(n_estimators=50, num_leaves=7, learning_rate=0.05, n_jobs=1, verbose=-1),
    "bayes": GaussianNB,
}
_ENSEMBLES = {
    "mixed": {"logistic": 0.3, "ridge": 0.1, "forest": 0.2, "boosting": 0.3, "bayes": 0.1},
    "trees": {"forest": 0.4, "boosting": 0.6},
    "linear": {"logistic": 0.6, "ridge": 0.4},
    "logistic": {"logistic": 1.0},
    "boosting": {"boosting": 1.0},
}

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Fits:
    """Risks by every learner: of new patients, out of fold, and by refits, of the new ones and of those left out."""

    X: _Floats
    y: NDArray[np.int8]
    new: _Floats
    q: _Floats
    out_of_fold: _Floats
    refitted: _Floats
    left_out: _Floats


def run(path: Path, numbers: range) -> None:
    """Measure the cohorts that the file does not hold yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {row["number"] for row in read(path)}
    with path.open("a", encoding="utf-8") as file:
        for number in numbers:
            if number not in done:
                file.write("\n" + json.dumps(measure(number)))
                file.flush()
                os.fsync(file.fileno())


def measure(number: int) -> dict[str, Any]:
    """Coverage and median width of every kind of interval, by ensemble."""
    truth, size = design(number)
    nature, rng = Nature(truth, _FIRST_SEED + number), np.random.default_rng([_FIRST_SEED, number])
    cohort, _ = nature.cohort(size, rng)
    new = nature.patients(_NEW, rng)
    fits = _fit(cohort.X, cohort.y.astype(np.int8), new, DesignMatrix.for_features(cohort.features), rng)
    p = nature.risks(new)
    endpoint = make_endpoint(cohort)
    found = {name: _of_ensemble(fits, endpoint, weights, p) for name, weights in _ENSEMBLES.items()}
    return {"number": number, "truth": truth, "n_patients": size, "ensembles": found}


def _fit(X: _Floats, y: NDArray[np.int8], new: _Floats, matrix: DesignMatrix, rng: np.random.Generator) -> _Fits:
    t, n = len(_LEARNERS), len(y)
    Z, Z_new = matrix.fit(X).transform(X), matrix.transform(new)
    learners = [make_pipeline(StandardScaler(), make()) for make in _LEARNERS.values()]
    out_of_fold = np.empty((t, n))
    for train, test in StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(Z, y):
        out_of_fold[:, test] = [_risks(learner.fit(Z[train], y[train]), Z[test]) for learner in learners]
    q = np.array([_risks(learner.fit(Z, y), Z_new) for learner in learners])
    refitted, left_out = np.empty((REFITS, t, len(new))), np.full((REFITS, t, n), np.nan)
    for b in range(REFITS):
        rows = bootstrap_rows(y, None, rng)
        others = np.setdiff1d(np.arange(n), rows)
        for k, learner in enumerate(learners):
            learner.fit(Z[rows], y[rows])
            refitted[b, k], left_out[b, k, others] = _risks(learner, Z_new), _risks(learner, Z[others])
    return _Fits(X, y, new, q, out_of_fold, refitted, left_out)


def _risks(learner: BaseEstimator, Z: _Floats) -> _Floats:
    risks: _Floats = learner.predict_proba(Z)[:, 1]
    return risks


def _of_ensemble(fits: _Fits, endpoint: Endpoint, weights: dict[str, float], p: _Floats) -> dict[str, list[float]]:
    w = np.array([weights.get(name, 0.0) for name in _LEARNERS])
    cut = 1 / (2 * len(fits.y))
    averaged, q = w @ fits.out_of_fold, np.clip(w @ fits.q, cut, 1 - cut)
    recalibration = endpoint.fit_recalibration(averaged)
    covariance = recalibration_covariance(averaged, recalibration, PRIOR_PRECISION)
    s, x = q * (1 - q), logit(q)
    added = covariance[0, 0] + 2 * covariance[0, 1] * x + covariance[1, 1] * x**2
    refitted = np.tensordot(fits.refitted, w, ((1,), (0,)))
    bootstrap = np.sqrt(recalibration.slope**2 * np.mean(((refitted - q) / s) ** 2, axis=0) + added)
    centre = recalibration.intercept + recalibration.slope * x
    lack_of_fit = estimate_lack_of_fit(fits.X, fits.y, recalibration.apply(averaged), np.ones(len(fits.y)))
    refits = [Refit(risks, averaged) for risks in np.tensordot(fits.left_out, w, ((1,), (0,)))]

    def spread(number: int, *, widened: bool) -> _Floats:
        intervals = fit_patient_intervals(
            endpoint.cohort.features,
            fits.X,
            fits.out_of_fold,
            w,
            averaged,
            refits[:number],
            folds=_FOLDS,
            covariance=covariance,
            lack_of_fit=lack_of_fit,
        )
        if not widened:
            intervals = replace(intervals, widening=1.0, lack_of_fit=0.0)
        return intervals.spread(fits.new, fits.q, w, q, recalibration)

    return {
        "bootstrap": _covered(centre, bootstrap, p),
        **{f"learnt_{number}": _covered(centre, spread(number, widened=False), p) for number in LEARNT},
        "delivered": _covered(centre, spread(max(LEARNT), widened=True), p),
    }


def _covered(centre: _Floats, sd: _Floats, p: _Floats) -> list[float]:
    reach = float(ndtri((1 + INTERVAL_LEVEL) / 2)) * sd
    lower, upper = expit(centre - reach), expit(centre + reach)
    return [round(float(np.mean((lower <= p) & (p <= upper))), 4), round(float(np.median(upper - lower)), 4)]


def equivalence_figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean coverage and width of every kind of interval, over all ensembles, by ensemble, truth and size."""
    if not rows:
        return {"cohorts": 0}
    of = {
        "by_ensemble": {name: [row["ensembles"][name] for row in rows] for name in _ENSEMBLES},
        **{
            f"by_{key}": {
                str(value): [e for row in rows if row[key] == value for e in row["ensembles"].values()]
                for value in sorted({row[key] for row in rows})
            }
            for key in ("truth", "n_patients")
        },
    }
    everything = [e for row in rows for e in row["ensembles"].values()]
    return {
        "cohorts": len(rows),
        "all": _means(everything),
        **{key: {name: _means(part) for name, part in parts.items()} for key, parts in of.items()},
    }


def _means(found: list[dict[str, list[float]]]) -> dict[str, dict[str, float]]:
    return {
        name: {
            "covered": round(float(np.mean([each[name][0] for each in found])), 4),
            "width": round(float(np.mean([each[name][1] for each in found])), 4),
        }
        for name in found[0]
    }
