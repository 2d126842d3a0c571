"""Rules at several horizons as one document, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autoprog.interpreter.rules import RuleSet


def rules_document(rule_sets: Sequence[RuleSet], horizons: Sequence[float]) -> dict[str, Any]:
    """Convert a model's rule sets, one a horizon or a single one without time, to the API's document."""
    if not horizons:
        return {**rule_sets[0].to_json(), "horizons": []}
    # Predictions cite a rule by its position in the list.
    documents = [rule_set.to_json() for rule_set in rule_sets]
    of_horizons = list(zip(horizons, documents, strict=True))
    return {
        "strata": [{**s, "horizon": horizon} for horizon, document in of_horizons for s in document["strata"]],
        "rules": [rule for document in documents for rule in document["rules"]],
        "note": documents[0]["note"],
        "fidelity": None,
        "horizons": [
            {"horizon": horizon, "note": document["note"], "fidelity": document["fidelity"]}
            for horizon, document in of_horizons
        ],
    }


def rule_sets_from(document: Mapping[str, Any]) -> tuple[RuleSet, ...]:
    """Read the document of `rules_document`; without horizons it has one rule set."""
    horizons = document.get("horizons")
    if not horizons:
        return (RuleSet.from_json(document),)
    return tuple(
        RuleSet.from_json(
            {
                "strata": [_without_horizon(s) for s in document["strata"] if s["horizon"] == each["horizon"]],
                "rules": [rule for rule in document["rules"] if rule["horizon"] == each["horizon"]],
                "note": each["note"],
                "fidelity": each["fidelity"],
            }
        )
        for each in horizons
    )


def _without_horizon(stratum: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in stratum.items() if name != "horizon"}
