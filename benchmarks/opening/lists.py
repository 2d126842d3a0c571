"""What lists and rules are worth, by what the candidates said: figures ready for JSON.

L(list, rule)   log loss of the new patients, of the average that the rule makes of the list's members by their
                out-of-fold risks, recalibrated as a search delivers it; mean over splits, then over cohorts

Cohorts are put together by size, as the lists are. A standard error is over cohorts; `others` tells of a mean how far
it moves when any one cohort is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from autoprog.cohort import Binary, Cohort
from autoprog.endpoints import make_endpoint
from autoprog.ensemble import WEIGHING_RULES, Candidates, EnsembleName
from autoprog.evaluation import Evaluation, History, Status
from autoprog.performance import METRICS
from autoprog.search.opening import names_for
from autoprog.space import Configuration, Step, TableShape
from autoprog.validation import shrunk_recalibration
from benchmarks.opening.runs import Split

RULES: tuple[EnsembleName, ...] = ("blend", "pseudo_bma", "linear_pool", "greedy", "stacking")
SIZES = {"few": (0, 350), "some": (350, 2_000), "many": (2_000, 10**9)}
MEASURES = ("auc", "brier", "log_loss")
_LIMIT, _GREEDY_MEMBERS = 1e-6, 12
_NOBODY = Configuration(Step("none"), Step("none"), Step("none"), Step("none"))

_Floats = NDArray[np.float64]
Cohorts = dict[str, list[Split]]
Model = Callable[[Split], _Floats]
"""From a split to risks of its new patients."""


def read(folder: Path) -> Cohorts:
    """The splits of every cohort."""
    cohorts: Cohorts = defaultdict(list)
    for path in sorted(folder.glob("*.npz")):
        cohorts[path.stem.rsplit("-", 1)[0]].append(Split.load(path))
    return dict(cohorts)


def listed(split: Split) -> tuple[str, ...]:
    """The product's list for a split's patients."""
    n = len(split.y)
    return ("simple", *names_for(TableShape(n, 1, has_missing=False, n_minority=1), n))


def model_of(names: Sequence[str], rule: EnsembleName | None = "blend") -> Model:
    """An average by a rule; with equal weights where there is none."""

    def risks(split: Split) -> _Floats:
        places = [split.names.index(name) for name in names if name in split.names]
        w = np.full(len(places), 1.0 / len(places)) if rule is None else _weights(split, places, rule)
        averaged = w @ split.out_of_fold[places].astype(np.float64)
        recalibration = shrunk_recalibration(split.y, averaged)
        return recalibration.apply(w @ split.new[places].astype(np.float64))

    return risks


def _weights(split: Split, places: Sequence[int], rule: EnsembleName) -> _Floats:
    loss = METRICS["log_loss"]
    evaluations = tuple(
        Evaluation(i, 0, _NOBODY, Status.SUCCEEDED, loss.score(split.y, p), (), p)
        for i, p in enumerate(split.out_of_fold[list(places)])
    )
    cohort = Cohort("split", Binary("y", "1", "0"), (), np.empty((len(split.y), 0)), split.y)
    candidates = Candidates(History(loss, evaluations), None, make_endpoint(cohort), chosen_before=range(len(places)))
    members = WEIGHING_RULES[rule].weigh(candidates, np.random.default_rng(0)).members
    weights = np.zeros(len(places))
    weights[[m.number for m in members]] = [m.weight for m in members]
    return weights


def scores(cohorts: Cohorts, model: Callable[[Split], Model]) -> _Floats:
    """AUC, Brier score and log loss, shape = (cohorts, 3)."""
    return np.array([
        np.mean([_scores(split.new_y, model(split)(split)) for split in splits], axis=0) for splits in cohorts.values()
    ])  # fmt: skip


def _scores(y: NDArray[np.int8], risks: NDArray[np.floating]) -> _Floats:
    p = np.clip(risks, _LIMIT, 1 - _LIMIT)
    return np.array([roc_auc_score(y, p), brier_score_loss(y, p), log_loss(y, p)])


def figures(cohorts: Cohorts) -> dict[str, Any]:
    """All tables, by size."""
    found: dict[str, Any] = {}
    for size, (least, most) in SIZES.items():
        some = {name: splits for name, splits in cohorts.items() if least <= len(splits[0].y) < most}
        if len(some) > 1:
            found[size] = {
                "cohorts": {name: len(splits) for name, splits in some.items()},
                "models": _models(some),
                "first_members": _prefixes(some),
                "without": _without(some),
                "with": _with(some),
                "chosen_on_others": _chosen_on_others(some),
            }
    return found


def _models(cohorts: Cohorts) -> dict[str, Any]:
    """The list by every rule, its best member, the simple pipeline, the rival: means, and less the product's."""
    ours = scores(cohorts, lambda split: model_of(listed(split)))
    others = {rule: scores(cohorts, lambda split, r=rule: model_of(listed(split), r)) for rule in RULES[1:]}
    others |= {
        "equal_weights": scores(cohorts, lambda split: model_of(listed(split), None)),
        "every_candidate": scores(cohorts, lambda split: model_of(split.names)),
        "best_by_log_loss": scores(cohorts, lambda split: model_of([_best(split)])),
        "simple": scores(cohorts, lambda _: model_of(["simple"])),
        "logistic_by_auc": scores(cohorts, lambda _: lambda split: split.logistic.astype(np.float64)),
    }
    told = {"blend": {"mean": _named(ours.mean(axis=0))}}
    return told | {name: {"mean": _named(s.mean(axis=0)), **_less(s, ours)} for name, s in others.items()}


