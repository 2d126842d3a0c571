"""Whether what a search says of its model is true, on simulated cohorts, where the truth is known.

A line of the shards' file is one cohort: the score with its interval, the AUC that the delivered model truly has among
100,000 patients, the naive score (the best cross-validated one), and how many of 2,000 patients have an interval that
covers their true risk, also when some of their values are withheld: the truth stays P(outcome | all features).

With event times the same patients have the event by the horizon with the same probability: T is Weibull's, of shape
1.3, and three in ten are censored before the horizon at most. Of these the patients' intervals alone are measured.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from autoprog.cohort import TimeToEvent
from autoprog.model import PrognosticModel
from benchmarks.ensembles.laboratory import Laboratory, Search, laboratory
from benchmarks.ensembles.lines import read
from benchmarks.ensembles.simulated import SIZES, TRUTHS, Nature

COHORTS, TIME_S = 200, 10.0
# Of the intervals of patients' risks, which need longer searches.
PATIENT_COHORTS, EVENT_COHORTS, PATIENT_TIME_S = 20, 9, 30.0
TRUTH_PATIENTS, INTERVAL_PATIENTS = 100_000, 2_000
WITHHELD, WITHHELD_PATIENTS = (1, 2, 3, 5, 9), 500

# Apart from the seeds that intervals were chosen by: of patients those of `_equivalence`, of the score 10,000 to
# 10,135, on which percentiles were too narrow.
_FIRST_SEED = 20_000


_HORIZON, _SHAPE, _CENSORED = 5.0, 1.3, 0.3


def design(number: int) -> tuple[str, int]:
    """Truth and size of a cohort: any twenty in a row have all of them."""
    return TRUTHS[number % len(TRUTHS)], SIZES[number // len(TRUTHS) % len(SIZES)]


def run(path: Path, numbers: range, time_s: float, slots: int, *, event_times: bool = False) -> None:
    """Search the cohorts that the file does not hold yet; each is written when it is done."""
    one = measure_event_times if event_times else measure
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {row["number"] for row in read(path) if row["time_s"] == time_s}
    missing = [number for number in numbers if number not in done]
    if not missing:
        return
    with laboratory(slots) as lab, path.open("a", encoding="utf-8") as file:
        for number in missing:
            file.write("\n" + json.dumps(one(lab, number, time_s)))
            file.flush()
            os.fsync(file.fileno())


def measure(lab: Laboratory, number: int, time_s: float) -> dict[str, Any]:
    """One search, and what is true of it."""
    truth, size = design(number)
    nature = Nature(truth, _FIRST_SEED + number)
    cohort, _ = nature.cohort(size, np.random.default_rng([_FIRST_SEED, number]))
    search = lab.search(cohort, {"budget": {"time_s": time_s, "evaluations": 10_000}, "seed": number})
    score = search.result.ensemble["score"]
    others = nature.patients(TRUTH_PATIENTS, np.random.default_rng([_FIRST_SEED, number, 1]))
    p = nature.risks(others)
    q = _predicted(search.result.model, others)
    return {
        "number": number,
        "truth": truth,
        "n_patients": size,
        "time_s": time_s,
        "evaluations": len(search.history.succeeded),
        "members": len(search.result.ensemble["members"]),
        "total_s": round(search.total_s, 2),
        "validation_s": round(search.validation_s, 2),
        **{name: round(score[name], 5) for name in ("estimate", "lower", "upper")},
        "true_auc": round(true_auc(p, q), 5),
        **_naive(search),
        **_of_patients(search.result.model, others[:INTERVAL_PATIENTS], p[:INTERVAL_PATIENTS]),
        "withheld": _of_gaps(search.result.model, others[:WITHHELD_PATIENTS], p[:WITHHELD_PATIENTS], number),
        "squared_error": round(float(np.mean((q - p) ** 2)), 6),
    }


def measure_event_times(lab: Laboratory, number: int, time_s: float) -> dict[str, Any]:
    """The same of patients with event times: of the intervals alone."""
    truth, size = design(number)
    nature, rng = Nature(truth, _FIRST_SEED + number), np.random.default_rng([_FIRST_SEED, number, 2])
    binary, p = nature.cohort(size, rng)
    time = _HORIZON * (rng.exponential(size=size) / -np.log1p(-p)) ** (1 / _SHAPE)
    censored = np.where(rng.random(size) < _CENSORED, rng.uniform(0, _HORIZON, size), 2 * _HORIZON)
    cohort = replace(
        binary,
        outcome=TimeToEvent("time", "event", "1", (_HORIZON,)),
        y=(time <= censored).astype(np.int8),
        time=np.minimum(time, censored),
    )
    search = lab.search(cohort, {"budget": {"time_s": time_s, "evaluations": 10_000}, "seed": number})
    others = nature.patients(INTERVAL_PATIENTS, np.random.default_rng([_FIRST_SEED, number, 1]))
    p = nature.risks(others)
    return {
        "number": number,
        "truth": truth,
        "n_patients": size,
        "time_s": time_s,
        "evaluations": len(search.history.succeeded),
        "members": len(search.result.ensemble["members"]),
        **_of_patients(search.result.model, others, p),
        "withheld": _of_gaps(search.result.model, others[:WITHHELD_PATIENTS], p[:WITHHELD_PATIENTS], number),
    }


def true_auc(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """AUC of the risks q among patients whose outcomes have the probabilities p: every patient counts as both."""
    y = np.repeat([1, 0], len(p))
    return float(roc_auc_score(y, np.tile(q, 2), sample_weight=np.concatenate([p, 1 - p])))


def _naive(search: Search) -> dict[str, float]:
    """The best configuration's score, which a search without a correction would tell, and the ensemble's own."""
    best = search.history.best()
    assert best is not None
    assert best.score is not None
    return {
        "naive": round(float(best.score), 5),
        "uncorrected": round(float(search.result.ensemble["performance"]["auc_roc"]), 5),
    }


def _predicted(model: PrognosticModel, X: NDArray[np.float64]) -> NDArray[np.float64]:
    with ThreadPoolExecutor(2) as pool:
        return np.concatenate(list(pool.map(model.risks, np.array_split(X, 20))))


def _bounds(model: PrognosticModel, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    q, intervals = model.risks_with_intervals(X)
    if not model.horizons:
        return q, intervals
    return q[:, -1], None if intervals is None else intervals[:, -1]


def _of_gaps(
    model: PrognosticModel, X: NDArray[np.float64], p: NDArray[np.float64], number: int
) -> list[tuple[int, float, float]]:
    """Of patients from whom so many values are withheld, each time more of the same: share covered, median width."""
    order = np.random.default_rng([_FIRST_SEED, number, 3]).random(X.shape).argsort(axis=1).argsort(axis=1)
    told = []
    for k in (0, *WITHHELD):
        _, intervals = _bounds(model, np.where(order < k, np.nan, X))
        if intervals is None:
            return []
        inside, width = (intervals[:, 0] <= p) & (p <= intervals[:, 1]), np.ptp(intervals, axis=1)
        told.append((k, round(float(inside.mean()), 4), round(float(np.median(width)), 4)))
    return told


def _of_patients(model: PrognosticModel, X: NDArray[np.float64], p: NDArray[np.float64]) -> dict[str, Any]:
    q, intervals = _bounds(model, X)
    if intervals is None:
        return {"covered": None, "interval_method": model.interval_method}
    inside = (intervals[:, 0] <= p) & (p <= intervals[:, 1])
    width = intervals[:, 1] - intervals[:, 0]
    thirds = np.digitize(q, np.quantile(q, [1 / 3, 2 / 3]))
    return {
        "covered": round(float(inside.mean()), 4),
        "covered_by_risk": [round(float(inside[thirds == third].mean()), 4) for third in range(3)],
        "width": round(float(np.median(width)), 4),
        "interval_method": model.interval_method,
    }
