"""The stored form: the same again, and nothing else is read."""

from __future__ import annotations

import io
import math
import pickle

import numpy as np
import pytest

from autoprog.diagnosis import (
    DiagnosisModel,
    ModelOptions,
    Sessions,
    build_model,
    grow_tree,
    model_from_bytes,
    model_to_bytes,
    tree_from_bytes,
    tree_to_bytes,
)
from autoprog.errors import ArtifactError
from tests.diagnosis.models import random_model


def _same(a: DiagnosisModel, b: DiagnosisModel) -> None:
    for name in ("objects", "queries", "groups", "grouped", "algorithm", "base", "stop", "ties", "seed", "warnings"):
        assert getattr(a, name) == getattr(b, name)
    for name in ("group_of", "weights", "costs", "false_positive", "false_negative"):
        assert np.array_equal(getattr(a, name), getattr(b, name))
    assert np.array_equal(a.responses.rows, b.responses.rows)
    assert np.array_equal(a.responses.known_matrix(), b.responses.known_matrix())


def test_models_come_back() -> None:
    rng = np.random.default_rng(1)
    models = [
        random_model(rng, 20, 13, K=4, options=ModelOptions(exponential_cost_base="inf", ties="random", seed=5)),
        random_model(rng, 9, 1, costs=[2.5]),
        build_model([[0, None, 1]], objects=["ünïcode \U0001f600"], false_positive_rates=[0.1] * 3, prior=[4.0]),
    ]
    for model in models:
        data = model_to_bytes(model)
        again = model_from_bytes(data)
        _same(model, again)
        assert model_to_bytes(again) == data
    assert math.isinf(model_from_bytes(model_to_bytes(models[0])).base)


def test_trees_come_back() -> None:
    model = random_model(np.random.default_rng(2), 40, 20, K=4)
    tree = grow_tree(model)
    again = tree_from_bytes(model, tree_to_bytes(tree))
    assert again.page() == tree.page()
    assert Sessions(model).open().next_query is not None


class _Exploding:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (pytest.fail, ("unpickled",))


def test_nothing_is_unpickled() -> None:
    archive = io.BytesIO()
    np.savez(archive, document=np.array([_Exploding()], dtype=object), rows=np.zeros(1))
    for data in (archive.getvalue(), pickle.dumps(_Exploding())):
        with pytest.raises(ArtifactError):
            model_from_bytes(data)


@pytest.mark.parametrize("cut", [0, 1, 40, 300])
def test_other_bytes_are_refused(cut: int) -> None:
    model = random_model(np.random.default_rng(3), 20, 13)
    data, tree = model_to_bytes(model), tree_to_bytes(grow_tree(model))
    with pytest.raises(ArtifactError):
        model_from_bytes(data[:cut])
    with pytest.raises(ArtifactError):
        tree_from_bytes(model, tree[:cut])
    with pytest.raises(ArtifactError):
        model_from_bytes(tree)
    with pytest.raises(ArtifactError):
        tree_from_bytes(model, data)


def test_a_tree_of_another_model_is_refused() -> None:
    rng = np.random.default_rng(4)
    tree = tree_to_bytes(grow_tree(random_model(rng, 20, 13)))
    with pytest.raises(ArtifactError, match="another"):
        tree_from_bytes(random_model(rng, 21, 13), tree)
