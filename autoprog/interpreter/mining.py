"""Frequent conjunctions of conditions, counted by stratum.

Levelwise search over free conjunctions, with counts by matrix products. A conjunction that matches as many patients as
one of its parts says nothing more than that part. So low support and lack of freeness prune all longer conjunctions.

    B_il    1 when patient i satisfies condition l          (n_patients, n_conditions)
    N_rlm   patients of stratum r who satisfy l and m       (n_strata, n_conditions, n_conditions)

Sets of patients as packed bits, 64 patients a word: two sets of 20,000 intersect in 313 operations.

m       sets
w       words a set, ceil(n_patients / 64)

The Bayesian associative classifier: evidence and prior probability of rules.

    n, n_r       patients; those of them in stratum r
    L            conditions to choose from
    n_A, n_Ar    patients who satisfy a conjunction A, or any of a set of them; those in stratum r  (n_candidates,)
    q_r          base rate n_r / n
    s, p         strength of the prior in patients; its expected probability, by default q_r
    a, b         s p, s (1 - p)
    P(r | A)     ~ Beta(a + n_Ar, b + n_A - n_Ar)
    ell          length of A

    log evidence that matching and other patients have rates of their own, less that of one common rate:

        M(n_A, n_Ar) + M(n - n_A, n_r - n_Ar) - M(n, n_r),    M(m, k) = ln B(a + k, b + m - k) - ln B(a, b)

    log prior of A: its length is geometric, P(ell) proportional to 2^-ell, and all C(L, ell) conjunctions of a length
    are equally likely. The second part corrects for the number of candidates.

References
----------
Agrawal, Imielinski & Swami 1993, SIGMOD, 207; Boulicaut, Bykowski & Rigotti 2003, Data Mining and Knowledge Discovery
7:5.
Liu, Hsu & Ma 1998, KDD, 80 (associative classification); Wang et al. 2017, JMLR 18(70) (the evidence of a set of
rules); Chipman, George & McCulloch 1998, JASA 93:935 (rates of their own in the parts of a partition).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, betaln, gammaln

from autoprog.interpreter.rules import LEVEL, MAX_LENGTH, StratumProbability

MINED_LENGTH = 3

_CHUNK = 16_384  # rows converted to float32 at once; counts up to 2^24 are exact in float32


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """Conjunctions and the number of patients that they match."""

    members: NDArray[np.int16]  # ascending condition indices, padded with -1, shape = (n_conjunctions, MINED_LENGTH)
    counts: NDArray[np.int32]  # matching patients, shape = (n_conjunctions, n_strata)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of conditions of each conjunction."""
        lengths: NDArray[np.int64] = np.count_nonzero(self.members >= 0, axis=1)
        return lengths


