from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln

from autoprog.csmd import (
    KLUCB,
    UCB1,
    Counts,
    SelectionProblem,
    ThompsonSampling,
    confidence_sequence,
    disagreement_estimates,
    dominance_evidence,
    estimated_choice,
    problem_warnings,
    record_play,
    strong_dominance_evidence,
)
from tests.csmd.naive import cascade, chosen, stream, subsets


def learnt(arms, Y: np.ndarray, arm: int | None = None) -> Counts:  # noqa: ANN001
    """All rows played with the last arm, or with another that reveals all."""
    played = len(arms) - 1 if arm is None else arm
    problem = SelectionProblem(arms, ThompsonSampling())
    counts = problem.update_many(problem.empty(), [(played, row) for row in Y])
    for _ in Y:
        counts = record_play(counts, played)
    return counts


def test_the_interval_is_where_the_mixture_does_not_win() -> None:
    D, N = np.array([0, 3, 50, 400]), np.array([0, 10, 50, 1000])
    lower, upper = confidence_sequence(D, N, 0.95)
    assert (lower[0], upper[0]) == (0.0, 1.0)
    assert upper[2] == 1.0
    for k in (1, 3):
        for end in (lower[k], upper[k]):
            log_likelihood = D[k] * np.log(end) + (N[k] - D[k]) * np.log1p(-end)
            assert betaln(D[k] + 1, N[k] - D[k] + 1) - log_likelihood == pytest.approx(np.log(20), abs=1e-6)
    assert (lower <= D / np.maximum(N, 1)).all()


def test_the_interval_holds_at_all_times_at_once() -> None:
    """Of 1,000 growing samples of 300, at most 5 % may ever leave; 80 or more have probability below 1e-4 then."""
    rng = np.random.default_rng(0)
    D = (rng.random((1000, 300)) < 0.2).cumsum(axis=1)
    lower, upper = confidence_sequence(D, np.arange(1, 301)[None, :].repeat(1000, axis=0), 0.95)
    assert ((lower > 0.2) | (upper < 0.2)).any(axis=1).sum() < 80


def test_estimates_of_all_pairs() -> None:
    arms = cascade([0.1, 0.1, 0.1])
    problem = SelectionProblem(arms, ThompsonSampling())
    counts = problem.update_many(problem.empty(), [(1, np.array([0, 1])), (1, np.array([1, 1]))])
    estimates = disagreement_estimates(arms, counts)
    assert [(e.first, e.second, e.observations, e.estimate) for e in estimates] == [
        ("1", "2", 2, 0.5),
        ("1", "3", 0, None),
        ("2", "3", 0, None),
    ]
    assert (estimates[1].lower, estimates[1].upper) == (0.0, 1.0)


@pytest.mark.parametrize("arms", [cascade([0.05, 0.1, 0.07, 0.2]), subsets([0.1, 0.2, 0.1])])
def test_the_estimated_choice_is_the_selection_by_the_estimates(arms) -> None:  # noqa: ANN001
    rng = np.random.default_rng(1)
    for _ in range(50):
        counts = learnt(arms, rng.integers(0, 2, (15, len(arms))))
        i, j = arms.pairs
        p = np.zeros((len(arms), len(arms)))
        p[i, j] = p[j, i] = counts.D / counts.N
        arm, is_fallback = estimated_choice(arms, counts)
        assert arm == chosen(arms, p)
        if arm < len(arms) - 1:
            assert not is_fallback


def test_a_cycle_is_told() -> None:
    """1 rules out 2, 2 rules out 3, 3 rules out 1: the last arm by fallback."""
    arms = cascade([0.0, 0.2, 0.2])
    counts = Counts(np.array([1, 9, 1], np.int32), np.full(3, 10, np.int32), np.full(3, 5), np.full(3, 5))
    assert estimated_choice(arms, counts) == (2, True)
    assert any("the last arm is played" in warning for warning in problem_warnings(arms, counts, KLUCB()))


def test_a_wide_margin_is_supported_and_a_negative_one_refuted() -> None:
    Y, _ = stream(3, 2000, np.random.default_rng(2))
    p12, p13 = (float(np.mean(Y[:, 0] != Y[:, k])) for k in (1, 2))
    dear = cascade([0.0, 0.9, 0.05])
    evidence = dominance_evidence(dear, learnt(dear, Y))
    assert (evidence.arm, evidence.verdict, evidence.is_fallback) == ("1", "supported", False)
    assert evidence.margin == pytest.approx(min(0.9 - p12, 0.95 - p13))
    assert evidence.lower is not None
    assert evidence.upper is not None
    assert 0 < evidence.lower < evidence.margin < evidence.upper
    cheap = cascade([0.0, 0.0, 0.0])
    evidence = dominance_evidence(cheap, learnt(cheap, Y))
    assert evidence.verdict == "vacuous"
    assert evidence.says.startswith("arm 3 is the last arm: there is no later arm")


