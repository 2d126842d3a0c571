"""A small set of rules for one stratum: the most probable one that greedy ascents find.

    r              patients in the stratum                                                      packed
    A_1, .., A_K   rules of the set
    C              patients whom the set, or a clinician's rule, matches                         packed
    n_C, n_Cr      size of C; of C in the stratum
    V              log posterior of the set: log evidence(n_C, n_Cr) + sum of the log priors of its rules

V counts a patient once, however many rules match: a rule that repeats others adds only its prior and does not pay.

Tests of rules on held-out patients.

    n, n_r       patients held out; those of them in stratum r
    n_A, n_Ar    of these, who satisfy a rule                              (n_rules,)
    p_k          P(N >= n_Ar), N hypergeometric: n_A drawn from n, n_r of them in the stratum
    D            design effect of the rule and its stratum: with groups n, n_r, n_A and n_Ar are divided by it
    m            mined rules tested, of all strata together
    h_m          1 + 1/2 + .. + 1/m

    adjusted p_(k) = min over j >= k of p_(j) m h_m / j, at most 1

A rule was chosen for its fit to the mined patients; the held-out ones do not favour it. If it is not associated with
the stratum, p is uniform or larger, exactly (Fisher's one-sided test), or approximately with groups. Rules overlap and
strata exclude each other, so the tests are dependent; the factor h_m controls the false-discovery rate under any
dependence.

References
----------
Wang et al. 2017, JMLR 18(70) (rule sets by their posterior); Cohen 1995, ICML, 115 (rules revised in the light of
others).
Fisher 1922, JRSS 85:87; Benjamini & Yekutieli 2001, Annals of Statistics 29:1165; Webb 2007, Machine Learning 68:1
(rules on held-out data).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from autoprog.interpreter.mining import WORD, Evidence, Words, log_prior, pack, raises_odds, unpack
from autoprog.interpreter.rules import MAX_LENGTH

Conjunction = tuple[int, ...]

MIN_ODDS_RATIO = 2.0  # a weaker rule may be certain in a large cohort and still be useless

_MIN_GAIN = log(20)  # least gain in V by each rule of the set
_REFINED = 5  # best conjunctions that are refined for each new rule
# Least odds ratios of the rules in the first part of each ascent. The best single rule is often broad, and no change of
# one condition leads from it to several sharp rules. So some ascents begin with sharper rules; the best result wins.
_PURITIES = (MIN_ODDS_RATIO, 3.0, 4.5, 7.0)
_MAX_SWEEPS = 10
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Target:
    """A stratum, and the material for its rules."""

    B: Words  # patients who satisfy each condition, shape = (n_conditions, w)
    in_stratum: NDArray[np.bool_]  # shape = (n_patients,); neither all nor none
    min_count: int  # fewest patients that a rule must match

    @property
    def n(self) -> int:
        """Number of patients."""
        return len(self.in_stratum)

    @property
    def n_r(self) -> int:
        """Number of patients in the stratum."""
        return int(np.count_nonzero(self.in_stratum))


class _Patients:
    """The patients of a target as words, those of the stratum first, so that one pass counts both."""

    def __init__(self, target: Target) -> None:
        self._n, n_r = target.n, target.n_r
        first = -(-n_r // WORD)
        width = first + -(-(target.n - n_r) // WORD)
        self._place = np.empty(target.n, dtype=np.intp)
        self._place[target.in_stratum] = np.arange(n_r)
        self._place[~target.in_stratum] = first * WORD + np.arange(target.n - n_r)
        self._columns = np.ones((width, 2), dtype=np.float32)  # sums are exact: no count is above 2^24
        self._columns[first:, 1] = 0.0
        self.B = self.arrange(unpack(target.B, target.n))
        self.all = self.arrange(np.ones(target.n, dtype=np.bool_))

    def arrange(self, masks: NDArray[np.bool_]) -> Words:
        """Pack masks, shape = (n_patients,) or (m, n_patients)."""
        placed = np.zeros((*masks.shape[:-1], WORD * len(self._columns)), dtype=np.bool_)
        placed[..., self._place] = masks
        return pack(placed)

    def count(self, sets: Words) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the patients of each set, and those of them in the stratum, shapes = () or (m,)."""
        counts = (np.bitwise_count(sets).astype(np.float32) @ self._columns).astype(np.int64)
        return counts[..., 0], counts[..., 1]

    def conjoin(self, rule: Conjunction) -> Words:
        """Patients who satisfy every condition."""
        return np.bitwise_and.reduce(self.B[list(rule)], axis=0) if rule else self.all

    def conjoin_each(self, rules: Sequence[Conjunction]) -> Words:
        """Patients who satisfy every condition of each rule, shape = (n_rules, w)."""
        # A row that all patients satisfy stands for the conditions that shorter rules lack.
        rows = np.vstack([self.B, self.all])
        members = np.full((len(rules), MAX_LENGTH), len(self.B), dtype=np.intp)
        for i, rule in enumerate(rules):
            members[i, : len(rule)] = rule
        A = rows[members[:, 0]]
        for column in members.T[1:]:
            A &= rows[column]
        return A


