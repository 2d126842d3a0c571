"""What other families' cohorts teach, judged without a search: by the weights of the cohorts, and the outlook.

For every cohort, from the pools of the other families: the regret of the best pipeline of the portfolio; the rank
correlation of the prior mean of the pool's pipelines with their scores, and of that of algorithms alone; and, of the
outlook, the interval score at its level of the gain of the picked algorithm, beside that of a point at the mean gain of
the other cohorts, and of Student's interval of these gains, all cohorts alike.

    interval score   (u - l) + 2 / (1 - level) [(l - x)+ + (x - u)+]

References
----------
Gneiting & Raftery 2007, J. Am. Stat. Assoc. 102:359, section 6.2 (interval score).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr, t

from autoprog.evaluation import Status
from autoprog.metalearning import comparable_statistics, outlook
from autoprog.metalearning.outlook import LEVEL
from autoprog.metalearning.similarity import WeightForm
from autoprog.optimizer import Start
from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.main_effects import basis, term_names
from benchmarks.optimizer.comparison import interval
from benchmarks.optimizer.landscape import SURROGATES, landscape
from benchmarks.optimizer.problem import Problem
from benchmarks.optimizer.transfer import learnt
from training.prior.cohorts import family_of
from training.prior.learning import collect_statistics, others_of
from training.prior.pools import Pool, all_names, names, read

_FORMS: tuple[WeightForm, WeightForm] = ("softmin", "printed")
_OF_WEIGHTS = ("portfolio_regret", "prior_mean_correlation", "algorithms_correlation")


def lessons(folder: Path) -> dict[str, Any]:
    """All figures.

    Parameters
    ----------
    folder : Path
        Of the pools.

    Returns
    -------
    dict
        As JSON.
    """
    of_weights = {
        name: {form: _by_weights(name, folder, form) for form in _FORMS}
        for name in all_names(folder)
        if read(name, folder).shape.mode == "classification"
    }
    means = {figure: _compared(of_weights, figure) for figure in _OF_WEIGHTS}
    return {"weights": {"cohorts": of_weights, "means": means}, "outlook": _outlooks(folder)}


def _compared(of_weights: Mapping[str, Mapping[WeightForm, Mapping[str, float]]], figure: str) -> dict[str, Any]:
    """Means over cohorts, and the mean difference of our weights from those printed, its interval over families."""
    of_families: dict[str, list[list[float]]] = {}
    for name, each in of_weights.items():
        if figure in each["softmin"]:
            of_families.setdefault(family_of(name), []).append([each[form][figure] for form in _FORMS])
    means = np.array([np.mean(values, axis=0) for _, values in sorted(of_families.items())])
    differences = means[:, 0] - means[:, 1]
    return {
        **dict(zip(_FORMS, np.round(means.mean(axis=0), 4).tolist(), strict=True)),
        "difference": round(float(differences.mean()), 4),
        "interval": np.round(interval(differences.tolist()), 4).tolist(),
        "families": len(means),
    }


def _by_weights(name: str, folder: Path, form: WeightForm) -> dict[str, float]:
    """The regret only where there is a pool large enough to stand for evaluations."""
    pool = read(name, folder)
    start = learnt(name, folder, Problem(pool.shape), form)
    correlations = _correlations(start, pool)
    if name not in names(folder):
        return correlations
    return {
        "portfolio_regret": round(float(np.mean([_regret(start, name, folder, s) for s in SURROGATES])), 4),
        **correlations,
    }


def _regret(start: Start, name: str, folder: Path, surrogate: str) -> float:
    surface = landscape(read(name, folder), surrogate)
    return float(surface.regret(surface.truth(start.portfolio)).min())


def _correlations(start: Start, pool: Pool) -> dict[str, float]:
    encoding = Encoding(pool.space)
    scored = [entry for entry in pool.entries if entry.status is Status.SUCCEEDED]
    scores = [np.mean(entry.fold_scores) for entry in scored]
    phi = basis(encoding, encoding.encode([entry.configuration for entry in scored]))
    mu = np.array([start.offsets.get(term, 0.0) for term in term_names(encoding)])
    n = encoding.n_algorithms
    return {
        "prior_mean_correlation": round(float(spearmanr(phi @ mu, scores).statistic), 4),
        "algorithms_correlation": round(float(spearmanr(phi[:, :n] @ mu[:n], scores).statistic), 4),
    }


def _outlooks(folder: Path) -> dict[str, Any]:
    rows = {name: row for name in all_names(folder) if (row := _outlook(name, folder)) is not None}
    known = [row for row in rows.values() if row["interval"] is not None]
    committed = [row for row in known if row["interval"][0] > 0 or row["interval"][1] < 0]
    return {
        "cohorts": rows,
        "level": LEVEL,
        "known": len(known),
        "covered": sum(row["interval"][0] <= row["gain"] <= row["interval"][1] for row in known),
        "interval_score": {
            which: round(float(np.mean([row["scores"][which] for row in known])), 5)
            for which in ("outlook", "mean_gain", "all_alike")
        }
        if known
        else None,
        "committed": len(committed),
        "right_sign": sum((row["interval"][0] > 0) == (row["gain"] > 0) for row in committed),
    }


def _outlook(name: str, folder: Path) -> dict[str, Any] | None:
    own = collect_statistics(name, folder)
    if own is None:
        return None
    mode = read(name, folder).shape.mode
    others = comparable_statistics(others_of(name, folder), mode, own.metric)
    expectation = outlook(own.meta_features, others, mode=mode, metric=own.metric).expectation
    if expectation is None:
        return {"gain": None, "interval": None}
    gains = {g.algorithm: g.best for g in own.algorithms}
    if expectation.algorithm not in gains:
        return None
    gain = gains[expectation.algorithm]
    of_others = np.array([g.best for s in others for g in s.algorithms if g.algorithm == expectation.algorithm])
    mean, n = float(of_others.mean()), len(of_others)
    half = float(t.ppf((1 + LEVEL) / 2, n - 1) * of_others.std(ddof=1) * np.sqrt(1 + 1 / n))
    return {
        "algorithm": expectation.algorithm,
        "gain": round(gain, 5),
        "interval": [round(expectation.lower, 5), round(expectation.upper, 5)],
        "probability": round(expectation.probability, 3),
        "scores": {
            "outlook": interval_score(gain, expectation.lower, expectation.upper),
            "mean_gain": interval_score(gain, mean, mean),
            "all_alike": interval_score(gain, mean - half, mean + half),
        },
    }


def interval_score(x: float, lower: float, upper: float) -> float:
    """Of an interval of `LEVEL`; less is better."""
    return upper - lower + 2.0 / (1.0 - LEVEL) * (max(lower - x, 0.0) + max(x - upper, 0.0))
