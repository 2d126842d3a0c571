"""Ensembles for event times among patients whom the search has not seen: eight cohorts, and four with competing causes.

A line of the shards' file is one fold: the concordance until the last horizon (Uno's; with competing causes Wolbers's),
the integrated Brier score and the mean area under the curve over the horizons, of the test patients, with the censoring
of the whole cohort, of

    delivered        the model as a search delivers it
    cox              penalised Cox regression, the penalty chosen by inner cross-validation       survival cohorts
    survival_forest  scikit-survival's, 200 trees, as it comes otherwise                          survival cohorts
    fine_gray        median imputation and Fine and Gray's model of every cause                   competing causes
    cause_specific   median imputation and Cox's model of every cause, joined                     competing causes
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.util import Surv

from autoprog.cohort import Cohort, parse_spec, read_cohort
from autoprog.evaluation import Plan, fit_pipeline
from autoprog.performance import Metric, ScoringContext, make_event_metric
from autoprog.space import Configuration, Step
from autoprog.space.design_matrix import DesignMatrix
from autoprog.survival import NoPairError
from benchmarks.ensembles.laboratory import Laboratory
from benchmarks.ensembles.lines import Shard, write_missing

SURVIVAL = ("whas500", "gbsg2", "veteran", "lung", "metabric", "actg320", "colon", "flchain")
COMPETING = ("mgus2", "framingham_cr", "pbc_cr", "bmt137")
COHORTS = (*SURVIVAL, *COMPETING)
REPEATS, FOLDS, TIME_S = 2, 5, 30.0
MEASURES = ("uno_c", "integrated_brier", "time_dependent_auc")

_SHARES = (0.15, 0.3, 0.45, 0.6, 0.75)  # of the event times, at which risks are asked for
_PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
_TREES = 200

_Floats = NDArray[np.float64]


def shards(cohorts: tuple[str, ...]) -> list[Shard]:
    """A fold of every cohort before the next, so that what is there when it is broken off compares."""
    return [(cohort, fold) for fold in range(REPEATS * FOLDS) for cohort in cohorts]


def run(asked: list[Shard], data: Path, path: Path, time_s: float, slots: int) -> None:
    """Write a line for every shard that has none yet."""
    write_missing(asked, path, slots, lambda lab, shard: measure(lab, load(shard[0], data), shard[1], time_s))


def load(name: str, data: Path) -> Cohort:
    """A cohort with five horizons within its follow-up."""
    outcome: dict[str, Any] = {"time": "time", "event": "event", "event_of_interest": 1}
    if name in COMPETING:
        outcome["competing"] = [2]
    spec = {"name": name, "mode": "survival", "outcome": outcome, "ignore": ["los"] if name == "whas500" else []}
    cohort = read_cohort((data / f"{name}.csv.gz").read_bytes(), parse_spec(spec)).cohort
    assert cohort.time is not None
    assert cohort.time_to_event is not None
    horizons = np.unique(np.quantile(cohort.time[cohort.y == 1], _SHARES, method="inverted_cdf"))
    return replace(cohort, outcome=replace(cohort.time_to_event, horizons=tuple(horizons.tolist())))


def measure(lab: Laboratory, cohort: Cohort, fold: int, time_s: float) -> dict[str, Any]:
    """Search on the training patients, and score every model on the others."""
    splitter = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0)
    train, test = list(splitter.split(cohort.X, cohort.y))[fold]
    inner = cohort.take(train)
    search = lab.search(inner, {"budget": {"time_s": time_s, "evaluations": 10_000}, "seed": fold})
    risks = {"delivered": search.result.model.risks(cohort.X[test]), **dict(_rivals(inner, cohort.X[test], fold))}
    follow_up, y = ScoringContext.of(cohort, cohort.horizons), cohort.outcomes[test]
    score = search.result.ensemble["score"]
    return {
        "cohort": cohort.name,
        "fold": fold,
        "n_train": len(train),
        "time_s": time_s,
        "total_s": round(search.total_s, 2),
        "validation_s": round(search.validation_s, 2),
        "evaluations": len(search.history.succeeded),
        "members": len(search.result.ensemble["members"]),
        "score": {name: score[name] for name in ("estimate", "lower", "upper")},
        "scores": {
            name: {measure: _score(make_event_metric(measure, follow_up), y, F) for measure in MEASURES}
            for name, F in risks.items()
        },
    }


def _score(metric: Metric, y: NDArray[np.void], F: _Floats) -> float | None:
    """None where nobody of a small fold has had the event by the first horizon."""
    try:
        return round(metric.score(y, F), 6)
    except NoPairError:
        return None


def _rivals(inner: Cohort, X: _Floats, seed: int) -> Iterator[tuple[str, _Floats]]:
    horizons = np.array(inner.horizons)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rival's
        if inner.time_to_event is not None and inner.time_to_event.n_causes > 1:
            plan = Plan("uno_c", FOLDS, 1, seed, times=inner.horizons)
            for name, learner in (("fine_gray", "fine_gray"), ("cause_specific", "cox")):
                pipeline = fit_pipeline(
                    Configuration(Step("median"), Step("none"), Step(learner), Step("none")),
                    inner,
                    np.arange(inner.n_rows),
                    plan,
                    seed,
                )
                yield name, inner.target.predict_risks(pipeline, X, inner.horizons)
            return
        prepare = make_pipeline(
            DesignMatrix.for_features(inner.features), SimpleImputer(strategy="median"), StandardScaler()
        )
        Z, z = prepare.fit_transform(inner.X), prepare.transform(X)
        y = Surv.from_arrays(inner.y == 1, inner.time)
        for name, learner in (
            ("cox", CoxPHSurvivalAnalysis(alpha=_penalty(Z, y, seed), ties="efron")),
            ("survival_forest", RandomSurvivalForest(_TREES, n_jobs=1, random_state=seed)),
        ):
            curves = learner.fit(Z, y).predict_survival_function(z)
            yield name, 1.0 - np.array([curve(np.clip(horizons, *curve.domain)) for curve in curves])


def _penalty(Z: _Floats, y: NDArray[np.void], seed: int) -> float:
    """The penalty whose risks rank held-out patients best."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    means = []
    for alpha in _PENALTIES:
        model = CoxPHSurvivalAnalysis(alpha=alpha, ties="efron")
        parts = folds.split(Z, y["event"])
        means.append(np.mean([model.fit(Z[train], y[train]).score(Z[test], y[test]) for train, test in parts]))
    return _PENALTIES[int(np.argmax(means))]


