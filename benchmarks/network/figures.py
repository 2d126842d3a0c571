"""Losses of the models by cohort, and of one beside its rivals: figures ready for JSON, and as text.

A cohort's figure is the mean over seeds, each of the risks of all its patients together. The loss is log loss, with
event times the Brier score integrated over the times that risks were asked for. A model wins a cohort by the lower
loss, and from all rivals if it is below each of theirs. A standard error is over cohorts; it is too small as a few of
them share patients: `pima_missing` and `pima`, `heart_uci4` and `heart_cleveland`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from autoprog.survival import censoring_survival, cumulative_dynamic_auc, integrated_brier
from benchmarks.network.tasks import GROUPS, SEEDS, Answer

RIVALS = {
    "binary": ("ridge", "boosting"),
    "competing": ("fine_gray", "cause_specific"),
    "survival": ("cause_specific",),
}
_LIMIT = 1e-6

Scores = dict[str, float]
"""By measure, the loss first."""
Table = dict[str, dict[str, Scores]]
"""By cohort and model."""


def read(folder: Path) -> Table:
    """Mean scores of every cohort that a model has answered for every seed."""
    table: Table = defaultdict(dict)
    for name in (name for group in GROUPS.values() for name in group):
        for model in sorted(path.name for path in folder.iterdir() if path.is_dir()):
            paths = [folder / model / f"{name}-{seed}.npz" for seed in SEEDS]
            if all(path.exists() for path in paths):
                table[name][model] = _means([_scores(Answer.load(path)) for path in paths])
    return dict(table)


def _scores(answer: Answer) -> Scores:
    risks = answer.risks.astype(np.float64)
    seconds = float(answer.seconds.sum())
    if not len(answer.times):
        p = np.clip(risks, _LIMIT, 1 - _LIMIT)
        measured = {"log_loss": log_loss, "auc": roc_auc_score, "brier": brier_score_loss}
        return {name: float(measure(answer.y, p)) for name, measure in measured.items()} | {"seconds": seconds}
    t, e, G = answer.time, answer.y, censoring_survival(answer.time, answer.y)
    return {
        "integrated_brier": integrated_brier(t, e, risks, answer.times, G),
        "auc": float(cumulative_dynamic_auc(t, e, risks, answer.times, G).mean()),
        "seconds": seconds,
    }


def _means(scores: Iterable[Scores]) -> Scores:
    listed = list(scores)
    return {name: float(np.mean([each[name] for each in listed])) for name in listed[0]}


def figures(table: Table, model: str | None = None) -> dict[str, Any]:
    """By group of cohorts: the table, means over the cohorts that every model has, and the model beside the others."""
    found: dict[str, Any] = {}
    for group, names in GROUPS.items():
        part = {name: table[name] for name in names if name in table}
        models = sorted({model for scores in part.values() for model in scores})
        whole = [scores for scores in part.values() if len(scores) == len(models)]
        if part:
            found[group] = {
                "cohorts": part,
                "means": {each: _means(scores[each] for scores in whole) for each in models if whole},
                "compared": _compared(part, model, models, RIVALS[group]) if model in models else {},
            }
    return found


def _compared(part: Table, model: str, models: list[str], rivals: tuple[str, ...]) -> dict[str, Any]:
    beside = {rival: _beside(part, model, (rival,)) for rival in models if rival != model}
    if len(rivals) > 1:
        beside["best of " + ", ".join(rivals)] = _beside(part, model, rivals)
    return {name: each for name, each in beside.items() if each}


def _beside(part: Table, model: str, rivals: tuple[str, ...]) -> dict[str, Any]:
    """The model less the rival with the lowest loss of each cohort."""
    pairs = [
        (scores[model], min((scores[rival] for rival in rivals), key=_loss))
        for scores in part.values()
        if {model, *rivals} <= set(scores)
    ]
    if not pairs:
        return {}
    differences = {
        measure: np.array([ours[measure] - theirs[measure] for ours, theirs in pairs])
        for measure in pairs[0][0]
        if measure != "seconds"
    }
    return {
        "cohorts": len(pairs),
        "wins": float(np.mean([_loss(ours) < _loss(theirs) for ours, theirs in pairs])),
        "difference": {measure: float(d.mean()) for measure, d in differences.items()},
        "standard_error": {
            measure: float(d.std(ddof=1) / len(d) ** 0.5) if len(d) > 1 else None for measure, d in differences.items()
        },
    }


def _loss(scores: Scores) -> float:
    return next(iter(scores.values()))


def as_text(found: dict[str, Any]) -> str:
    """Tables of the figures."""
    return "\n\n".join("\n".join(_lines(group, each)) for group, each in found.items())


def _lines(group: str, each: dict[str, Any]) -> Iterable[str]:
    rows: Table = each["cohorts"] | ({"mean": each["means"]} if each["means"] else {})
    models = sorted({model for scores in rows.values() for model in scores})
    measures = next(iter(next(iter(rows.values())).values()))
    for measure in measures:
        yield f"{group + ': ' + measure:28}" + "".join(f"{model:>16}" for model in models)
        digits = 1 if measure == "seconds" else 4
        for name, scores in rows.items():
            cells = (f"{scores[model][measure]:16.{digits}f}" if model in scores else " " * 16 for model in models)
            yield f"{name:28}" + "".join(cells)
        yield ""
    for rival, compared in each["compared"].items():
        parts = (
            f"{measure} {d:+.4f}"
            + ("" if (error := compared["standard_error"][measure]) is None else f" ({error:.4f})")
            for measure, d in compared["difference"].items()
        )
        yield f"less {rival}: wins {compared['wins']:.0%} of {compared['cohorts']}; " + ", ".join(parts)
