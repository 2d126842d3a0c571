"""The choice of a set of rules against enumeration, and what every choice must keep to."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from autoprog.interpreter.mining import Evidence, log_prior, pack, raises_odds
from autoprog.interpreter.selection import MIN_ODDS_RATIO, Target, select_rules

MIN_COUNT = 8


def _columns(seed: int, n: int = 240, width: int = 8) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((n, width)) < rng.uniform(0.3, 0.7, width)


def _all_conjunctions(columns: np.ndarray) -> list[tuple[int, ...]]:
    width = columns.shape[1]
    every = [c for length in range(1, 5) for c in combinations(range(width), length)]
    return [c for c in every if columns[:, c].all(axis=1).sum() >= MIN_COUNT]


def _value(columns: np.ndarray, r: np.ndarray, rules: list[tuple[int, ...]]) -> float:
    """V of a set, by its definition."""
    C = np.zeros(len(r), dtype=np.bool_)
    for rule in rules:
        C |= columns[:, rule].all(axis=1)
    prior = log_prior(columns.shape[1])
    return float(Evidence(len(r), int(r.sum()))(int(C.sum()), int((C & r).sum()))) + sum(prior[len(a)] for a in rules)


def _doubles_odds(columns: np.ndarray, r: np.ndarray, rule: tuple[int, ...]) -> bool:
    matches = columns[:, rule].all(axis=1)
    return bool(raises_odds(int(matches.sum()), int((matches & r).sum()), float(r.mean()), MIN_ODDS_RATIO))


def _select(columns: np.ndarray, r: np.ndarray, most: int, given: np.ndarray | None = None) -> list[tuple[int, ...]]:
    target = Target(pack(columns.T), r, MIN_COUNT)
    starts = [c for c in _all_conjunctions(columns) if len(c) <= 3]
    return select_rules(target, starts, np.zeros(len(r), np.bool_) if given is None else given, most)


@pytest.mark.parametrize("seed", range(6))
def test_a_single_rule_is_the_best_of_all_conjunctions(seed: int) -> None:
    columns = _columns(seed)
    rng = np.random.default_rng(seed + 100)
    r = columns[:, [0, 3, 5]].all(axis=1) ^ (rng.random(len(columns)) < 0.1)
    (rule,) = _select(columns, r, most=1)
    assert _value(columns, r, [rule]) == pytest.approx(max(_value(columns, r, [c]) for c in _all_conjunctions(columns)))


@pytest.mark.parametrize("seed", range(6))
def test_no_change_of_one_rule_makes_the_set_more_probable(seed: int) -> None:
    columns = _columns(seed)
    rng = np.random.default_rng(seed + 200)
    r = (columns[:, [0, 1, 2]].all(axis=1) | columns[:, [4, 6]].all(axis=1)) ^ (rng.random(len(columns)) < 0.05)
    rules = _select(columns, r, most=10)
    V = _value(columns, r, rules)
    assert V > 0
    for k, rule in enumerate(rules):
        others = rules[:k] + rules[k + 1 :]
        assert V - _value(columns, r, others) >= np.log(20) - 1e-9
        every = _all_conjunctions(columns)
        near = [c for c in every if len(set(c) ^ set(rule)) <= 2 and abs(len(c) - len(rule)) <= 1]
        neighbours = [c for c in near if _doubles_odds(columns, r, c)]
        assert max(_value(columns, r, [*others, c]) for c in neighbours) <= V + 1e-6


def test_two_planted_rules_are_found_with_their_conditions() -> None:
    columns = _columns(3, n=600)
    rng = np.random.default_rng(1)
    r = (columns[:, [0, 1, 2]].all(axis=1) | columns[:, [4, 6]].all(axis=1)) ^ (rng.random(len(columns)) < 0.05)
    assert sorted(_select(columns, r, most=10)) == [(0, 1, 2), (4, 6)]


def test_patients_of_a_given_rule_need_no_other() -> None:
    columns = _columns(3, n=600)
    r = columns[:, [0, 1, 2]].all(axis=1) | columns[:, [4, 6]].all(axis=1)
    assert _select(columns, r, most=10, given=columns[:, [4, 6]].all(axis=1)) == [(0, 1, 2)]
    assert _select(columns, r, most=10, given=r) == []
    assert _select(columns, r, most=0) == []


def test_a_stratum_that_no_condition_tells_of_has_no_rule() -> None:
    # Each of 40 finds a rule with probability of the order of 1 / 20: more than 12 with probability below 1e-6.
    found = sum(
        bool(_select(_columns(seed), np.random.default_rng(seed).permutation(240) < 80, 10)) for seed in range(40)
    )
    assert found <= 12