def _best(split: Split) -> str:
    names = [name for name in listed(split) if name in split.names]
    return min(names, key=lambda name: log_loss(split.y, split.out_of_fold[split.names.index(name)]))


def _prefixes(cohorts: Cohorts) -> list[dict[str, Any]]:
    """What the first members are worth, and the processor seconds that they take, the median over cohorts."""
    longest = max(len(listed(splits[0])) for splits in cohorts.values())
    found = []
    for k in range(1, longest + 1):
        s = scores(cohorts, lambda split, k=k: model_of(listed(split)[:k]))
        seconds = [
            split.seconds[[split.names.index(name) for name in listed(split)[:k] if name in split.names]].sum()
            for splits in cohorts.values()
            for split in splits[:1]
        ]
        last = listed(next(iter(cohorts.values()))[0])[k - 1]
        found.append({"member": last, "seconds": round(float(np.median(seconds)), 1), **_named(s.mean(axis=0))})
    return found


def _without(cohorts: Cohorts) -> dict[str, Any]:
    """The list without each of its members, less the list."""
    ours = scores(cohorts, lambda split: model_of(listed(split)))
    return {
        name: _less(scores(cohorts, lambda split, n=name: model_of([x for x in listed(split) if x != n])), ours)
        for name in listed(next(iter(cohorts.values()))[0])
    }


def _with(cohorts: Cohorts) -> dict[str, Any]:
    """The list with each other candidate, less the list."""
    ours = scores(cohorts, lambda split: model_of(listed(split)))
    known = sorted({name for splits in cohorts.values() for split in splits for name in split.names})
    added = [name for name in known if name not in listed(next(iter(cohorts.values()))[0])]
    return {name: _less(scores(cohorts, lambda split, n=name: model_of([*listed(split), n])), ours) for name in added}


def _chosen_on_others(cohorts: Cohorts) -> dict[str, Any]:
    """For every cohort a list that the other cohorts choose, measured on it, less the product's there."""
    ours = scores(cohorts, lambda split: model_of(listed(split)))
    lists = {name: _greedy({k: v for k, v in cohorts.items() if k != name}) for name in cohorts}
    theirs = np.concatenate([
        scores({name: splits}, lambda _, n=name: model_of(lists[n])) for name, splits in cohorts.items()
    ])  # fmt: skip
    counts: dict[str, int] = defaultdict(int)
    for names in lists.values():
        for name in names:
            counts[name] += 1
    return {**_less(theirs, ours), "chosen": dict(sorted(counts.items(), key=lambda item: -item[1]))}


def _greedy(cohorts: Cohorts) -> list[str]:
    """Members one by one, each the one that lowers the mean log loss of the plain average of the new patients most."""
    everybody = [set(split.names) for splits in cohorts.values() for split in splits]
    known = sorted(set.intersection(*everybody))
    parts = [
        (split.new_y, np.clip(split.new[[split.names.index(name) for name in known]].astype(np.float64), _LIMIT, 1), w)
        for splits in cohorts.values()
        for split in splits
        for w in [1.0 / len(splits)]
    ]
    chosen = [known.index("simple")]
    while len(chosen) < _GREEDY_MEMBERS + 1:
        losses = sum(w * _losses(y, (p[chosen].sum(axis=0) + p) / (len(chosen) + 1)) for y, p, w in parts)
        losses = np.where(np.isin(np.arange(len(known)), chosen), np.inf, losses)
        chosen.append(int(np.argmin(losses)))
    return [known[i] for i in chosen]


def _losses(y: NDArray[np.int8], p: _Floats) -> _Floats:
    return -np.log(np.clip(np.where(y == 1, p, 1 - p), _LIMIT, 1)).mean(axis=1)


def _less(s: _Floats, ours: _Floats) -> dict[str, Any]:
    d = s - ours
    n = len(d)
    error = d.std(axis=0, ddof=1) / np.sqrt(n)
    left_out = (d.sum(axis=0) - d[:, :]) / (n - 1)
    return {
        "difference": _named(d.mean(axis=0)),
        "standard_error": _named(error),
        "others": [round(float(left_out[:, 2].min()), 5), round(float(left_out[:, 2].max()), 5)],
    }


def _named(values: Iterable[float]) -> dict[str, float]:
    return {measure: round(float(value), 5) for measure, value in zip(MEASURES, values, strict=True)}
