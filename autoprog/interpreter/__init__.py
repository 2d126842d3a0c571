"""Association rules that describe who a model places in which risk stratum."""

from autoprog.interpreter.conditions import matching
from autoprog.interpreter.interpreter import explain
from autoprog.interpreter.rules import Condition, EventRate, Rule, RuleSet, Stratum, StratumProbability
from autoprog.interpreter.strata import make_strata, stratum_indices

__all__ = [
    "Condition",
    "EventRate",
    "Rule",
    "RuleSet",
    "Stratum",
    "StratumProbability",
    "explain",
    "make_strata",
    "matching",
    "stratum_indices",
]
