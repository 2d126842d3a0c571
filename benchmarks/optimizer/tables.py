"""The figures as tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def markdown(document: Mapping[str, Any]) -> str:
    """All tables.

    Parameters
    ----------
    document : mapping
        What `figures` gave.

    Returns
    -------
    str
        A page.
    """
    parts = ["# The optimizer against its rivals", _surrogates(document["surrogates"])]
    if document["outdated"]:
        parts.append(f"Changed since they ran: {', '.join(document['outdated'])}.")
    for kind, tables in (("Surrogates", document["tables"]), ("Real evaluations", document["live"])):
        for name, table in tables.items():
            parts += [f"## {kind}: {name}", *_sections(table)]
    if document["replays"]:
        parts += ["## Among the pools' evaluations", *_sections(document["replays"])]
    return "\n\n".join(parts) + "\n"


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _grid(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(_text(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _surrogates(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "No surrogates were fitted."
    head = list(rows[0])
    return _grid(head, ([row[name] for name in head] for row in rows))


def _sections(table: Mapping[str, Any]) -> list[str]:
    checkpoints = list(table["ranks"])
    parts = [f"Cohorts: {', '.join(table['cohorts'])}.", _beside(table), _regret(table, checkpoints), _proposer(table)]
    for t in checkpoints:
        if table["differences"][t]:
            parts += [f"### After {t} evaluations, ours minus each", _pairs(table["differences"][t])]
        if table["ablation"][t]:
            parts += [f"### After {t} evaluations, a variant minus what it varies", _pairs(table["ablation"][t])]
        if table["rival_wins"][t]:
            parts += [f"### After {t} evaluations, a rival is better", _wins(table["rival_wins"][t])]
        if table["ranks"][t]:
            parts += [f"### After {t} evaluations, mean ranks", _ranks(table["ranks"][t])]
    for t, reached in table["evaluations_to"].items():
        if reached:
            parts += [f"### Evaluations to TPE's regret of {t} ({reached['target']})", _reached(reached)]
    if "outer" in table:
        parts += [part for t, of_all in table["outer"].items() for part in _outer(t, of_all)]
    return parts


def _beside(table: Mapping[str, Any]) -> str:
    """Regret of the pick, and ours minus it: the tables of `docs/benchmarks.md`."""
    checkpoints = [t for t, pairs in list(table["differences"].items())[1:] if pairs]
    head = ["", *(cell for t in checkpoints for cell in (f"at {t}", "ours less it"))]
    rows = (
        [name, *(cell for t in checkpoints for cell in (_short(m["regret"][t]["picked"]), _pair(table, t, name)))]
        for name, m in table["methods"].items()
    )
    return "Regret of the pick, and ours minus each with its 95 % interval.\n\n" + _grid(head, rows)


def _pair(table: Mapping[str, Any], t: str, method: str) -> str:
    if (pair := table["differences"][t].get(method)) is None:
        return ""
    return f"{_short(pair['mean'], sign='+')} ({_short(pair['interval'][0])} to {_short(pair['interval'][1])})"


def _short(value: float | None, sign: str = "") -> str:
    """Three digits, without the nought before the point."""
    return "" if value is None else f"{round(value, 3) + 0.0:{sign}.3f}".replace("0.", ".", 1)


def _regret(table: Mapping[str, Any], checkpoints: Sequence[str]) -> str:
    columns = list(dict.fromkeys(c for m in table["methods"].values() for r in m["regret"].values() for c in r))
    last = checkpoints[-1]
    methods = sorted(
        table["methods"].items(), key=lambda item: item[1]["regret"][_sorting(checkpoints)]["picked"] or float("inf")
    )
    head = ["method", "runs", *(f"{c} {t}" for c in columns for t in checkpoints if c != "optimism" or t == last)]
    rows = [
        [
            name,
            of_method["runs"],
            *(of_method["regret"][t].get(c) for c in columns for t in checkpoints if c != "optimism" or t == last),
        ]
        for name, of_method in methods
    ]
    return "Normalised regret, 0 at the optimum, 1 at the median pipeline.\n\n" + _grid(head, rows)


def _sorting(checkpoints: Sequence[str]) -> str:
    return "50" if "50" in checkpoints else checkpoints[-1]


def _proposer(table: Mapping[str, Any]) -> str:
    spans = list(dict.fromkeys(s for m in table["methods"].values() for s in m["proposer_s"]))
    rows = ([name, *(m["proposer_s"].get(s) for s in spans)] for name, m in table["methods"].items())
    return "Seconds of the proposer for an evaluation, by the process's own time.\n\n" + _grid(["method", *spans], rows)


def _pairs(pairs: Mapping[str, Any]) -> str:
    rows = (
        [m, p.get("against", "-"), p["mean"], *p["interval"], *p["ratio"], f"{p['wins']} of {p['cohorts']}"]
        for m, p in pairs.items()
    )
    return _grid(["method", "against", "difference", "low", "high", "ratio", "low", "high", "better on"], rows)


def _wins(wins: Mapping[str, Any]) -> str:
    rows = ([m, ", ".join(f"{c} (+{d:.3f}, se {_text(e)})" for c, (d, e) in lost.items())] for m, lost in wins.items())
    return _grid(["rival", "cohorts"], rows)


def _ranks(ranks: Mapping[str, Any]) -> str:
    grid = _grid(["method", "mean rank"], ranks["mean"].items())
    return f"{grid}\n\nCritical difference {ranks['critical_difference']} ({ranks['cohorts']} cohorts)."


def _reached(reached: Mapping[str, Any]) -> str:
    rows = ([m, r["observed"], r["picked"]] for m, r in reached.items() if m != "target")
    return _grid(["method", "by the best observed", "by the pick"], rows)


def _outer(t: str, of_all: Mapping[str, Any]) -> list[str]:
    rows = ([m, f["mean"], f["ours_minus"], *f["interval"]] for m, f in of_all.items())
    return [
        f"### After {t} evaluations, the score on patients set aside",
        _grid(["method", "AUC-ROC", "ours minus it", "low", "high"], rows),
    ]
