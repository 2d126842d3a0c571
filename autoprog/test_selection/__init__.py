"""Which tests are worth their cost: without ever seeing the truth (CSMD), with it (online), and on a cohort."""

from autoprog.test_selection.arms import MAX_SUBSET_TESTS, Arm, Arms, DiagnosticTest, Structure, make_arms, total_cost
from autoprog.test_selection.bedside import BedsideState, bedside_state
from autoprog.test_selection.classifiers import (
    FOLDS,
    THRESHOLD,
    ArmClassifier,
    ArmClassifiers,
    Reading,
    TrainedArms,
    train_arms,
    training_faults,
)
from autoprog.test_selection.counts import Counts, is_reversal, record_play
from autoprog.test_selection.dominance import WeakDominance, disagreements, optimal_arm, weak_dominance
from autoprog.test_selection.evidence import (
    DisagreementEstimate,
    DominanceEvidence,
    StrongDominanceEvidence,
    confidence_sequence,
    disagreement_estimates,
    dominance_evidence,
    estimated_choice,
    problem_warnings,
    strong_dominance_evidence,
)
from autoprog.test_selection.frontier import Frontier, FrontierPoint, one_after_another, trace_frontier
from autoprog.test_selection.groups import SIMPLE, check_tests
from autoprog.test_selection.missing_tests import MissingTest, gower_distances, missing_tests
from autoprog.test_selection.policies import KLUCB, POLICIES, UCB1, Policy, PolicyName, ThompsonSampling, make_policy
from autoprog.test_selection.prediction_table import PredictionTable
from autoprog.test_selection.problem import (
    SelectionProblem,
    check_predictions,
    problem_from_json,
    problem_to_json,
)
from autoprog.test_selection.table_replay import RegretCurve, Replay, checked_table, replay

__all__ = [
    "FOLDS",
    "KLUCB",
    "MAX_SUBSET_TESTS",
    "POLICIES",
    "SIMPLE",
    "THRESHOLD",
    "UCB1",
    "Arm",
    "ArmClassifier",
    "ArmClassifiers",
    "Arms",
    "BedsideState",
    "Counts",
    "DiagnosticTest",
    "DisagreementEstimate",
    "DominanceEvidence",
    "Frontier",
    "FrontierPoint",
    "MissingTest",
    "Policy",
    "PolicyName",
    "PredictionTable",
    "Reading",
    "RegretCurve",
    "Replay",
    "SelectionProblem",
    "StrongDominanceEvidence",
    "Structure",
    "ThompsonSampling",
    "TrainedArms",
    "WeakDominance",
    "bedside_state",
    "check_predictions",
    "check_tests",
    "checked_table",
    "confidence_sequence",
    "disagreement_estimates",
    "disagreements",
    "dominance_evidence",
    "estimated_choice",
    "gower_distances",
    "is_reversal",
    "make_arms",
    "make_policy",
    "missing_tests",
    "one_after_another",
    "optimal_arm",
    "problem_from_json",
    "problem_to_json",
    "problem_warnings",
    "record_play",
    "replay",
    "strong_dominance_evidence",
    "total_cost",
    "trace_frontier",
    "train_arms",
    "training_faults",
    "weak_dominance",
]
