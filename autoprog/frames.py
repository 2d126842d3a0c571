"""Documents of the REST API as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Json = Mapping[str, Any]


def leaderboard_table(evaluations: Sequence[Json]) -> pd.DataFrame:
    """Evaluations, one per row, in their order: score, algorithms of the stages, parameters, reason."""
    import pandas as pd  # noqa: PLC0415  not needed by those who use no tables

    rows = []
    for each in evaluations:
        steps = each["configuration"].items()
        scores = {"status": each["status"], "score": each["score"], "duration_s": each["duration_s"]}
        algorithms = {stage: step["algorithm"] for stage, step in steps}
        parameters = {stage: step["parameters"] for stage, step in steps}
        rows.append({**scores, **algorithms, "parameters": parameters, "reason": each["reason"]})
    return pd.DataFrame(rows)


def rules_table(rules: Json) -> pd.DataFrame:
    """Rules, one per row, in their order: whom they describe, the stratum, and how often patients are in it."""
    import pandas as pd  # noqa: PLC0415  as above

    columns = ("rule", "horizon", "stratum", "probability", "lower", "upper", "observed", "n", "support", "lift")
    return pd.DataFrame([_rule(rule) for rule in rules["rules"]], columns=list(columns))


def _rule(rule: Json) -> dict[str, Any]:
    p, seen = rule["stratum_probability"], rule["observed_event_rate"]
    return {
        "rule": " and ".join(map(condition_text, rule["conditions"])),
        "horizon": rule.get("horizon"),
        "stratum": rule["stratum"],
        "probability": p["mean"],
        "lower": p["lower"],
        "upper": p["upper"],
        "observed": seen["estimate"],
        "n": seen["n"],
        "support": rule["support"],
        "lift": rule["lift"],
    }


def condition_text(condition: Json) -> str:
    """A condition as text: `age >= 58`."""
    value = condition["value"]
    return (
        f"{condition['feature']} {condition['operator']} {value if isinstance(value, str) else format(value, '.12g')}"
    )


def score_text(score: Json) -> str:
    """A score with its interval: `0.912 [0.871, 0.942]`."""
    return f"{score['estimate']:.3f} [{score['lower']:.3f}, {score['upper']:.3f}]"


def pipeline_text(configuration: Json) -> str:
    """A pipeline as its algorithms: `median > none > ridge > none`."""
    return " > ".join(step["algorithm"] for step in configuration.values())
