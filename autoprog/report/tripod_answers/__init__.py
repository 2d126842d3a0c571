"""What a run answers to the elements of TRIPOD+AI, by the element's number; elements not named here are the author's.

An answer is a text that is complete for the run; None leaves the element to the author, `NotApplicable` says why it
does not concern the run.
"""

from __future__ import annotations

from collections.abc import Mapping

from autoprog.report.tripod_answers.methods import (
    METHODS_RULES,
    describe_strata,
    model_type,
    rebalanced_learners,
    suggest_title,
)
from autoprog.report.tripod_answers.results import RESULTS_RULES
from autoprog.report.tripod_answers.rule import ANCHORS, NotApplicable, Rule

__all__ = ["ANCHORS", "RULES", "NotApplicable", "describe_strata", "model_type", "rebalanced_learners", "suggest_title"]

RULES: Mapping[str, Rule] = {**METHODS_RULES, **RESULTS_RULES}
"""Rules by the numbers of the elements."""
