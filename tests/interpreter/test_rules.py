"""Rules in JSON and in words."""

from __future__ import annotations

import json

from autoprog.cohort import Feature
from autoprog.interpreter import Condition, EventRate, Rule, RuleSet, Stratum, StratumProbability

RULE = Rule(
    conditions=(Condition("age", ">=", 58.0), Condition("cp", "=", "4")),
    stratum="high",
    stratum_probability=StratumProbability(0.8712, 0.8, 0.93),
    observed_event_rate=EventRate(0.8, 0.7, 0.88, 40),
    support=0.13,
    confidence=0.9,
    lift=2.7,
)


def test_the_document_has_the_names_of_the_contract() -> None:
    rules = RuleSet((Stratum("high", 0.5, 1.0, 0.3), Stratum("low", 0.0, 0.5, 0.7)), (RULE,), "a note")
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
            }
        ],
        "note": "a note",
    }
    assert RuleSet.from_json(json.loads(json.dumps(rules.to_json()))) == rules


def test_a_rule_in_words() -> None:
    features = (Feature("cp", "categorical", ("1", "4")), Feature("age", "numeric", unit="years"))
    assert RULE.in_words(features) == (
        "age >= 58 years and cp = 4 -> high risk (probability 0.87, 90 % interval 0.80 to 0.93)"
    )


def test_percent_signs_in_names_survive() -> None:
    rule = Rule((Condition("ef%", "<", 40.5),), "high", *list(RULE.__getstate__())[2:])
    assert rule.in_words((Feature("ef%", "numeric", unit="%"),)).startswith("ef% < 40.5 % -> high risk")
