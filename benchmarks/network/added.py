"""What the network adds to the opening's list, on splits that `benchmarks/opening` kept: figures ready for JSON."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.network.models import network
from benchmarks.network.tasks import BINARY, Fold
from benchmarks.opening.lists import MEASURES, Cohorts, listed, model_of, scores
from benchmarks.opening.runs import Split, divide

_NAME = "prior_network"


def answer(path: Path, data: Path) -> None:
    """Put what the network says into the file of a split, unless it is there."""
    split = Split.load(path)
    if _NAME in split.names:
        return
    name, _, seed = path.stem.rpartition("-")
    patients, others, plan = divide(name, int(seed), data)
    out_of_fold = np.empty(patients.n_rows, np.float32)
    for number in range(plan.n_folds):
        fold = plan.fold(patients, number)
        out_of_fold[fold.test] = network(Fold(patients.take(fold.train), patients.X[fold.test], plan.seed))
    new = network(Fold(patients, others.X, plan.seed)).astype(np.float32)
    replace(
        split,
        names=(*split.names, _NAME),
        out_of_fold=np.vstack([split.out_of_fold, out_of_fold]),
        new=np.vstack([split.new, new]),
        seconds=np.append(split.seconds, np.nan),
    ).save(path)


def added(folder: Path, data: Path) -> dict[str, Any]:
    """Scores of the list, and less these those of the list with the network, and of the network alone."""
    cohorts: Cohorts = defaultdict(list)
    for path in sorted(folder.glob("*.npz")):
        name = path.stem.rpartition("-")[0]
        if name in BINARY:
            answer(path, data)
            cohorts[name].append(Split.load(path))
    ours = scores(cohorts, lambda split: model_of(listed(split)))
    others = {
        "list_with_network": scores(cohorts, lambda split: model_of([*listed(split), _NAME])),
        "network": scores(cohorts, lambda _: model_of([_NAME])),
    }
    return {
        "splits": {name: len(splits) for name, splits in cohorts.items()},
        "list": dict(zip(MEASURES, ours.mean(axis=0).round(5).tolist(), strict=True)),
        **{name: _less(theirs - ours) for name, theirs in others.items()},
    }


def _less(d: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, dict[str, float]]:
    error = d.std(axis=0, ddof=1) / len(d) ** 0.5
    return {
        measure: {"difference": round(float(mean), 5), "standard_error": round(float(e), 5)}
        for measure, mean, e in zip(MEASURES, d.mean(axis=0), error, strict=True)
    }
