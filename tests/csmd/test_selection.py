from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from autoprog.csmd import KLUCB, UCB1, Arms, Counts, Policy, SelectionProblem, ThompsonSampling, replay
from autoprog.csmd.selection import incidence, select, select_many
from tests.csmd.naive import NaiveUCB, cascade, chosen, stream, subsets

RNG = np.random.default_rng(0)
# Scaled costs that are not monotone, ties, gaps above 1, a single arm, subsets with and without ties.
ARMS = {
    "cascade": cascade([0.05, 0.1, 0.07, 0.2]),
    "not monotone": cascade([0.1, 0.2, 0.3], [4.2, 0.1, 0.3]),
    "large gaps": cascade([0.0, 1.3, 0.4]),
    "no cost": cascade([0.0, 0.0, 0.0]),
    "one arm": cascade([0.3]),
    "subsets": subsets([0.03, 0.11, 0.05]),
    "subsets with ties": subsets([0.1, 0.2, 0.1]),
    "free subsets": subsets([0.0, 0.0, 0.0]),
    "a free test": subsets([0.05, 0.0, 0.1]),
}


def estimates(arms: Arms, rng: np.random.Generator) -> np.ndarray:
    """A symmetric matrix, some entries exactly at the gap."""
    i, j = arms.pairs
    p = np.zeros((len(arms), len(arms)))
    values = np.where(rng.random(arms.n_pairs) < 0.2, arms.gap, rng.random(arms.n_pairs) ** 2)
    p[i, j] = p[j, i] = values
    return p


@pytest.mark.parametrize("arms", ARMS.values(), ids=ARMS.keys())
def test_the_selection_is_the_definition(arms: Arms) -> None:
    i, j = arms.pairs
    change, base = incidence(arms)
    for _ in range(200):
        p = estimates(arms, RNG)
        expected = chosen(arms, p)
        assert select(arms, lambda pairs, gap: p[i[pairs], j[pairs]] >= gap) == expected  # noqa: B023
        assert select_many((p[i, j] >= arms.gap)[None], change, base, arms.last).tolist() == [expected]


def test_no_pair_is_asked_for_twice() -> None:
    arms = subsets([0.1, 0.2, 0.1, 0.05])
    for _ in range(100):
        asked: list[int] = []

        def reaches(pairs: np.ndarray, gap: np.ndarray) -> np.ndarray:
            np.testing.assert_array_equal(gap, arms.gap[pairs])
            asked.extend(pairs.tolist())  # noqa: B023
            return RNG.random(len(pairs)) < 0.5

        select(arms, reaches)
        assert len(asked) == len(set(asked))


def test_in_a_cascade_a_pair_leaves_at_most_one_arm() -> None:
    """For any symmetric p: the intersection has one element or none."""
    arms = cascade([0.05, 0.1, 0.07, 0.2, 0.02])
    change, base = incidence(arms)
    reaches = RNG.random((2000, arms.n_pairs)) < 0.5
    free = (reaches.astype(np.float32) @ change + base == 0).sum(axis=1)
    assert set(free.tolist()) == {0, 1}


POLICIES: list[tuple[Policy, str, float]] = [
    (KLUCB(), "kl_ucb", 0.0),
    (KLUCB(3.0), "kl_ucb", 3.0),
    (UCB1(), "ucb1", 0.51),
    (UCB1(1.5), "ucb1", 1.5),
]


@pytest.mark.parametrize(("policy", "kind", "constant"), POLICIES)
@pytest.mark.parametrize("arms", ARMS.values(), ids=ARMS.keys())
def test_sequences_are_identical_to_the_definitions(arms: Arms, policy: Policy, kind: str, constant: float) -> None:
    """On a recorded stream: played live, replayed side by side, and as written out with loops and a bisection."""
    Y, _ = stream(len(arms), 150, np.random.default_rng(1))
    naive = NaiveUCB(arms, kind, constant)
    expected = [naive.play(outputs) for outputs in Y]
    problem = SelectionProblem(arms, policy)
    counts, live = problem.empty(), []
    for t, outputs in enumerate(Y, 1):
        arm = problem.choose(counts, t, RNG)
        counts = problem.update(counts, arm, outputs[arms.revealed(arm)])
        live.append(arm)
    assert live == expected
    replayed = replay(problem, Y, rng=RNG).arms
    assert replayed is not None
    assert replayed.tolist() == expected
    i, j = arms.pairs
    pairs = list(zip(i.tolist(), j.tolist(), strict=True))
    assert counts.D.tolist() == [naive.D[pair] for pair in pairs]
    assert counts.N.tolist() == [naive.N[pair] for pair in pairs]


