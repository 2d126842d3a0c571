"""What a model is made of: everything wrong with it at once, and what is changed is said."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autoprog.diagnosis import MAX_CELLS, ModelOptions, Responses, build_model
from autoprog.errors import InvalidInputError


def _pointers(error: pytest.ExceptionInfo[InvalidInputError]) -> list[str]:
    return [fault.pointer for fault in error.value.faults]


def test_every_fault_is_named_at_once() -> None:
    with pytest.raises(InvalidInputError) as error:
        build_model(
            [[0, 1, 2], [None, 1, 0], [1, 0, "1"]],
            objects=["a", "b", "a"],
            queries=["x", "", "x"],
            groups=["g", None, "h"],
            prior=[0.5, -0.1, 0.0],
            costs=[1.0, 0.0, math.nan],
            false_positive_rates=[0.0, 1.0, 0.6],
            false_negative_rates=[0.0, 0.0, 0.5],
            options=ModelOptions("ggbs", 0.5, stop="object", ties="last", seed=-1),  # type: ignore[arg-type]
        )
    assert _pointers(error) == [
        "/responses/0/2",
        "/responses/2/2",
        "/objects/2/name",
        "/queries/1/name",
        "/queries/2/name",
        "/objects/1/group",
        "/objects/1/prior",
        "/objects/2/prior",
        "/queries/2/cost",
        "/queries/1/cost",
        "/queries/1/false_positive_rate",
        "/queries/2",
        "/responses/1/0",
        "/exponential_cost_base",
        "/stop",
        "/ties",
        "/seed",
    ]


def test_costs_whose_sum_no_number_holds_are_refused() -> None:
    with pytest.raises(InvalidInputError) as error:
        build_model([[0, 1], [1, 0]], costs=[1e308, 1e308])
    assert _pointers(error) == ["/queries"]
    with pytest.raises(InvalidInputError) as error:
        build_model([[0, 1], [1, 0]], costs=[4e99, 4e99], options=ModelOptions(exponential_cost_base=1e6))
    assert _pointers(error) == ["/exponential_cost_base"]


@pytest.mark.parametrize(
    ("responses", "pointer", "text"),
    [
        ([], "/responses", "0 objects and 0 queries"),
        ([[], []], "/responses", "2 objects and 0 queries"),
        (np.empty((0, 4)), "/responses", "0 objects and 4 queries"),
        ([[0, 1], [0]], "/responses/1", "has 1 cells, the first row 2"),
        ([[0, 1], 3], "/responses/1", "must be a list"),
        ("0110", "/responses", "list of rows"),
        (np.zeros((2, 2, 2)), "/responses", "3 dimensions"),
        (np.array([[0, 1], [0.5, 1]]), "/responses/1/0", "0 or 1"),
        ([[0, 1], [-1, 10**400]], "/responses/1/1", "0 or 1"),
        ([[math.inf, 1]], "/responses/0/0", "0 or 1"),
    ],
)
def test_matrices_that_cannot_be_used(responses: object, pointer: str, text: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        build_model(responses)
    found = {fault.pointer: fault.detail for fault in error.value.faults}
    assert text in found[pointer]


def test_shapes_that_do_not_match() -> None:
    with pytest.raises(InvalidInputError) as error:
        build_model(
            [[0, 1], [1, 0]],
            objects=["a"],
            queries=["x", "y", "z"],
            groups=["g"] * 3,
            prior=[1.0] * 5,
            costs=[1.0],
            false_negative_rates=[0.1] * 3,
        )
    assert {"/objects", "/queries"} <= set(_pointers(error))
    assert len(error.value.faults) >= 5


def test_many_faults_are_counted() -> None:
    with pytest.raises(InvalidInputError) as error:
        build_model(np.full((300, 300), 7))
    assert len(error.value.faults) == 51
    assert "89,950 more" in error.value.faults[-1].detail


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\0b", "half \ud83d", 7, None])
def test_names_that_cannot_be_used(name: object) -> None:
    with pytest.raises(InvalidInputError) as error:
        build_model([[0, 1], [1, 0]], objects=["a", name], queries=[name, "b"], groups=["g", name or " "])  # type: ignore[list-item]
    assert _pointers(error) == ["/objects/1/name", "/queries/0/name", "/objects/1/group"]


def test_over_the_limit_of_cells() -> None:
    rows = np.broadcast_to(np.zeros((1, 2500), dtype=np.uint8), (MAX_CELLS // 20_000 + 1, 2500))
    with pytest.raises(InvalidInputError, match=f"{MAX_CELLS:,}"):
        build_model(Responses(rows, 20_000))


def test_priors_are_normalised_and_that_is_said() -> None:
    model = build_model(np.eye(3, dtype=int), prior=[1.5, 0.5, 1.0])
    assert model.prior.tolist() == [0.5, 1 / 6, 1 / 3]
    assert model.warnings == ("the priors summed to 3 and were normalised",)
    assert build_model(np.eye(3, dtype=int), prior=[0.5, 0.25, 0.25]).warnings == ()
    counts = build_model(np.eye(2, dtype=int), prior=[3, 1])
    assert counts.has_whole_weights
    assert counts.prior.tolist() == [0.75, 0.25]
    with pytest.raises(InvalidInputError, match="sum to more"):
        build_model(np.eye(2, dtype=int), prior=[1.7e308, 1.7e308])
    with pytest.raises(InvalidInputError, match="too small beside"):
        build_model(np.eye(2, dtype=int), prior=[1e-300, 1e100])
    with pytest.raises(InvalidInputError, match="for all or for none"):
        build_model(np.eye(2, dtype=int), prior=[1.0, None])


def test_equal_priors_are_uniform_however_they_are_written() -> None:
    for prior in ([1 / 3] * 3, [7.0] * 3, None, [None] * 3):
        model = build_model(np.eye(3, dtype=int), prior=prior)
        assert model.has_uniform_prior
        assert model.has_whole_weights


def test_the_algorithm_follows_from_groups_and_base() -> None:
    for groups, base, algorithm in (
        (None, 1.0, "gbs"),
        (None, 2.0, "lambda_gbs"),
        (["g", "h"], 1.0, "ggbs"),
        (["g", "h"], "inf", "group_lambda_gbs"),
    ):
        model = build_model([[0], [1]], groups=groups, options=ModelOptions(exponential_cost_base=base))  # type: ignore[arg-type]
        assert model.algorithm == algorithm
        assert model.stop == ("object" if groups is None else "group")
    assert build_model([[0], [1]], groups=["g", "h"], options=ModelOptions("lambda_gbs", 2.0)).stop == "object"
    assert math.isinf(build_model([[0], [1]], options=ModelOptions(exponential_cost_base=math.inf)).base)


@pytest.mark.parametrize("base", [0.999, -1, math.nan, "infinite", True, None])
def test_bases_that_cannot_be_used(base: object) -> None:
    with pytest.raises(InvalidInputError, match="at least 1"):
        build_model([[0], [1]], options=ModelOptions(exponential_cost_base=base))  # type: ignore[arg-type]


def test_empty_cells_need_an_error_rate() -> None:
    with pytest.raises(InvalidInputError, match="1 empty cell of query 1"):
        build_model([[0, None], [1, 0]], false_positive_rates=[0.1, None])
    model = build_model([[0, None], [1, 0]], false_positive_rates=[None, 0.1])
    assert model.is_noisy
    assert model.responses.known_matrix().tolist() == [[1, 0], [1, 1]]
    with pytest.raises(ValueError, match="not known"):
        model.without_noise()


def test_bits_are_what_was_packed() -> None:
    rng = np.random.default_rng(1)
    for M, N in ((1, 1), (3, 8), (17, 9), (40, 130)):
        matrix = rng.integers(0, 2, size=(M, N))
        responses = build_model(matrix).responses
        assert np.array_equal(responses.matrix(), matrix)
        i, q = rng.integers(M, size=50), rng.integers(N, size=50)
        assert np.array_equal(responses.at(i, q), matrix[i, q] == 1)
        classes = responses.row_classes()
        same = (matrix[:, None] == matrix[None]).all(axis=2)
        assert np.array_equal(classes[:, None] == classes[None], same)
        assert responses.density == pytest.approx(matrix.mean())


def test_sparse_is_the_same_matrix() -> None:
    matrix = np.random.default_rng(2).random((300, 200)) < 0.02
    responses = Responses.pack(matrix)
    assert responses.sparse is not None
    assert np.array_equal(responses.sparse.toarray(), matrix)
    assert Responses.pack(~matrix).sparse is None
