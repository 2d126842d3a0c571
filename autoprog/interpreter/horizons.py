"""Rules at several horizons as one document, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autoprog.interpreter.rules import RuleSet


def rules_document(rule_sets: Sequence[RuleSet], horizons: Sequence[float]) -> dict[str, Any]:
    """The rules of a model as the API shows them.

    Parameters
    ----------
    rule_sets : sequence of RuleSet
        One a horizon, in their order; one alone of an outcome without a time.
    horizons : sequence of float
        Empty for an outcome without a time.

    Returns
    -------
    dict
        Ready for JSON. Strata and rules stand one horizon after another, and say which; a rule's place in the list is
        what predictions name it by.
    """
    if not horizons:
        return {**rule_sets[0].to_json(), "horizons": []}
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
    """What `rules_document` made a document of; one rule set where it says nothing of horizons."""
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
