"""Documents of models, which have a part for each horizon, or are whole for an outcome without a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autoprog.cohort import Binary, Target, TimeToEvent
from autoprog.interpreter import RuleSet

Document = Mapping[str, Any]


def list_parts(document: Document) -> list[tuple[float | None, Document]]:
    """List the horizons of a document with its part about each.

    Parameters
    ----------
    document : mapping
        Of an ensemble, or of an external validation.

    Returns
    -------
    list of (float or None, mapping)
        Ascending; for an outcome without a time None and the whole document.
    """
    return [(each["horizon"], each) for each in document.get("horizons") or ()] or [(None, document)]


def find_area(performance: Document) -> str:
    """Find the name of the area under the ROC curve among the measures of a document, or of its part.

    Parameters
    ----------
    performance : mapping
        Measures by name.

    Returns
    -------
    str
        `auc`, at a horizon, or `auc_roc`.
    """
    return "auc" if "auc" in performance else "auc_roc"


def curve_risks(curve: Document) -> list[float]:
    """Return the risks at which a calibration curve is given.

    Parameters
    ----------
    curve : mapping
        `calibration_curve` of a document or of its part, which name the risks differently.

    Returns
    -------
    list of float
        Ascending; one for each number of the curve's other lists.
    """
    risks: list[float] = curve["risk"] if "risk" in curve else curve["risks"]
    return risks


def rules_document(rule_sets: Sequence[RuleSet], horizons: Sequence[float]) -> dict[str, Any]:
    """Convert a model's rule sets to the API's document.

    Parameters
    ----------
    rule_sets : sequence of RuleSet
        One per horizon, or a single one without time.
    horizons : sequence of float
        Ascending; empty for an outcome without a time.

    Returns
    -------
    dict
        Ready for JSON.
    """
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
    """Read the document of `rules_document`.

    Parameters
    ----------
    document : mapping
        Of this version, or of an earlier one.

    Returns
    -------
    tuple of RuleSet
        One per horizon; without horizons a single one.
    """
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


def read_kind(outcome: Document) -> tuple[type[Target], str]:
    """Tell the kind of an outcome by its document.

    Parameters
    ----------
    outcome : mapping
        As `GET /v1/cohorts/{cohort_id}` shows it.

    Returns
    -------
    (type, str)
        What is predicted, and of what: `patient` or `visit`.
    """
    return (Binary if "column" in outcome else TimeToEvent), ("visit" if "patient" in outcome else "patient")