def test_a_fallback_of_subsets_is_refuted_or_open() -> None:
    """Two tests of which each pair differs often: nothing dominates."""
    rng = np.random.default_rng(3)
    arms = subsets([0.05, 0.06])
    counts = learnt(arms, rng.integers(0, 2, (500, 3)))
    evidence = dominance_evidence(arms, counts)
    assert evidence.verdict == "vacuous"
    assert evidence.says.startswith("arm 3 is the dearest arm: ")
    assert evidence.arm == "3"
    assert problem_warnings(arms, counts, ThompsonSampling())[0].startswith(
        "with subsets weak dominance is rarely true"
    )


def test_of_equal_costs_it_is_unknown_whatever_was_observed() -> None:
    """Every two of three free tests: the full set is played, its equals are named, and xi counts them."""
    rng = np.random.default_rng(4)
    arms = subsets([0.0, 0.0, 0.0])
    for counts in (Counts.empty(arms), learnt(arms, rng.integers(0, 2, (2000, 7)), arm=0)):
        evidence = dominance_evidence(arms, counts)
        assert (evidence.arm, evidence.verdict, evidence.is_fallback) == ("1", "unknown", False)
        assert "costs the same as arms 2, 3, 4, 5, 6, 7." in evidence.says
    assert evidence.upper is not None
    assert evidence.upper < 0
    assert evidence.margin == pytest.approx(-(counts.D[:21] / counts.N[:21])[[0, 1, 3, 6, 10, 15]].max())


def test_an_arm_without_equals_is_judged_though_others_cost_the_same() -> None:
    """The second test is free: the arms with and without it cost the same, but the second test alone costs least."""
    arms = subsets([0.1, 0.0])
    assert [arm.tests for arm in arms] == [(1,), (0, 1), (0,)]
    Y = np.zeros((500, 3), dtype=int)
    assert dominance_evidence(arms, learnt(arms, Y, arm=1)).verdict == "supported"
    Y[:200, 1:] = 1
    evidence = dominance_evidence(arms, learnt(arms, Y, arm=1))
    assert (evidence.arm, evidence.verdict, evidence.says.split(".")[0]) == (
        "2",
        "unknown",
        "Arm 2 costs the same as arm 3",
    )


def test_what_was_not_observed_is_open() -> None:
    arms = cascade([0.0, 0.9, 0.9])
    problem = SelectionProblem(arms, ThompsonSampling())
    counts = problem.update(problem.empty(), 1, np.array([0, 0]))
    evidence = dominance_evidence(arms, counts)
    assert (evidence.verdict, evidence.margin) == ("open", None)
    assert "never observed beside 1 of the 2 arms" in evidence.says


def test_strong_dominance_is_refuted_and_never_proved() -> None:
    arms = cascade([0.1, 0.1, 0.1])
    assert strong_dominance_evidence(Counts.empty(arms)).share is None
    nested = strong_dominance_evidence(learnt(arms, np.array([[0, 1, 1], [0, 0, 1], [1, 1, 1]])))
    assert (nested.rounds, nested.reversals, nested.lower) == (3, 0, 0.0)
    assert "not proved" in nested.says
    refuted = strong_dominance_evidence(learnt(arms, np.array([[0, 1, 0], [0, 0, 1]])))
    assert (refuted.rounds, refuted.reversals, refuted.share) == (2, 1, 0.5)
    assert refuted.says.startswith("Strong dominance fails")


def test_warnings_of_costs_and_missing_feedback() -> None:
    nothing = cascade([0.1, 0.1])
    assert problem_warnings(nothing, Counts.empty(nothing), ThompsonSampling()) == ()
    falling = cascade([32.0, 365.0], [0.0042, 0.0001])
    assert "do not grow" in problem_warnings(falling, Counts.empty(falling), ThompsonSampling())[0]
    large = cascade([0.1, 1.2])
    assert "more than 1" in problem_warnings(large, Counts.empty(large), UCB1())[0]
    assert problem_warnings(large, Counts.empty(large), KLUCB()) == ()
    ties = subsets([1.0, 1.0])
    assert "1 subsets cost the same" in problem_warnings(ties, Counts.empty(ties), ThompsonSampling())[1]
    problem = SelectionProblem(nothing, ThompsonSampling())
    counts = problem.update(problem.empty(), 1, np.array([0, 0]))
    for _ in range(3):
        counts = record_play(counts, 1)
    assert "2 of 3 rounds are without feedback" in problem_warnings(nothing, counts, ThompsonSampling())[-1]
