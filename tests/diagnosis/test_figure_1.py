"""The toy of Figure 1: every figure that the source gives of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autoprog.diagnosis import (
    DiagnosisModel,
    ModelOptions,
    build_model,
    cost_bounds,
    expected_cost,
    exponential_cost,
    grow_tree,
    optimal_tree,
    worst_case_cost,
)
from autoprog.diagnosis.nodes import RowNodes
from autoprog.diagnosis.scores import make_criterion

MATRIX = np.array([[0, 1, 0, 1], [1, 1, 1, 0], [1, 0, 0, 0]]).T
GROUPS = ["1", "1", "1", "2"]


def toy(groups: list[str] | None, algorithm: str, base: float = 1.0) -> DiagnosisModel:
    options = ModelOptions(algorithm, base)  # type: ignore[arg-type]
    return build_model(MATRIX, queries=["q1", "q2", "q3"], groups=groups, options=options)


@pytest.mark.parametrize(
    ("groups", "algorithm", "base", "root", "costs", "scores"),
    [
        (None, "gbs", 1.0, "q1", (2, 2, 2), (0.5, 0.75, 0.75)),
        (GROUPS, "gbs", 1.0, "q1", (1.5, math.log2(3), 2), (0.5, 0.75, 0.75)),
        (GROUPS, "ggbs", 1.0, "q2", (1, 1, 1), (0.688722, 0.188722, 0.877444)),
        (GROUPS, "group_lambda_gbs", 2.0, "q2", (1, 1, 1), (0.405465, 0, 0.534800)),
    ],
)
def test_runs(
    groups: list[str] | None,
    algorithm: str,
    base: float,
    root: str,
    costs: tuple[float, float, float],
    scores: tuple[float, float, float],
) -> None:
    model = toy(groups, algorithm, base)
    tree = grow_tree(model)
    assert model.queries[tree.query[0]] == root
    assert expected_cost(tree) == costs[0]
    assert exponential_cost(tree, 2.0) == pytest.approx(costs[1], abs=1e-12)
    assert worst_case_cost(tree) == costs[2]
    nodes = RowNodes(model.responses, np.arange(4), np.array([0]), model.target_of, model.weights, exact=True)
    assert make_criterion(model)(nodes).score[0] == pytest.approx(scores, abs=5e-7)


def test_group_stop_of_gbs_asks_q2_on_the_branch_of_2_and_4() -> None:
    tree = grow_tree(toy(GROUPS, "gbs"))
    yes = int(tree.yes[0])
    assert tree.objects_of(yes).tolist() == [1, 3]
    assert tree.model.queries[tree.query[yes]] == "q2"
    assert tree.query[tree.no[0]] == -1


def test_entropies_and_optima() -> None:
    assert cost_bounds(toy(None, "gbs")).expected == 2
    grouped = toy(GROUPS, "group_lambda_gbs", 2.0)
    assert cost_bounds(grouped).expected == pytest.approx(0.811278, abs=5e-7)
    assert cost_bounds(grouped).exponential == pytest.approx(0.899969, abs=5e-7)
    assert expected_cost(optimal_tree(toy(None, "gbs"))) == 2
    assert expected_cost(optimal_tree(toy(GROUPS, "ggbs"))) == 1
