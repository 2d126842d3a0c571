"""What the parts of a search are worth: the rows of the source's Table 2, on open cohorts, beside rivals.

A line of the shards' file is one fold of one cohort: the area under the curve, or of event times Uno's concordance,
among patients whom no method has seen, of

    vanilla             the best configuration of a search that knows nothing of other cohorts
    ensemble            what the same search delivers
    meta_learning       the best configuration of a search that begins with what open cohorts have taught
    full                what that search delivers
    simple              logistic regression or Cox's model behind the median
    flaml               FLAML, as it comes, the same time on as many cores             binary outcomes
    tpe_each            one TPE study for every learner over our space, as AutoPrognosis 2.0 searches; its best
                        configuration                                                   binary outcomes
    framingham_score    the office-based score of 2008                                  framingham

The open cohorts teach nothing of their own study: a search passes over those whose columns its cohort has.

References
----------
Alaa & van der Schaar 2018, ICML, Table 2; D'Agostino et al. 2008, Circulation 117:743 (body mass index in place of
lipids; learnt from other patients of the same study).
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from autoprog.cohort import Cohort, to_parquet
from autoprog.evaluation import Evaluation, Plan, Status
from autoprog.model import load_estimator
from autoprog.optimizer import Start
from autoprog.performance import METRICS, ScoringContext, make_event_metric
from autoprog.search.evaluation_stream import EvaluationStream
from autoprog.search.planning import plan_for, plan_search
from autoprog.search.settings import SearchSettings
from autoprog.search.tasks import fit
from autoprog.space import Configuration
from autoprog.space.design_matrix import DesignMatrix
from autoprog.work import Call, CallLimits, CallStatus
from benchmarks.ensembles.events import load as load_events
from benchmarks.ensembles.laboratory import Laboratory, Search
from benchmarks.ensembles.lines import Shard, write_missing
from benchmarks.optimizer.methods import METHODS
from benchmarks.optimizer.problem import Problem
from training.prior.cohorts import family_of, whole

COHORTS = (
    "birthwt", "cardio", "diabetes", "framingham", "gbsg2", "heart_cleveland", "hepatitis", "ilpd", "metabric", "pima",
    "stroke", "whas500",
)  # fmt: skip
EVENT_COHORTS = ("actg320", "colon", "lung", "veteran")
ROWS = ("vanilla", "ensemble", "meta_learning", "full", "simple", "flaml", "tpe_each", "framingham_score")
FOLDS, TIME_S, MAX_PATIENTS = 3, 20.0, 5_000

_FIT = CallLimits(60, 4096)
_EVALUATION = CallLimits(8, 4096)
_RESAMPLES = 10_000

_Floats = NDArray[np.float64]


def shards(cohorts: tuple[str, ...]) -> list[Shard]:
    """A fold of every cohort before the next, so that what is there when it is broken off compares."""
    return [(cohort, fold) for fold in range(FOLDS) for cohort in cohorts]


def run(asked: list[Shard], data: Path, path: Path, time_s: float, slots: int) -> None:
    """Write a line for every shard that has none yet."""
    write_missing(asked, path, slots, lambda lab, shard: measure(lab, shard, load(shard[0], data), time_s, slots))


def load(name: str, data: Path) -> Cohort:
    """A cohort; of a large one `MAX_PATIENTS`."""
    if name in EVENT_COHORTS:
        return load_events(name, data)
    cohort, _ = whole(name, data)
    return Plan("auc_roc", FOLDS, 1, 0, patients=min(cohort.n_patients, MAX_PATIENTS)).sample(cohort)


def measure(lab: Laboratory, shard: Shard, cohort: Cohort, time_s: float, slots: int) -> dict[str, Any]:
    """Let every method see the training patients, and score it on the others."""
    name, fold = shard
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    train, test = list(splitter.split(cohort.X, cohort.y))[fold]
    inner, X = cohort.take(train), cohort.X[test]
    settings = {"budget": {"time_s": time_s, "evaluations": 10_000}, "seed": fold}
    cold = lab.search(inner, {**settings, "warm_start": False})
    warm = lab.search(inner, settings)
    simple = cold.history.evaluations[0].configuration
    risks = {
        "vanilla": _best_of(lab, inner, cold, X),
        "ensemble": _delivered(cold, X),
        "meta_learning": _best_of(lab, inner, warm, X),
        "full": _delivered(warm, X),
        "simple": _of_configuration(lab, inner, simple, cold.plan, X),
    }
    if not cohort.has_times:
        risks["flaml"] = _flaml(inner, X, fold, time_s, slots)
        risks["tpe_each"] = _tpe_each(lab, inner, X, fold, time_s, slots)
    if name == "framingham":
        risks["framingham_score"] = framingham_score(cohort, X)
    return {
        "cohort": name,
        "fold": fold,
        "time_s": time_s,
        "metric": "uno_c" if cohort.has_times else "auc_roc",
        "taught_by": 0 if warm.start is None else warm.start.n_cohorts,
        "evaluations": {"cold": len(cold.history.succeeded), "warm": len(warm.history.succeeded)},
        "total_s": {"cold": round(cold.total_s, 2), "warm": round(warm.total_s, 2)},
        "scores": {row: _score(cohort, test, q) for row, q in risks.items()},
    }


def _score(cohort: Cohort, test: NDArray[np.intp], risks: _Floats | None) -> float | None:
    """None for a method that ended without a model."""
    if risks is None:
        return None
    if not cohort.has_times:
        return round(float(METRICS["auc_roc"].score(cohort.y[test], risks)), 6)
    metric = make_event_metric("uno_c", ScoringContext.of(cohort, cohort.horizons))
    return round(metric.score(cohort.outcomes[test], risks), 6)


def _delivered(search: Search, X: _Floats) -> _Floats:
    return search.result.model.risks(X)


def _best_of(lab: Laboratory, inner: Cohort, search: Search, X: _Floats) -> _Floats | None:
    best = search.history.best()
    return None if best is None else _of_configuration(lab, inner, best.configuration, search.plan, X)


def _of_configuration(
    lab: Laboratory, inner: Cohort, configuration: Configuration, plan: Plan, X: _Floats
) -> _Floats | None:
    """Risks by one configuration, fitted to all training patients; None where that fails."""
    with lab.stored(to_parquet(inner)) as ref:
        outcome = lab.calls([Call("fit", fit, (ref, configuration, plan))], _FIT)["fit"]
    if outcome.status is not CallStatus.SUCCEEDED:
        return None
    fitted = load_estimator(outcome.value)
    if inner.has_times:
        return np.asarray(inner.target.predict_risks(fitted, X, inner.horizons), dtype=np.float64)
    return np.asarray(fitted.predict_proba(X)[:, 1], dtype=np.float64)


def _flaml(inner: Cohort, X: _Floats, seed: int, time_s: float, slots: int) -> _Floats:
    from flaml import AutoML  # noqa: PLC0415  figures can be had without it

    design = DesignMatrix.for_features(inner.features).fit(inner.X)

    def frame(X: _Floats) -> pd.DataFrame:
        """Of a frame FLAML imputes missing cells, of an array it does not."""
        return pd.DataFrame(design.transform(X)).add_prefix("x")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rival's
        learner = AutoML(
            task="classification", metric="roc_auc", time_budget=time_s, n_jobs=slots, seed=seed, verbose=0
        )
        learner.fit(frame(inner.X), inner.y)
        return np.asarray(learner.predict_proba(frame(X))[:, 1], dtype=np.float64)


def _tpe_each(lab: Laboratory, inner: Cohort, X: _Floats, seed: int, time_s: float, slots: int) -> _Floats | None:
    """As many configurations at once as there are slots; the best is fitted when time is up."""
    ends = time.monotonic() + time_s
    asked, _ = plan_search(SearchSettings(seed=seed), inner)
    plan = plan_for(asked, inner, asked.folds or 0)
    method = METHODS["tpe_each"].start(Problem(plan.shape(inner)), seed, 10_000, Start())
    evaluations: list[Evaluation] = []
    batch = 0
    with lab.stored(to_parquet(inner)) as ref:
        while time.monotonic() < ends:
            stream = EvaluationStream(ref=ref, cohort=inner, plan=plan, limits=_EVALUATION)
            stream.add(batch, dict(enumerate(method.ask(slots), len(evaluations))), race=None)
            answers = list(stream.run(lab.engine, lambda: time.monotonic() >= ends))
            if any(answer.status is Status.CANCELLED for answer in answers):
                break
            answers.sort(key=lambda answer: answer.number)
            method.tell(answers)
            evaluations += answers
            batch += 1
    best = max(evaluations, key=lambda e: -np.inf if e.score is None else e.score, default=None)
    if best is None or best.score is None:
        return None
    return _of_configuration(lab, inner, best.configuration, plan, X)


# Coefficients of men and women: log age, log body mass index, log systolic pressure untreated and treated, smoking,
# diabetes; their mean, which moves all risks of a sex alike; survival to ten years.
_MEN = ((3.11296, 0.79277, 1.85508, 1.92672, 0.70953, 0.53160), 23.9388, 0.88431)
_WOMEN = ((2.72107, 0.51125, 2.81291, 2.88267, 0.61868, 0.77763), 26.0145, 0.94833)


def framingham_score(cohort: Cohort, X: _Floats) -> _Floats:
    """Risk of cardiovascular disease within ten years.

    Parameters
    ----------
    cohort : Cohort
        Framingham's, with the columns of its teaching data.
    X : ndarray, shape = (n, n_features)
        Patients; a missing cell counts as the cohort's median.

    Returns
    -------
    ndarray, shape = (n,)
        In [0, 1].
    """
    names = [feature.name for feature in cohort.features]
    medians = np.nanmedian(cohort.X, axis=0)
    filled = np.where(np.isnan(X), medians, X)
    male, age, bmi, pressure, treated, smokes, diabetes = (
        filled[:, names.index(n)] for n in ("male", "age", "bmi", "sysbp", "bpmeds", "currentsmoker", "diabetes")
    )
    risks = []
    for (b_age, b_bmi, b_untreated, b_treated, b_smokes, b_diabetes), mean, survival in (_WOMEN, _MEN):
        b_pressure = np.where(treated > 0, b_treated, b_untreated)
        total = b_age * np.log(age) + b_bmi * np.log(bmi) + b_pressure * np.log(pressure)
        total += b_smokes * smokes + b_diabetes * diabetes
        risks.append(1.0 - survival ** np.exp(total - mean))
    return np.where(male > 0, risks[1], risks[0])


def ablation_figures(lines: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Means by cohort, and by what the full search is better than each row, with an interval over resampled studies."""
    if not lines:
        return None
    cohorts = sorted({line["cohort"] for line in lines})
    table = {cohort: _means([line for line in lines if line["cohort"] == cohort]) for cohort in cohorts}
    return {
        "folds": len(lines),
        "cohorts": table,
        "full_minus": {row: found for row in ROWS if row != "full" and (found := _difference(table, row)) is not None},
        "evaluations": {
            which: float(np.mean([line["evaluations"][which] for line in lines])) for which in ("cold", "warm")
        },
        "longest_total_s": max(s for line in lines for s in line["total_s"].values()),
    }


def _means(lines: list[dict[str, Any]]) -> dict[str, float | None]:
    """Over folds; a method that ended without a model counts as guessing."""
    rows = [row for row in ROWS if row in lines[0]["scores"]]
    scores = {row: [line["scores"][row] for line in lines] for row in rows}
    return {row: float(np.mean([0.5 if s is None else s for s in of_row])) for row, of_row in scores.items()}


def _difference(table: dict[str, dict[str, float | None]], row: str) -> dict[str, Any] | None:
    by_study: dict[str, list[float]] = {}
    for cohort, means in table.items():
        full, other = means.get("full"), means.get(row)
        if full is not None and other is not None:
            by_study.setdefault(family_of(cohort), []).append(full - other)
    if not by_study:
        return None
    differences = np.array([np.mean(values) for _, values in sorted(by_study.items())])
    resampled = np.random.default_rng(0).choice(differences, (_RESAMPLES, len(differences))).mean(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975]).tolist()
    return {
        "mean": float(differences.mean()),
        "interval": [low, high],
        "studies": len(differences),
        "full_is_worse_on": sorted(
            c for c, m in table.items() if (o := m.get(row)) is not None and (f := m.get("full")) is not None and f < o
        ),
    }