def test_many_subsets_are_replayed_as_the_definition_says() -> None:
    """Six tests: 63 arms and 1,953 pairs, beyond what is replayed side by side."""
    arms = subsets([0.02, 0.05, 0.01, 0.03, 0.08, 0.04])
    Y, _ = stream(63, 25, np.random.default_rng(2))
    naive = NaiveUCB(arms, "kl_ucb", 0.0)
    replayed = replay(SelectionProblem(arms, KLUCB()), Y, rng=RNG).arms
    assert replayed is not None
    assert replayed.tolist() == [naive.play(outputs) for outputs in Y]


@pytest.mark.parametrize("arms", [ARMS["cascade"], ARMS["subsets with ties"]], ids=["cascade", "subsets"])
def test_thompson_sampling_follows_its_law(arms: Arms) -> None:
    """Choices at given counts, against all pairs drawn beforehand: chi-square of two samples at 1e-6."""
    rng = np.random.default_rng(3)
    N = rng.integers(5, 40, arms.n_pairs).astype(np.int32)
    D = (N * rng.uniform(0, 0.4, arms.n_pairs)).astype(np.int32)
    counts = Counts(D, N, np.zeros(len(arms), np.int64), np.ones(len(arms), np.int64))
    problem = SelectionProblem(arms, ThompsonSampling())
    i, j = arms.pairs
    draws = 3000
    table = np.zeros((3, len(arms)))
    change, base = incidence(arms)
    for _ in range(draws):
        table[0, problem.choose(counts, 7, rng)] += 1
        p = np.zeros((len(arms), len(arms)))
        p[i, j] = p[j, i] = rng.beta(1 + D, 1 + N - D)
        table[1, chosen(arms, p)] += 1
    many = ThompsonSampling().reaches(arms.gap, np.tile(D, (draws, 1)), np.tile(N, (draws, 1)), 7, rng)
    table[2] = np.bincount(select_many(many, change, base, arms.last), minlength=len(arms))
    assert (table.sum(axis=0) > 0).sum() > 1
    assert chi2_contingency(table[:, table.sum(axis=0) >= 15]).pvalue > 1e-6


def test_both_ways_to_replay_have_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thompson sampling side by side and one by one: shares of the arms over 60 repetitions of 100 rounds.

    Repetitions are independent: a difference of 6 standard errors of their means has probability below 1e-6 an arm.
    """
    arms = subsets([0.02, 0.1, 0.05])
    Y, truth = stream(7, 400, np.random.default_rng(4))
    problem = SelectionProblem(arms, ThompsonSampling())

    def ends(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        regrets = [replay(problem, Y, truth, rounds=100, order="resampled", rng=rng).regret for _ in range(60)]
        return np.array([r.mean[-1] for r in regrets if r is not None])

    side_by_side = ends(5)
    monkeypatch.setattr("autoprog.csmd.table_replay._MAX_PAIRS", 0)
    one_by_one = ends(6)
    error = np.sqrt(side_by_side.var(ddof=1) / 60 + one_by_one.var(ddof=1) / 60)
    assert abs(side_by_side.mean() - one_by_one.mean()) < 6 * error


def test_without_feedback_the_last_arm_is_played() -> None:
    arms = ARMS["cascade"]
    for policy in (KLUCB(), UCB1()):
        problem = SelectionProblem(arms, policy)
        assert [problem.choose(problem.empty(), t, RNG) for t in (1, 2, 50)] == [3, 3, 3]


def test_a_seeded_round_can_be_repeated() -> None:
    problem = SelectionProblem(ARMS["subsets"], ThompsonSampling())
    choices = {problem.choose(problem.empty(), 3, np.random.default_rng([9, 3])) for _ in range(5)}
    assert len(choices) == 1
