"""Scores of resamples against the measure's own definition on the patients drawn."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.performance import EVENT_METRICS, ScoringContext, make_event_metric, resampled_event_scores
from autoprog.performance.event_times import pairs as pairs_module
from autoprog.performance.event_times.pairs import can_be_scored
from autoprog.survival import NoPairError, censoring_survival
from tests.space.event_times.cohorts import unrelated


def patients(
    seed: int, causes: int, distinct: int | None, n: int = 80
) -> tuple[np.ndarray, np.ndarray, ScoringContext]:
    """Outcomes, four sets of risks at four times, and a follow-up with two horizons; ties in times and in risks."""
    rng = np.random.default_rng([seed, 1])
    y = unrelated(seed, n, causes, distinct)
    at = [0.2, 0.4, 0.6, 0.8]
    times = tuple(np.quantile(y["time"], at)) if distinct is None else (1.5, 2.5, 3.5, 4.5)
    F = np.sort(rng.random((4, n, 4)), axis=2)
    F = F if distinct is None else F.round(1)
    F[0] = np.clip(F[0] + 0.3 * (y["event"] == 1)[:, None] / (1 + y["time"][:, None]), 0, 1)
    return y, F, ScoringContext(times, (times[1], times[3]), causes, censoring_survival(y["time"], y["event"]))


CASES = pytest.mark.parametrize(("causes", "distinct"), [(1, None), (1, 6), (2, None), (2, 6)])


@CASES
@pytest.mark.parametrize("name", EVENT_METRICS)
def test_with_everybody_once_it_is_the_measure(name: str, causes: int, distinct: int | None) -> None:
    for seed in range(5):
        y, F, follow_up = patients(seed, causes, distinct)
        found = resampled_event_scores(name, y, F, follow_up, np.random.default_rng(0))(np.ones((80, 1), np.float32))
        expected = [make_event_metric(name, follow_up).score(y, risks) for risks in F]
        np.testing.assert_allclose(found, [expected], rtol=0, atol=1e-6)  # weights of pairs are float32


@CASES
@pytest.mark.parametrize("name", EVENT_METRICS)
def test_counts_are_copies_of_the_patients(name: str, causes: int, distinct: int | None) -> None:
    """The measure on the rows drawn, with the censoring of all: a copy is compared with no copy of the same patient."""
    y, F, follow_up = patients(0, causes, distinct)
    rng, measure = np.random.default_rng(2), make_event_metric(name, follow_up)
    scorable = can_be_scored(name, y, follow_up)
    drawn = (np.bincount(rng.integers(80, size=80), minlength=80) for _ in range(200))
    c = np.array([counts for counts in drawn if scorable(counts > 0)][:12], dtype=np.float32).T
    found = resampled_event_scores(name, y, F, follow_up, rng)(c)
    assert found.shape == (12, 4)
    for counts, scores in zip(c.T, found, strict=True):
        rows = np.repeat(np.arange(80), counts.astype(int))
        expected = [measure.score(y[rows], risks[rows]) for risks in F]
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", EVENT_METRICS)
def test_risks_as_they_are_stored_are_compared_as_they_are(name: str) -> None:
    y, F, follow_up = patients(1, 2, None)
    found = resampled_event_scores(name, y, F.astype(np.float32), follow_up, np.random.default_rng(0))
    expected = [make_event_metric(name, follow_up).score(y, risks.astype(np.float32)) for risks in F]
    np.testing.assert_allclose(found(np.ones((80, 1), np.float32))[0], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("causes", [1, 2])
@pytest.mark.parametrize("name", ["uno_c", "c_index", "time_dependent_auc"])
def test_of_many_patients_a_random_part_is_compared(name: str, causes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the pairs: the mean over the parts that may be drawn is the score of all."""
    y, F, follow_up = patients(3, causes, None, n=400)
    monkeypatch.setattr(pairs_module, "MAX_PAIRS", 10_000)
    once = np.ones((400, 1), np.float32)
    found = [resampled_event_scores(name, y, F[:1], follow_up, np.random.default_rng(s))(once)[0, 0] for s in range(60)]
    error = np.std(found, ddof=1) / 60**0.5
    assert 0 < error < 0.01
    assert np.mean(found) == pytest.approx(make_event_metric(name, follow_up).score(y, F[0]), abs=4 * error + 1e-3)


@pytest.mark.parametrize("causes", [1, 2])
@pytest.mark.parametrize("name", ["uno_c", "c_index", "time_dependent_auc"])
def test_it_is_known_beforehand_who_has_a_score(name: str, causes: int) -> None:
    """Whom it says to have one have one; it may miss some to whom competing events or ties give one."""
    y, F, follow_up = patients(4, causes, None)
    scorable, measure = can_be_scored(name, y, follow_up), make_event_metric(name, follow_up)
    rng = np.random.default_rng(0)
    says, has = [], []
    for _ in range(300):
        among = np.zeros(80, dtype=bool)
        among[rng.choice(80, 4, replace=False)] = True
        says.append(scorable(among))
        try:
            measure.score(y[among], F[0, among])
        except NoPairError:
            has.append(False)
        else:
            has.append(True)
    assert 20 < sum(says) < 280
    assert all(h for s, h in zip(says, has, strict=True) if s)
    assert np.mean(np.array(says) == np.array(has)) > 0.9


def test_of_many_groups_whole_ones_are_compared_and_of_few_some_patients(monkeypatch: pytest.MonkeyPatch) -> None:
    y, F, follow_up = patients(3, 1, None, n=2_000)
    monkeypatch.setattr(pairs_module, "MAX_PAIRS", 400_000)
    shares = []
    for n_groups in (1_000, 8):
        groups = np.arange(2_000) % n_groups
        kept, share = pairs_module._some(2_000, 900, np.random.default_rng(0), groups)
        together = {bool(kept[groups == g].all() or not kept[groups == g].any()) for g in range(n_groups)}
        assert together == ({True} if n_groups == 1_000 else {False})
        shares.append(share)
        found = resampled_event_scores("uno_c", y, F[:1], follow_up, np.random.default_rng(0), groups)
        assert 0 < found(np.ones((2_000, 1), np.float32))[0, 0] < 1
    assert shares[0] == pytest.approx(0.47, abs=0.04)
    assert shares[1] == 1