def frequent_conjunctions(
    B: NDArray[np.bool_], strata: NDArray[np.integer], n_strata: int, min_count: int
) -> Conjunctions:
    """Find all free conjunctions of up to three conditions that match enough patients, shorter ones first."""
    order = np.argsort(strata, kind="stable")
    B, strata = B[order], strata[order]
    N = _co_occurrences(B, strata, n_strata)
    totals = N.sum(axis=0)
    singles = totals.diagonal()
    usable = (singles >= min_count) & (singles < len(B))
    free = (totals < np.minimum(singles[:, None], singles)) & usable[:, None] & usable
    pairs = _Pairs(totals, free & (totals >= min_count))
    first = np.flatnonzero(usable)
    i, j = np.nonzero(np.triu(pairs.frequent, k=1))
    members = [_padded(first), _padded(i, j)]
    counts = [N[:, first, first].T, N[:, i, j].T]
    for lowest in first:
        triples, triple_counts = _triples(int(lowest), B, strata, pairs, n_strata, min_count)
        members.append(triples)
        counts.append(triple_counts)
    return Conjunctions(np.concatenate(members), np.concatenate(counts))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Patients whom each pair matches, and which pairs are free and frequent; both (n_conditions, n_conditions)."""

    totals: NDArray[np.int32]
    frequent: NDArray[np.bool_]


def _triples(
    i: int, B: NDArray[np.bool_], strata: NDArray[np.integer], pairs: _Pairs, n_strata: int, min_count: int
) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
    """Find the free frequent conjunctions (i, j, k) with i < j < k, and their counts by stratum."""
    rest = slice(i + 1, None)
    rows = np.flatnonzero(B[:, i])
    N = _co_occurrences(B[rows, rest], strata[rows], n_strata)
    totals = N.sum(axis=0)
    with_i = pairs.totals[i, rest]
    parts = np.minimum(np.minimum(with_i[:, None], with_i), pairs.totals[rest, rest])
    candidates = pairs.frequent[rest, rest] & pairs.frequent[i, rest, None] & pairs.frequent[i, rest]
    j, k = np.nonzero(np.triu(candidates & (totals >= min_count) & (totals < parts), k=1))
    return _padded(np.full(len(j), i), i + 1 + j, i + 1 + k), N[:, j, k].T


def _co_occurrences(B: NDArray[np.bool_], strata: NDArray[np.integer], n_strata: int) -> NDArray[np.int32]:
    """Count N for rows that are sorted by stratum."""
    N = np.zeros((n_strata, B.shape[1], B.shape[1]), dtype=np.int32)
    bounds = np.searchsorted(strata, np.arange(n_strata + 1))
    for r in range(n_strata):
        for start in range(bounds[r], bounds[r + 1], _CHUNK):
            block = B[start : min(start + _CHUNK, bounds[r + 1])].astype(np.float32)
            N[r] += (block.T @ block).astype(np.int32)
    return N


def _padded(*columns: NDArray[np.integer]) -> NDArray[np.int16]:
    members = np.full((len(columns[0]), MINED_LENGTH), -1, dtype=np.int16)
    for position, column in enumerate(columns):
        members[:, position] = column
    return members


Words = NDArray[np.uint64]

WORD = 64
"""Patients of a word."""

_BYTES = WORD // 8


def pack(masks: NDArray[np.bool_]) -> Words:
    """Pack masks, shape = (n_patients,) or (m, n_patients), into words, shape = (w,) or (m, w), padded with 0."""
    packed = np.packbits(masks, axis=-1)
    padding = [(0, 0)] * (packed.ndim - 1) + [(0, -packed.shape[-1] % _BYTES)]
    return np.ascontiguousarray(np.pad(packed, padding)).view(np.uint64)


def unpack(words: Words, n_patients: int) -> NDArray[np.bool_]:
    """Unpack the words of `pack`."""
    return np.unpackbits(words.view(np.uint8), axis=-1, count=n_patients).view(np.bool_)


STRENGTH = 10.0

Count = NDArray[np.integer] | int


class Evidence:
    """Log evidence of two rates against one, by lookup: a selection asks for millions."""

    def __init__(self, n: int, n_r: int) -> None:
        self._n, self._n_r = n, n_r
        a, b = STRENGTH * n_r / n, STRENGTH * (1 - n_r / n)
        i = np.arange(n + 1)
        self._log_a, self._log_b, self._log_ab = gammaln(a + i), gammaln(b + i), gammaln(a + b + i)
        self._common = betaln(a, b) + betaln(a + n_r, b + n - n_r)

    def __call__(self, n_A: Count, n_Ar: Count) -> NDArray[np.float64]:
        """Log evidence, shape = (n_candidates,): above 0 if the data support a difference, 0 if nobody matches."""
        matching = self._log_beta(np.asarray(n_A), np.asarray(n_Ar))
        others = self._log_beta(self._n - np.asarray(n_A), self._n_r - np.asarray(n_Ar))
        evidence: NDArray[np.float64] = matching + others - self._common
        return evidence

    def _log_beta(self, m: NDArray[np.integer], k: NDArray[np.integer]) -> NDArray[np.float64]:
        """ln B(a + k, b + m - k)."""
        log_beta: NDArray[np.float64] = self._log_a[k] + self._log_b[m - k] - self._log_ab[m]
        return log_beta


def log_prior(n_conditions: int) -> NDArray[np.float64]:
    """Log prior of a conjunction by its length, shape = (MAX_LENGTH + 1,); 0 at length 0."""
    ell = np.arange(1, MAX_LENGTH + 1)
    log_length = -ell * np.log(2) - np.log((0.5**ell).sum())
    L = max(n_conditions, MAX_LENGTH)
    log_choose = gammaln(L + 1) - gammaln(ell + 1) - gammaln(L - ell + 1)
    return np.append(0.0, log_length - log_choose)


def posterior(n_A: float, n_Ar: float, p: float, s: float = STRENGTH) -> StratumProbability:
    """Posterior of P(r | A), with the prior's expected probability p in (0, 1) and strength s > 0 in patients."""
    a, b = s * p + n_Ar, s * (1 - p) + n_A - n_Ar
    tail = (1 - LEVEL) / 2
    lower, upper = betaincinv(a, b, [tail, 1 - tail])
    return StratumProbability(a / (a + b), float(lower), float(upper))


def raises_odds(n_A: Count, n_Ar: Count, q_r: float, least: float) -> NDArray[np.bool_]:
    """Test whether the odds of each posterior mean are at least `least` times those of the base rate."""
    in_stratum, outside = STRENGTH * q_r + n_Ar, STRENGTH * (1 - q_r) + n_A - n_Ar
    return np.asarray(in_stratum * (1 - q_r) >= least * outside * q_r)