def event_figures(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Means by cohort, and the differences that the bars speak of, with bounds over resampled cohorts."""
    return {
        "survival": _compared([line for line in lines if line["cohort"] in SURVIVAL]),
        "competing": _compared([line for line in lines if line["cohort"] in COMPETING]),
    }


def _compared(lines: list[dict[str, Any]]) -> dict[str, Any] | None:
    if not lines:
        return None
    cohorts = sorted({line["cohort"] for line in lines})
    models = list(lines[0]["scores"])
    table = {
        cohort: {
            model: {
                measure: float(np.nanmean([np.nan if score is None else score for score in scores]))
                for measure in MEASURES
                if (scores := [each["scores"][model][measure] for each in lines if each["cohort"] == cohort])
            }
            for model in models
        }
        for cohort in cohorts
    }
    means = {m: {k: float(np.mean([table[c][m][k] for c in cohorts])) for k in MEASURES} for m in models}
    rival = max((m for m in models if m != "delivered"), key=lambda m: means[m]["uno_c"])
    differences = np.array([table[c]["delivered"]["uno_c"] - table[c][rival]["uno_c"] for c in cohorts])
    rng = np.random.default_rng(0)
    resampled = rng.choice(differences, (10_000, len(cohorts))).mean(axis=1)
    return {
        "folds": len(lines),
        "cohorts": table,
        "means": means,
        "better_rival": rival,
        "uno_c_difference": float(differences.mean()),
        "uno_c_difference_lower_95": float(np.quantile(resampled, 0.05)),
        "lowest_integrated_brier": min(models, key=lambda m: means[m]["integrated_brier"]),
        "evaluations": float(np.mean([line["evaluations"] for line in lines])),
        "longest_total_s": max(line["total_s"] for line in lines),
    }
