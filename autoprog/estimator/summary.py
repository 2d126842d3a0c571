"""A fitted estimator on half a page, as text and for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from autoprog.frames import pipeline_text, score_text

_MEMBERS = 5


@dataclass(frozen=True)
class Summary:
    """What to know of a model first: print it, or let a notebook show it.

    Attributes
    ----------
    lines : tuple of (str, str)
        What is told, and its text.
    warnings : tuple of str
        What to know before trusting the model.
    """

    lines: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.lines)
        lines = [f"{name:<{width}}  {text}" for name, text in self.lines]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self.lines
        )
        warned = "".join(f"<li>{escape(text)}</li>" for text in self.warnings)
        return f"<table>{rows}</table>" + (f"<p>Warnings</p><ul>{warned}</ul>" if warned else "")


def summarise(
    cohort: Mapping[str, Any],
    settings: Mapping[str, Any],
    ensemble: Mapping[str, Any],
    rules: Mapping[str, Any],
    warnings: Sequence[str],
) -> Summary:
    """Summarise the documents of a search."""
    baseline = ensemble.get("baseline")
    lines = [
        ("outcome", outcome_text(cohort["outcome"])),
        ("patients", f"{cohort['n_patients']:,}, {cohort['event_rate']:.1%} with the outcome"),
        ("features", f"{len(cohort['features'])}"),
        (settings["metric"], score_text(ensemble["score"])),
        ("simple model", "not evaluated" if baseline is None else score_text(baseline["score"])),
        *_calibration(ensemble),
        ("ensemble", f"{len(ensemble['members'])} pipelines"),
        *((f"  {m['weight']:.1%}", pipeline_text(m["configuration"])) for m in ensemble["members"][:_MEMBERS]),
        *((f"{s['name']} risk", _stratum(s)) for s in rules["strata"]),
        ("intervals", ensemble["interval"]["method"]),
    ]
    return Summary(tuple(lines), (*cohort["warnings"], *warnings))


def outcome_text(outcome: Mapping[str, Any]) -> str:
    """The predicted outcome: `died = yes`."""
    from autoprog.cohort import outcome_from_json  # noqa: PLC0415  pydantic, which `import autoprog` does without

    return outcome_from_json(outcome).target.equation


def _calibration(ensemble: Mapping[str, Any]) -> list[tuple[str, str]]:
    if (performance := ensemble.get("performance")) is not None:
        return [("calibration", _slope(performance))]
    return [
        (f"until {each['horizon']:g}", f"AUC {_number(each['performance']['auc'])}, {_slope(each['performance'])}")
        for each in ensemble["horizons"]
    ]


def _slope(performance: Mapping[str, Any]) -> str:
    return f"slope {_number(performance['slope'])}, expected over observed {_number(performance['expected_observed'])}"


def _number(value: float | Mapping[str, float] | None) -> str:
    """A measure, alone or with its interval, as it is at a horizon."""
    if value is None:
        return "unknown"
    return f"{value['estimate'] if isinstance(value, Mapping) else value:.2f}"


def _stratum(stratum: Mapping[str, Any]) -> str:
    where = "" if stratum.get("horizon") is None else f" until {stratum['horizon']:g}"
    return f"{stratum['lower']:.1%} to {stratum['upper']:.1%}{where}: {stratum['fraction']:.0%} of the patients"