def select_rules(
    target: Target,
    starts: Sequence[Conjunction],
    given: NDArray[np.bool_],  # patients whom a clinician's rule already places in the stratum
    most: int,
    stop: Callable[[], bool] = lambda: False,
) -> list[Conjunction]:
    """Choose up to `most` rules for a stratum as ascending condition indices, the best supported first."""
    # Once `stop` turns true, what was found so far is taken.
    patients = _Patients(target)
    A = patients.conjoin_each(starts)
    counts, in_stratum = patients.count(A)
    given_words = patients.arrange(given)
    found: tuple[float, list[Conjunction]] = (0.0, [])
    for least in _PURITIES:
        if stop():
            break
        pure = np.flatnonzero(raises_odds(counts, in_stratum, target.n_r / target.n, least))
        ascent = _Ascent(target, patients, [starts[i] for i in pure.tolist()], A[pure], given_words, least)
        ascent.climb(most, stop)
        found = max(found, (ascent.gained(), ascent.rules), key=lambda end: end[0])
    evidence = Evidence(target.n, target.n_r)
    supported = {}
    for rule in (_trimmed(rule, patients) for rule in found[1]):
        n_A, n_Ar = patients.count(patients.conjoin(rule))
        if raises_odds(n_A, n_Ar, target.n_r / target.n, MIN_ODDS_RATIO):
            supported[rule] = float(evidence(n_A, n_Ar))
    return sorted(supported, key=lambda rule: (-supported[rule], rule))


def _trimmed(rule: Conjunction, patients: _Patients) -> Conjunction:
    """Drop conditions that do not separate two rates among patients who satisfy the rest."""
    # Beside other rules a condition may pay by excluding a few patients whom no other rule matches. Read by itself such
    # a rule would be wrong.
    while len(rule) > 1:
        n_A, n_Ar = map(int, patients.count(patients.conjoin(rule)))
        found = []
        for i in range(len(rule)):
            n_rest, n_rest_r = map(int, patients.count(patients.conjoin(rule[:i] + rule[i + 1 :])))
            rises = n_Ar * n_rest > n_rest_r * n_A  # so the rest has patients in the stratum and outside
            found.append(float(Evidence(n_rest, n_rest_r)(n_A, n_Ar)) if rises else -np.inf)
        worst = int(np.argmin(found))
        if found[worst] > 0:
            return rule
        rule = rule[:worst] + rule[worst + 1 :]
    return rule


