from __future__ import annotations

import numpy as np
import pytest

from autoprog.csmd import PredictionTable
from autoprog.errors import ArtifactError


@pytest.mark.parametrize("with_truth", [True, False])
def test_a_table_comes_back_as_it_was(with_truth: bool) -> None:
    rng = np.random.default_rng(0)
    predictions = rng.integers(0, 2, (13, 5)).astype(np.int8)
    truth = rng.integers(0, 2, 13).astype(np.int8) if with_truth else None
    table = PredictionTable.from_bytes(PredictionTable(predictions, truth).to_bytes())
    np.testing.assert_array_equal(table.predictions, predictions)
    if truth is None:
        assert table.truth is None
    else:
        np.testing.assert_array_equal(table.truth, truth)


def test_a_damaged_table_is_refused() -> None:
    content = PredictionTable(np.zeros((2, 2), dtype=np.int8), None).to_bytes()
    for damaged in (b"", content[:-30], b"x" * 100):
        with pytest.raises(ArtifactError):
            PredictionTable.from_bytes(damaged)
