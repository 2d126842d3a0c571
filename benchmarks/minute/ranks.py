"""Mean ranks, and differences paired by cohort and split, of the runs that all peers have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import rankdata

SIGNS = {"auc": -1.0, "uno_c": -1.0, "brier": 1.0, "logloss": 1.0}


def table(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of each measure the mean rank, 1 is best; the mean difference of every two peers with its standard error.

    A run that failed ranks last and is in no difference. The standard error is over cohorts, whose splits are averaged.
    """
    runs: dict[tuple[str, int], dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        runs[row["cohort"], row["seed"]][row["peer"]] = row
    peers = sorted({row["peer"] for row in rows})
    whole = {key: run for key, run in runs.items() if len(run) == len(peers)}
    if not whole:
        return {"peers": peers, "runs": 0}
    measures = [measure for measure in SIGNS if any(measure in row for row in rows)]
    return {
        "runs": len(whole),
        "cohorts": len({cohort for cohort, _ in whole}),
        "failed": {peer: sum("failed" in run[peer] for run in whole.values()) for peer in peers},
        "seconds": {peer: max(run[peer].get("seconds", 0.0) for run in whole.values()) for peer in peers},
        "mean_rank": {measure: _ranks(whole, peers, measure) for measure in measures},
        "difference": {
            f"{one} less {other}": {measure: _difference(whole, one, other, measure) for measure in measures}
            for one, other in combinations(peers, 2)
        },
    }


def _ranks(whole: dict[tuple[str, int], Any], peers: list[str], measure: str) -> dict[str, float]:
    sign = SIGNS[measure]
    values = [[sign * run[peer].get(measure, sign * np.inf) for peer in peers] for run in whole.values()]
    ranks = np.mean([rankdata(v) for v in values], axis=0)
    return {peer: round(float(rank), 2) for peer, rank in zip(peers, ranks, strict=True)}


def _difference(whole: dict[tuple[str, int], Any], one: str, other: str, measure: str) -> dict[str, float]:
    by_cohort: dict[str, list[float]] = defaultdict(list)
    for (cohort, _), run in whole.items():
        if measure in run[one] and measure in run[other]:
            by_cohort[cohort].append(run[one][measure] - run[other][measure])
    if not by_cohort:
        return {"mean": float("nan"), "standard_error": float("nan")}
    means = np.array([np.mean(each) for each in by_cohort.values()])
    error = float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else float("nan")
    return {"mean": round(float(means.mean()), 5), "standard_error": round(error, 5)}
