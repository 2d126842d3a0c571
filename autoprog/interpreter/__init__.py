"""Association rules that describe which patients a model places in which risk stratum."""

from autoprog.interpreter.clusters import Clusters
from autoprog.interpreter.conditions import matching
from autoprog.interpreter.interpreter import explain
from autoprog.interpreter.observed import BinaryOutcome, IncidenceOutcome, ObservedOutcome
from autoprog.interpreter.prior_rules import PriorRule, prior_rule_faults, settled_prior_rules
from autoprog.interpreter.rules import (
    Condition,
    EventRate,
    Fidelity,
    HeldOut,
    Operator,
    Prior,
    Rule,
    RuleSet,
    Stratum,
    StratumProbability,
)
from autoprog.interpreter.strata import STRATUM_NAMES, empty_strata, make_strata, stratum_indices, threshold_faults

__all__ = [
    "STRATUM_NAMES",
    "BinaryOutcome",
    "Clusters",
    "Condition",
    "EventRate",
    "Fidelity",
    "HeldOut",
    "IncidenceOutcome",
    "ObservedOutcome",
    "Operator",
    "Prior",
    "PriorRule",
    "Rule",
    "RuleSet",
    "Stratum",
    "StratumProbability",
    "empty_strata",
    "explain",
    "make_strata",
    "matching",
    "prior_rule_faults",
    "settled_prior_rules",
    "stratum_indices",
    "threshold_faults",
]
