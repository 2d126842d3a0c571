"""The definitions written out with loops, to test against."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from autoprog.csmd import Arms, DiagnosticTest, make_arms


def cascade(costs: list[float], trade_off: float | list[float] = 1.0) -> Arms:
    return make_arms("cascade", [DiagnosticTest(f"t{k}", c) for k, c in enumerate(costs)], trade_off)


def subsets(costs: list[float], trade_off: float | list[float] = 1.0) -> Arms:
    return make_arms("subset", [DiagnosticTest(f"t{k}", c) for k, c in enumerate(costs)], trade_off)


def kl_index(phat: float, N: int, rhs: float) -> float:
    """The largest q in [phat, 1] with N kl(phat, q) <= rhs, by bisection."""

    def kl(q: float) -> float:
        first = phat * math.log(phat / q) if phat > 0 else 0.0
        return first + (1 - phat) * math.log((1 - phat) / (1 - q)) if phat < 1 else first

    if phat == 1:
        return 1.0
    low, high = phat, 1.0
    for _ in range(100):
        q = (low + high) / 2
        if q < 1 and N * kl(q) <= rhs:
            low = q
        else:
            high = q
    return low


def chosen(arms: Arms, p: np.ndarray) -> int:
    """The first of B^l n B^h, from a symmetric matrix of estimates; where it is empty the dearest with most tests."""
    C, n = arms.C, len(arms)
    if arms.structure == "cascade":
        low = {i for i in range(n) if all(C[i] - C[j] <= p[j, i] for j in range(i))} | {0}
        high = {i for i in range(n) if all(C[j] - C[i] > p[i, j] for j in range(i + 1, n))} | {n - 1}
    else:
        low = {i for i in range(n) if all(C[i] - C[j] <= p[i, j] for j in range(n) if j != i and C[j] <= C[i])} | {0}
        high = {i for i in range(n) if all(C[j] - C[i] > p[i, j] for j in range(n) if C[j] > C[i])} | {n - 1}
    return min(low & high, default=dearest(arms))


def dearest(arms: Arms) -> int:
    """The last arm of a cascade; of subsets the dearest, of several that with the most tests."""
    if arms.structure == "cascade":
        return len(arms) - 1
    return max(range(len(arms)), key=lambda i: (arms.C[i], len(arms.arms[i].tests), -i))


def known(arms: Arms, arm: int) -> list[int]:
    """Arms whose tests are among those of the arm played."""
    have = set(arms.arms[arm].tests)
    return [i for i in range(len(arms)) if set(arms.arms[i].tests) <= have]


class NaiveUCB:
    """CSMD-kl and CSMD-UCB, cascade and ESCB."""

    def __init__(self, arms: Arms, kind: str, constant: float) -> None:
        self.arms, self.kind, self.constant = arms, kind, constant
        self.D = dict.fromkeys(combinations(range(len(arms)), 2), 0)
        self.N = dict(self.D)
        self.t = 0

    def index(self, pair: tuple[int, int]) -> float:
        phat, N = self.D[pair] / self.N[pair], self.N[pair]
        if self.kind == "ucb1":
            return phat + math.sqrt(self.constant * math.log(self.t) / N)
        rhs = math.log(self.t) + (self.constant * math.log(math.log(self.t)) if self.constant else 0.0)
        return kl_index(phat, N, max(0.0, rhs))

    def play(self, outputs: np.ndarray) -> int:
        self.t += 1
        n = len(self.arms)
        if self.t == 1:
            arm = dearest(self.arms)
        else:
            p = np.zeros((n, n))
            for i, j in self.D:
                p[i, j] = p[j, i] = self.index((i, j))
            arm = chosen(self.arms, p)
        for pair in combinations(known(self.arms, arm), 2):
            self.N[pair] += 1
            self.D[pair] += int(outputs[pair[0]] != outputs[pair[1]])
        return arm


def stream(n_arms: int, rounds: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Outputs that get better from arm to arm, and the truth."""
    truth = rng.integers(0, 2, rounds)
    errors = np.linspace(0.4, 0.1, n_arms)
    wrong = rng.random((rounds, n_arms)) < errors
    return np.where(wrong, 1 - truth[:, None], truth[:, None]), truth
