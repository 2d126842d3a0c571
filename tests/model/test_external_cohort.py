"""Another cohort in the form that a model takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from autoprog.cohort import WindowSchema, windowed
from autoprog.model.external_validation import other_patients
from tests.cohorts import labelled_visits, partly_labelled_visits


def test_windows_look_back_on_visits_without_a_label_here_too() -> None:
    whole, part = labelled_visits(), partly_labelled_visits()
    assert whole.visits is not None
    assert part.visits is not None
    order = np.arange(len(part.features))[::-1]
    shuffled = part.with_features(tuple(part.features[j] for j in order), order.tolist())
    model: Any = SimpleNamespace(
        inputs=whole.features, horizons=(), windows=WindowSchema.of(whole), window_lengths=(3,)
    )
    found = other_patients(model, shuffled, [])
    rows = {(time, x.tobytes()): row for row, (time, x) in enumerate(zip(whole.visits.time, whole.X, strict=True))}
    at = [rows[time, x.tobytes()] for time, x in zip(part.visits.time, part.X, strict=True)]
    assert 0.6 < len(at) / whole.n_rows < 0.7
    np.testing.assert_array_equal(found.table[3], windowed(whole, 3).X[at])
