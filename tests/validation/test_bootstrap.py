from __future__ import annotations

import numpy as np

from autoprog.performance import bootstrap_rows


def test_every_patient_is_drawn_as_often_as_any_other() -> None:
    y = np.repeat([0, 1], [30, 20])
    rng = np.random.default_rng(0)
    counts = np.mean([np.bincount(bootstrap_rows(y, None, rng), minlength=50) for _ in range(2000)], axis=0)
    # Mean 1, standard error .022; five of them: fails with probability 3e-5 over 50 patients.
    np.testing.assert_allclose(counts, 1, atol=0.11)


def test_groups_are_drawn_whole() -> None:
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 25, 120)
    y = rng.integers(0, 2, 120)
    for _ in range(20):
        counts = np.bincount(bootstrap_rows(y, groups, rng), minlength=120)
        drawn = {group: set(counts[groups == group]) for group in np.unique(groups)}
        assert all(len(times) == 1 for times in drawn.values())
        assert sum(times.pop() for times in drawn.values()) == len(np.unique(groups))


def test_both_outcomes_are_in_every_sample() -> None:
    y = np.repeat([0, 1], [60, 2])
    rng = np.random.default_rng(2)
    for _ in range(100):
        drawn = y[bootstrap_rows(y, None, rng)]
        assert 2 <= drawn.sum() <= len(drawn) - 2