class _Ascent:
    """One greedy ascent of V.

    `rules` is the set so far. A rule that is changed must raise the odds by at least `_least`, which `climb` lowers on
    the way. `_extensions` remembers what is best under the present `_least`, and is emptied when that changes.
    `_starts`, `_matched` and `_start_priors` are parallel: a conjunction, whom it matches, the log prior of its length.
    """

    def __init__(
        self,
        target: Target,
        patients: _Patients,
        starts: Sequence[Conjunction],
        matched: Words,
        given: Words,
        least: float,
    ) -> None:
        self.rules: list[Conjunction] = []
        self._patients, self._given, self._min_count = patients, given, target.min_count
        self._q_r, self._least = target.n_r / target.n, least
        self._evidence = Evidence(target.n, target.n_r)
        self._prior = log_prior(len(target.B))
        self._starts, self._matched = starts, matched
        self._start_priors = self._prior[np.array([len(start) for start in starts], dtype=np.intp)]
        self._extensions: dict[tuple[Conjunction, bytes], list[tuple[Conjunction, float]]] = {}

    def climb(self, most: int, stop: Callable[[], bool]) -> None:
        """Add rules while they pay, refining all after each; then continue with broader rules allowed."""
        for least in (self._least, MIN_ODDS_RATIO):
            if least != self._least:
                self._extensions.clear()
                self._least = least
            while not stop():
                self._revise()
                if len(self.rules) >= most or not self._add():
                    break

    def gained(self) -> float:
        """V of the set, less V of the empty set."""
        V = self._without(self._covered(None)) + sum(self._prior[len(a)] for a in self.rules)
        return float(V - self._without(self._given))

    def _add(self) -> bool:
        """Add the rule that raises V most; False if none raises it enough."""
        C = self._covered(None)
        V = self._covering(C, self._matched) + self._start_priors
        likely = np.argsort(-V, kind="stable")[:_REFINED]
        refined = [self._refined(self._starts[i], C) for i in likely]
        without = self._without(C)
        rule, V_with = max(refined, key=lambda end: end[1], default=((), without))
        if V_with - without < _MIN_GAIN:
            return False
        self.rules.append(rule)
        return True

    def _revise(self) -> None:
        """Refine each rule given the others, latest first, and drop those that no longer pay."""
        for _ in range(_MAX_SWEEPS):
            before = list(self.rules)
            for k in reversed(range(len(self.rules))):
                C = self._covered(k)
                rule, V = self._refined(self.rules[k], C)
                if V - self._without(C) < _MIN_GAIN:
                    del self.rules[k]
                else:
                    self.rules[k] = rule
            if self.rules == before:
                return

    def _refined(self, rule: Conjunction, C: Words) -> tuple[Conjunction, float]:
        """Change one condition at a time while V rises; V is up to the priors of the other rules."""
        V = float(self._covering(C, self._patients.conjoin(rule)) + self._prior[len(rule)])
        while True:
            neighbour, V_there = max(self._neighbours(rule, C), key=lambda end: end[1], default=(rule, V))
            if V_there <= V + _ROUNDING:
                return rule, V
            rule, V = neighbour, V_there

    def _neighbours(self, rule: Conjunction, C: Words) -> list[tuple[Conjunction, float]]:
        """List the rule without each condition, with it replaced by the best other one, and with one more."""
        found = []
        for rest in (rule[:i] + rule[i + 1 :] for i in range(len(rule))):
            A = self._patients.conjoin(rest)
            if rest and self._allowed(A):
                found.append((rest, float(self._covering(C, A) + self._prior[len(rest)])))
            found += self._extended(rest, C)
        if len(rule) < MAX_LENGTH:
            found += self._extended(rule, C)
        return found

    def _extended(self, rest: Conjunction, C: Words) -> list[tuple[Conjunction, float]]:
        """Find the best allowed rule with one more condition, if any; remembered, as refinements meet."""
        key = rest, C.tobytes()
        if key not in self._extensions:
            self._extensions[key] = self._best_extension(rest, C)
        return self._extensions[key]

    def _best_extension(self, rest: Conjunction, C: Words) -> list[tuple[Conjunction, float]]:
        A = self._patients.B & self._patients.conjoin(rest)
        V = np.where(self._allowed(A), self._covering(C, A) + self._prior[len(rest) + 1], -np.inf)
        if V.max(initial=-np.inf) == -np.inf:
            return []
        index = int(np.argmax(V))
        return [(tuple(sorted((*rest, index))), float(V[index]))]

    def _allowed(self, A: Words) -> NDArray[np.bool_]:
        """Test whether each A matches enough patients and is pure enough for this ascent."""
        n_A, n_Ar = self._patients.count(A)
        return np.asarray(raises_odds(n_A, n_Ar, self._q_r, self._least) & (n_A >= self._min_count))

    def _covering(self, C: Words, A: Words) -> NDArray[np.float64]:
        """Log evidence of the union of C and each A."""
        n_C, n_Cr = self._patients.count(C)
        n_new, n_new_r = self._patients.count(A & ~C)
        return self._evidence(n_C + n_new, n_Cr + n_new_r)

    def _without(self, C: Words) -> float:
        """Log evidence of C."""
        return float(self._evidence(*self._patients.count(C)))

    def _covered(self, but: int | None) -> Words:
        """Patients whom the rules match, without one rule."""
        C = self._given
        for k, rule in enumerate(self.rules):
            if k != but:
                C = C | self._patients.conjoin(rule)
        return C


SHARE = 0.25  # held-out share of the patients
FALSE_DISCOVERY_RATE = 0.1

_BLOCK = 8  # neighbours in risk, two of whom are held out


def hold_out(
    risks: NDArray[np.floating], groups: NDArray[np.integer] | None, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Hold out about a quarter of the patients, evenly over the risks, groups together; nobody of a single group."""
    members = np.arange(len(risks)) if groups is None else np.unique(groups, return_inverse=True)[1]
    means = np.bincount(members, weights=risks) / np.bincount(members)
    order = np.argsort(means, kind="stable")
    if len(order) < _BLOCK:
        few = rng.permutation(len(order)) < min(max(1, round(SHARE * len(order))), len(order) - 1)
        return np.asarray(few[members], dtype=np.bool_)
    blocks = rng.permuted(np.tile(np.arange(_BLOCK), (-(-len(order) // _BLOCK), 1)), axis=1).ravel()[: len(order)]
    chosen = np.empty(len(order), dtype=np.bool_)
    chosen[order] = blocks < SHARE * _BLOCK
    held_out: NDArray[np.bool_] = chosen[members]
    return held_out


def p_values(
    n_A: NDArray[np.integer],
    n_Ar: NDArray[np.integer],
    n: int,
    n_r: NDArray[np.integer],
    D: NDArray[np.float64] | float = 1.0,
) -> NDArray[np.float64]:
    """One-sided p-value of each rule, in (0, 1], with its design effect D."""
    matching, in_both, rows, in_stratum = (np.rint(count / D).astype(np.int64) for count in (n_A, n_Ar, n, n_r))
    p: NDArray[np.float64] = hypergeom.sf(in_both - 1, rows, in_stratum, matching)
    return p


def adjusted(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjusted p-values of all tests made, in [0, 1]."""
    m = len(p)
    rank = np.arange(1, m + 1)
    falling = np.argsort(p, kind="stable")[::-1]
    scaled = p[falling] * m * (1 / rank).sum() / rank[::-1]
    q = np.empty(m)
    q[falling] = np.minimum(1.0, np.minimum.accumulate(scaled))
    return q
