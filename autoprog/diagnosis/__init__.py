"""Sequential diagnosis: identify an object, or only its group, by queries with two or more answers.

`build_model` checks the input; `grow_tree` plans all queries in advance; `Sessions` asks one query at a time.
"""

from autoprog.diagnosis.batch import MAX_BATCH, Batch
from autoprog.diagnosis.building import MAX_CELLS, MAX_OBJECTS, MAX_QUERIES, ModelOptions, build_model, with_options
from autoprog.diagnosis.cohort_model import CohortChoice, CohortModel, model_from_cohort
from autoprog.diagnosis.costs import expected_cost, expected_queries, exponential_cost, worst_case_cost
from autoprog.diagnosis.entropy import Bounds, cost_bounds
from autoprog.diagnosis.expansion import with_persistent_errors, with_several_objects
from autoprog.diagnosis.learning import Case, Finding, Request, ResponseLearner, Studied
from autoprog.diagnosis.model import ALGORITHMS, Algorithm, DiagnosisModel, Stop, Ties
from autoprog.diagnosis.multiway import (
    MAX_ANSWERS,
    MultiwayModel,
    MultiwayState,
    MultiwayTree,
    build_multiway_model,
    grow_multiway_tree,
    multiway_bounds,
    multiway_state,
)
from autoprog.diagnosis.next_query import NextQuery, Order
from autoprog.diagnosis.optimum import MAX_COLUMNS, MAX_ROWS, Objective, optimal_tree
from autoprog.diagnosis.ordering import Ordering, Spent, revealing_tests
from autoprog.diagnosis.picture import tree_svg, tree_text
from autoprog.diagnosis.question_effect import AnswerEffect, predict_answers
from autoprog.diagnosis.random_models import (
    random_agreement,
    random_model,
    random_partition,
    random_responses,
    zipf_prior,
)
from autoprog.diagnosis.report import TreeReport, tree_report
from autoprog.diagnosis.responses import Responses
from autoprog.diagnosis.serialization import (
    model_from_bytes,
    model_to_bytes,
    tree_from_bytes,
    tree_to_bytes,
)
from autoprog.diagnosis.session import (
    CERTAINTY,
    Answer,
    Candidate,
    Contradiction,
    NearObject,
    Session,
    Sessions,
    Status,
)
from autoprog.diagnosis.tree import Tree, grow_tree

__all__ = [
    "ALGORITHMS",
    "CERTAINTY",
    "MAX_ANSWERS",
    "MAX_BATCH",
    "MAX_CELLS",
    "MAX_COLUMNS",
    "MAX_OBJECTS",
    "MAX_QUERIES",
    "MAX_ROWS",
    "Algorithm",
    "Answer",
    "AnswerEffect",
    "Batch",
    "Bounds",
    "Candidate",
    "Case",
    "CohortChoice",
    "CohortModel",
    "Contradiction",
    "DiagnosisModel",
    "Finding",
    "ModelOptions",
    "MultiwayModel",
    "MultiwayState",
    "MultiwayTree",
    "NearObject",
    "NextQuery",
    "Objective",
    "Order",
    "Ordering",
    "Request",
    "ResponseLearner",
    "Responses",
    "Session",
    "Sessions",
    "Spent",
    "Status",
    "Stop",
    "Studied",
    "Ties",
    "Tree",
    "TreeReport",
    "build_model",
    "build_multiway_model",
    "cost_bounds",
    "expected_cost",
    "expected_queries",
    "exponential_cost",
    "grow_multiway_tree",
    "grow_tree",
    "model_from_bytes",
    "model_from_cohort",
    "model_to_bytes",
    "multiway_bounds",
    "multiway_state",
    "optimal_tree",
    "predict_answers",
    "random_agreement",
    "random_model",
    "random_partition",
    "random_responses",
    "revealing_tests",
    "tree_from_bytes",
    "tree_report",
    "tree_svg",
    "tree_text",
    "tree_to_bytes",
    "with_options",
    "with_persistent_errors",
    "with_several_objects",
    "worst_case_cost",
    "zipf_prior",
]
