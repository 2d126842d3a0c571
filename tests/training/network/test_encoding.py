"""What the network reads of a table, against definitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge

from training.network import encoding
from training.network.encoding import (
    CAUSES,
    CELL,
    INTERVALS,
    SLOTS,
    Regressions,
    Ridge,
    base_log_odds,
    binary_scores,
    encode_cells,
    event_grid,
    event_scores,
    group_cells,
    n_groups,
)


def table(seed: int, m: int = 60, p: int = 5, gaps: float = 0.1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.lognormal(size=(m, p))
    X[:, 0] = rng.integers(2, size=m)
    X[rng.random((m, p)) < gaps] = np.nan
    return X


def test_columns_are_standardised_by_the_patients_to_learn_from_alone() -> None:
    X, n = table(0), 40
    cells, missing = encode_cells(X, n)
    assert (missing == np.isnan(X)).all()
    assert (cells[missing] == 0).all()
    for j in range(X.shape[1]):
        known = X[:n, j][~missing[:n, j]]
        here = ~missing[:, j]
        z = (X[here, j] - known.mean()) / known.std()
        np.testing.assert_allclose(cells[here, j, 0], np.clip(z, -5, 5))
        u = [((known < x).mean() + (known <= x).mean()) - 1 for x in X[here, j]]
        np.testing.assert_allclose(cells[here, j, 1], u, atol=1e-12)
    others = X.copy()
    others[n:] *= 7
    np.testing.assert_array_equal(encode_cells(others, n)[0][:n], cells[:n])


def test_constant_and_empty_columns_say_nothing() -> None:
    X = np.column_stack([np.full(20, 3.0), np.full(20, np.nan)])
    cells, missing = encode_cells(X, 15)
    assert (cells == 0).all()
    assert missing[:, 1].all()


@pytest.mark.parametrize("p", [1, 4, 5, 41, 60])
def test_every_column_has_one_slot(p: int) -> None:
    X = table(1, p=max(p, 2))[:, :p]
    cells, missing = encode_cells(X, 40)
    groups = n_groups(p)
    told = group_cells(cells, missing, groups, np.random.default_rng(0)).reshape(len(X), groups * SLOTS, CELL)
    used = told[0, :, 3] == 1
    assert used.sum() == p
    assert (told[:, ~used] == 0).all()
    expected = np.concatenate([cells, missing[..., None]], axis=2).astype(np.float32)
    got = {told[:, slot, :3].tobytes() for slot in np.flatnonzero(used)}
    assert got == {np.ascontiguousarray(expected[:, j]).tobytes() for j in range(p)}
    sizes = told[0, :, 3].reshape(groups, SLOTS).sum(axis=1)
    assert sizes.max() - sizes.min() <= 1


def test_scores_of_patients_left_out_are_those_of_refits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_PENALTIES", np.array([3.0]))
    X, n = table(2, gaps=0.0), 40
    y = (np.random.default_rng(3).random(n) < 0.4).astype(np.int64)
    cells, _ = encode_cells(X, n)
    z = cells[:, :, 0]
    told = Ridge.of(z, n).scores(y.astype(float)) * y.std() + y.mean()
    whole = SklearnRidge(3.0).fit(z[:n], y)
    np.testing.assert_allclose(told[n:], whole.predict(z[n:]), atol=1e-9)
    for i in range(0, n, 7):
        rest = np.arange(n) != i
        # Left out of the regression, and not of the centre of the columns.
        refit = SklearnRidge(3.0).fit(z[:n][rest], y[rest])
        assert told[i] == pytest.approx(refit.predict(z[i : i + 1])[0], abs=2e-3)


def test_scores_are_bounded_and_nothing_where_all_are_alike() -> None:
    cells, missing = encode_cells(table(4), 40)
    regressions = Regressions.of(cells, missing, 40)
    assert (regressions.lines.scores(np.zeros(40)) == 0).all()
    scores, log_odds = binary_scores(regressions, np.r_[np.ones(10), np.zeros(30)].astype(np.int64))
    assert log_odds == pytest.approx(np.log(10.5 / 30.5))
    assert (np.abs(scores[:, [0, 4, 5]]) <= 6).all()


def test_curves_and_similarities_score_what_lines_do_not() -> None:
    rng = np.random.default_rng(7)
    X, n = rng.standard_normal((600, 3)), 300
    y = (X[:n, 0] ** 2 > 1).astype(np.int64)
    cells, missing = encode_cells(X, n)
    scores, _ = binary_scores(Regressions.of(cells, missing, n), y)
    for part in (slice(n), slice(n, None)):
        lines, curves, similarities = np.corrcoef(X[part, 0] ** 2 > 1, scores[part][:, [0, 4, 5]].T)[0, 1:]
        assert lines < 0.3
        assert min(curves, similarities) > 0.7


def test_events_are_scored_less_their_cumulative_hazard() -> None:
    rng = np.random.default_rng(5)
    n = 40
    cells, missing = encode_cells(table(5, gaps=0.0), n)
    regressions = Regressions.of(cells, missing, n)
    time, cause = rng.integers(1, 15, n).astype(float), rng.integers(0, 3, n)
    hazard = [
        sum(((time == t) & (cause == 1)).sum() / (time >= t).sum() for t in np.unique(time[time <= s])) for s in time
    ]
    expected = regressions.lines.scores((cause == 1) - np.array(hazard))
    np.testing.assert_allclose(event_scores(regressions, time, cause)[:, 0], expected, atol=1e-10)


def test_base_hazards_are_events_among_those_at_risk() -> None:
    rng = np.random.default_rng(6)
    time, cause = rng.exponential(size=500), rng.integers(0, 3, 500)
    grid = event_grid(time, cause, 0.9)
    assert len(grid) == INTERVALS
    assert (time[cause > 0] <= grid[-1]).mean() == pytest.approx(0.9, abs=0.01)
    told = base_log_odds(np.searchsorted(grid, time, "left"), cause)
    odds = np.exp(told)
    hazards = odds / (1 + odds.sum(axis=1, keepdims=True))
    start = 0.0
    for k, end in enumerate(grid):
        for c in (1, 2):
            d = ((time > start) & (time <= end) & (cause == c)).sum()
            assert hazards[k, c - 1] == pytest.approx((d + 0.25) / ((time > start).sum() + 1))
        start = end
    assert (told[:, CAUSES - 1] == -30).all()
