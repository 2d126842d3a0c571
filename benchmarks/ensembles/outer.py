"""Ensembles among patients whom the search has not seen: ten real cohorts, outer cross-validation.

A shard is one fold: the outcomes of its test patients, and their risks by

    delivered        the model as a search delivers it
    rule/NAME        what another rule makes of the same evaluations, recalibrated as it would be
    simple           median, no feature processing, logistic regression
    lightgbm         LightGBM as it comes
    best_single      the configuration with the best inner score

so that every figure can be computed later. The three last are as a user would have them, without a recalibration.
"""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedStratifiedKFold

from autoprog.cohort import Cohort, to_parquet
from autoprog.endpoints import make_endpoint
from autoprog.ensemble import WEIGHING_RULES, Ensemble, average
from autoprog.model import load_estimator
from autoprog.search.tasks import fit
from autoprog.space.design_matrix import DesignMatrix
from autoprog.work import Call, CallLimits, CallStatus
from benchmarks.ensembles.laboratory import Laboratory, Search, laboratory
from training.prior.cohorts import load

COHORTS = (
    "birthwt", "cardio", "framingham", "gbsg2", "heart_cleveland", "hepatitis", "ilpd", "pima", "stroke", "whas500",
)  # fmt: skip
REPEATS, FOLDS, TIME_S = 2, 5, 30.0

_DECIMALS = 5
_FIT = CallLimits(60, 4096)

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shard:
    """One fold of one cohort, numbered over the repeats."""

    cohort: str
    fold: int

    def path(self, folder: Path) -> Path:
        """Where it is kept."""
        return folder / f"{self.cohort}-{self.fold}.json.gz"


def shards(cohorts: tuple[str, ...], folds: int) -> list[Shard]:
    """All of them, a fold of every cohort before the next, so that what is there when it is broken off compares."""
    return [Shard(cohort, fold) for fold in range(folds) for cohort in cohorts]


def run(asked: list[Shard], data: Path, folder: Path, time_s: float, slots: int) -> None:
    """Make the shards that are not there yet; each is written whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [shard for shard in asked if not shard.path(folder).exists()]
    if not missing:
        return
    with laboratory(slots) as lab:
        for shard in missing:
            cohort, _ = load(shard.cohort, data)
            document = measure(lab, cohort, shard, time_s)
            part = shard.path(folder).with_suffix(".part")
            part.write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))
            part.replace(shard.path(folder))


def read(folder: Path) -> list[dict[str, Any]]:
    """All shards of a folder."""
    return [json.loads(gzip.decompress(path.read_bytes())) for path in sorted(folder.glob("*.json.gz"))]


def measure(lab: Laboratory, cohort: Cohort, shard: Shard, time_s: float) -> dict[str, Any]:
    """Search on the training patients, and ask every model about the others."""
    splitter = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0)
    train, test = list(splitter.split(cohort.X, cohort.y))[shard.fold]
    inner, X = _part(cohort, train), cohort.X[test]
    seed = shard.fold
    search = lab.search(inner, {"budget": {"time_s": time_s, "evaluations": 10_000}, "seed": seed})
    risks, intervals = search.result.model.risks_with_intervals(X)
    others = dict(_others(lab, inner, search, X, seed))
    score = search.result.ensemble["score"]
    best = search.history.best()
    assert best is not None
    return {
        "cohort": shard.cohort,
        "fold": shard.fold,
        "time_s": time_s,
        "n_train": len(train),
        "rule": search.result.ensemble["rule"],
        "evaluations": len(search.history.succeeded),
        "members": len(search.result.ensemble["members"]),
        "total_s": round(search.total_s, 2),
        "validation_s": round(search.validation_s, 2),
        "score": {name: score[name] for name in ("estimate", "lower", "upper")},
        "uncorrected": search.result.ensemble["performance"]["auc_roc"],
        "naive": best.score,
        "interval_width": None if intervals is None else float(np.median(intervals[:, 1] - intervals[:, 0])),
        "interval_method": search.result.model.interval_method,
        "instability": (search.result.ensemble["instability"] or {}).get("mape"),
        "y": cohort.y[test].tolist(),
        "risks": {name: np.round(q, _DECIMALS).tolist() for name, q in {"delivered": risks, **others}.items()},
    }


def _part(cohort: Cohort, rows: NDArray[np.intp]) -> Cohort:
    groups = None if cohort.groups is None else cohort.groups[rows]
    return Cohort(cohort.name, cohort.outcome, cohort.features, cohort.X[rows], cohort.y[rows], groups)


def _others(
    lab: Laboratory, inner: Cohort, search: Search, X: _Floats, seed: int
) -> Iterator[tuple[str, NDArray[np.floating]]]:
    """Risks of the test patients by what else could have been made of the training patients."""
    # A rule that does not ask for the posterior has all evaluations to choose from, however many they are.
    whole = replace(search.candidates, posterior=None)
    ensembles = {
        name: rule.weigh(search.candidates if rule.asks_for_posterior else whole, np.random.default_rng(seed))
        for name, rule in WEIGHING_RULES.items()
    }
    best = search.history.best()
    assert best is not None
    simple = search.history.evaluations[0]
    numbers = {m.number for ensemble in ensembles.values() for m in ensemble.members} | {best.number, simple.number}
    fitted = _fitted(lab, inner, search, sorted(numbers), X)
    for name, ensemble in ensembles.items():
        if there := {m.number for m in ensemble.members} & fitted.keys():
            yield f"rule/{name}", _of_ensemble(ensemble, there, inner, search, fitted)
    for name, number in (("simple", simple.number), ("best_single", best.number)):
        if number in fitted:
            yield name, fitted[number]
    yield "lightgbm", _lightgbm(inner, X, seed)


def _lightgbm(inner: Cohort, X: _Floats, seed: int) -> _Floats:
    design = DesignMatrix.for_features(inner.features).fit(inner.X)
    learner = LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it misses names of columns
        risks: _Floats = learner.fit(design.transform(inner.X), inner.y).predict_proba(design.transform(X))[:, 1]
    return risks


def _of_ensemble(
    ensemble: Ensemble, there: set[int], inner: Cohort, search: Search, fitted: dict[int, _Floats]
) -> _Floats:
    """As the delivery makes it: members that cannot be refitted left out, recalibrated by out-of-fold risks."""
    ensemble = ensemble.without({m.number for m in ensemble.members} - there)
    endpoint = make_endpoint(search.plan.sample(inner), search.plan.times)
    recalibration = endpoint.fit_recalibration(ensemble.out_of_fold_risks(search.history))
    w = np.array([m.weight for m in ensemble.members])
    averaged = average(w, np.array([fitted[m.number] for m in ensemble.members]), ensemble.scale)
    return recalibration.apply(np.clip(averaged, 0.0, 1.0))


def _fitted(lab: Laboratory, inner: Cohort, search: Search, numbers: list[int], X: _Floats) -> dict[int, _Floats]:
    """Test risks of single configurations, fitted to the training patients; those that end in time."""
    configurations = {e.number: e.configuration for e in search.history.succeeded}
    with lab.stored(to_parquet(inner)) as ref:
        calls = [Call(str(n), fit, (ref, configurations[n], search.plan)) for n in numbers if n in configurations]
        outcomes = lab.calls(calls, _FIT)
    return {
        int(key): np.asarray(load_estimator(outcome.value).predict_proba(X)[:, 1], dtype=np.float64)
        for key, outcome in outcomes.items()
        if outcome.status is CallStatus.SUCCEEDED
    }
