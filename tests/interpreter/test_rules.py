"""Rules in JSON and in words."""

from __future__ import annotations

import json

from autoprog.cohort import Feature
from autoprog.interpreter import (
    Condition,
    EventRate,
    Fidelity,
    HeldOut,
    Prior,
    Rule,
    RuleSet,
    Stratum,
    StratumProbability,
)

RULE = Rule(
    conditions=(Condition("age", ">=", 58.0), Condition("cp", "=", "4")),
    stratum="high",
    stratum_probability=StratumProbability(0.8712, 0.8, 0.93),
    observed_event_rate=EventRate(0.8, 0.7, 0.88, 40),
    support=0.13,
    confidence=0.9,
    lift=2.7,
    held_out=HeldOut(11, 9, 0.002, 0.01),
    prior=Prior(0.8, 20.0),
)


FIDELITY = Fidelity(0.6, 0.5, 0.7, 0.75, 80, "low")


def test_the_document_has_the_names_of_the_contract() -> None:
    rules = RuleSet((Stratum("high", 0.5, 1.0, 0.3), Stratum("low", 0.0, 0.5, 0.7)), (RULE,), "a note", FIDELITY)
    assert rules.to_json() == {
        "strata": [
            {"name": "high", "lower": 0.5, "upper": 1.0, "fraction": 0.3},
            {"name": "low", "lower": 0.0, "upper": 0.5, "fraction": 0.7},
        ],
        "rules": [
            {
                "conditions": [
                    {"feature": "age", "operator": ">=", "value": 58.0},
                    {"feature": "cp", "operator": "=", "value": "4"},
                ],
                "horizon": None,
                "stratum": "high",
                "stratum_probability": {"mean": 0.8712, "lower": 0.8, "upper": 0.93},
                "observed_event_rate": {"estimate": 0.8, "lower": 0.7, "upper": 0.88, "n": 40},
                "support": 0.13,
                "confidence": 0.9,
                "lift": 2.7,
                "held_out": {"n": 11, "in_stratum": 9, "p_value": 0.002, "adjusted_p_value": 0.01},
                "prior": {"probability": 0.8, "strength": 20.0},
            }
        ],
        "note": "a note",
        "fidelity": {
            "kappa": 0.6, "lower": 0.5, "upper": 0.7, "agreement": 0.75, "n": 80, "default": "low",
        },
    }  # fmt: skip
    assert RuleSet.from_json(json.loads(json.dumps(rules.to_json()))) == rules


def test_documents_from_before_there_was_a_check_are_read() -> None:
    document = RuleSet((Stratum("all", 0.0, 1.0, 1.0),), (RULE,), "a note", FIDELITY).to_json()
    del document["fidelity"]
    for name in ("held_out", "prior"):
        del document["rules"][0][name]
    read = RuleSet.from_json(document)
    assert (read.fidelity, read.rules[0].held_out, read.rules[0].prior) == (None, None, None)
    assert read.rules[0].conditions == RULE.conditions


def test_a_rule_in_words() -> None:
    features = (Feature("cp", "categorical", ("1", "4")), Feature("age", "numeric", unit="years"))
    assert RULE.in_words(features) == (
        "age >= 58 years and cp = 4 -> high risk (probability 0.87, 90 % interval 0.80 to 0.93)"
    )


def test_percent_signs_in_names_survive() -> None:
    rule = Rule((Condition("ef%", "<", 40.5),), "high", *list(RULE.__getstate__())[2:])
    assert rule.in_words((Feature("ef%", "numeric", unit="%"),)).startswith("ef% < 40.5 % -> high risk")
