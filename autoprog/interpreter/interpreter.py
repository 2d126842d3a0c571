"""The interpreter: a few association rules that describe who a model places in which risk stratum.

References
----------
Alaa & van der Schaar 2018, ICML, section 5.3; Liu, Hsu & Ma 1998, KDD, 80 (selection by coverage).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from autoprog.cohort import Cohort, Feature
from autoprog.interpreter.association import STRENGTH, log_bayes_factors, log_prior, posterior
from autoprog.interpreter.conditions import all_satisfied, candidate_conditions, satisfies
from autoprog.interpreter.mining import Conjunctions, frequent_conjunctions
from autoprog.interpreter.rules import LEVEL, Condition, EventRate, Rule, RuleSet, Stratum
from autoprog.interpreter.strata import stratum_indices

MIN_SUPPORT = 0.03
MIN_PATIENTS = 5  # smaller groups are never shown
MAX_RULES = 10  # a stratum

# Mining takes seconds of so many patients and 50 features; of 500,000 it took a minute, for rules that are to hold for
# a thirtieth of the patients at least, 600 of these.
_MAX_PATIENTS = 20_000
_MAX_CONDITIONS = 300  # the cost of mining grows with its cube
_MAX_RANKED = 10_000  # conjunctions of a stratum that selection looks at
_MIN_NEW_SHARE = 0.05  # of a stratum, that a further rule must match beyond the rules before it
_MIN_SCORE = log(20)  # see `explain`
_MIN_ODDS_RATIO = 2.0  # a weaker rule may be certain in a large cohort and still tell a reader nothing

_NOTE = (
    "The rules describe which patients this model places in which risk stratum, by their out-of-fold risks; they are "
    "associations, not causes. stratum_probability is the posterior mean and {level:.0f} % credible interval of the "
    "probability that a matching patient is placed in the stratum; observed_event_rate is the share of matching "
    "patients who had the outcome, with the {level:.0f} % Wilson score interval; support is the share of all patients "
    "who match. The rules were selected from {n} conjunctions on {whom}, so expect somewhat weaker figures in others."
)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Conditions that rules may be made of.

    Attributes
    ----------
    conditions : tuple of Condition, length n_conditions
        Those that passed the screen.
    B : ndarray, shape = (n_patients, n_conditions)
        bool; who satisfies what.
    n_screened : int
        How many they were screened from; the prior must pay for all of these.
    """

    conditions: tuple[Condition, ...]
    B: NDArray[np.bool_]
    n_screened: int

    def of(self, members: NDArray[np.integer]) -> tuple[Condition, ...]:
        """The conditions of a conjunction."""
        return tuple(self.conditions[member] for member in members if member >= 0)


def explain(cohort: Cohort, risks: NDArray[np.floating], strata: Sequence[Stratum], seed: int = 0) -> RuleSet:
    """Mine the rules that best describe the strata of a model's risks.

    A rule is ranked by its score, the log Bayes factor of its own rate against the base rate plus the log prior of its
    conditions, and is kept when the score is above ln 20, it doubles the odds of the stratum, and it does so too among
    the patients whom no better rule matches, enough of whom are in the stratum.

    A Bayes factor has mean 1 where there is only the base rate, so it exceeds 20 / prior with probability below
    prior / 20 (Markov), and as the priors of all conjunctions sum to 1, features that tell nothing of the risk yield a
    rule in a stratum with probability below 1 / 20, however many conjunctions are looked at.

    The rules of a large cohort are mined and selected on 20,000 of its patients; their figures are of all patients.

    Parameters
    ----------
    cohort : Cohort
        The patients.
    risks : ndarray, shape = (n_patients,)
        Their out-of-fold risks, in [0, 1]. In-sample risks would describe what the model has memorised.
    strata : sequence of Stratum
        From the highest to the lowest.
    seed : int
        Draws the patients to mine from, where not all are.

    Returns
    -------
    RuleSet
        At most `MAX_RULES` rules a stratum, none where nothing beats the base rate; the same for the same input.
    """
    r_all = stratum_indices(strata, risks)
    mined, r, whom = cohort, r_all, "these same patients"
    if cohort.n_patients > _MAX_PATIENTS:
        rows = np.sort(np.random.default_rng(seed).choice(cohort.n_patients, _MAX_PATIENTS, replace=False))
        mined, r = replace(cohort, X=cohort.X[rows], y=cohort.y[rows], groups=None), r_all[rows]
        whom = f"{_MAX_PATIENTS:,} of these same patients, drawn at random"
    min_count = max(MIN_PATIENTS, ceil(MIN_SUPPORT * mined.n_patients))
    candidates = _screened_conditions(mined, r, len(strata), min_count)
    conjunctions = frequent_conjunctions(candidates.B, r, len(strata), min_count)
    rules = [
        _rule(candidates.of(members), cohort, stratum, r_all == index)
        for index, stratum in enumerate(strata)
        for members in _select(conjunctions, candidates, r == index, index)
    ]
    note = _NOTE.format(level=100 * LEVEL, n=f"{len(conjunctions.members):,}", whom=whom)
    return RuleSet(tuple(strata), tuple(rules), note)


def _screened_conditions(cohort: Cohort, r: NDArray[np.int64], n_strata: int, min_count: int) -> _Candidates:
    """The conditions with the largest Bayes factors on their own, in the order of the features."""
    conditions, columns, scores = [], [], []
    sizes = np.bincount(r, minlength=n_strata)
    for j, feature in enumerate(cohort.features):
        for condition, column in _usable_conditions(feature, cohort.X[:, j], min_count):
            counts = np.bincount(r[column], minlength=n_strata)
            conditions.append(condition)
            columns.append(np.packbits(column))
            scores.append(_best_score(counts, sizes))
    kept = np.sort(np.argsort(-np.array(scores), kind="stable")[:_MAX_CONDITIONS])
    B = np.empty((cohort.n_patients, len(kept)), dtype=np.bool_)
    for place, index in enumerate(kept):
        B[:, place] = np.unpackbits(columns[index], count=cohort.n_patients)
    return _Candidates(tuple(conditions[index] for index in kept), B, len(conditions))


def _usable_conditions(
    feature: Feature, values: NDArray[np.float64], min_count: int
) -> list[tuple[Condition, NDArray[np.bool_]]]:
    """Conditions on a feature that enough patients, and not all, satisfy."""
    columns = ((c, satisfies(c, feature, values)) for c in candidate_conditions(feature, values))
    return [(c, column) for c, column in columns if min_count <= np.count_nonzero(column) < len(values)]


def _best_score(counts: NDArray[np.integer], sizes: NDArray[np.integer]) -> float:
    """Largest Bayes factor that a condition has for any stratum."""
    q = sizes / sizes.sum()
    proper = (q > 0) & (q < 1)
    n_A = np.full(np.count_nonzero(proper), counts.sum())
    return float(log_bayes_factors(n_A, counts[proper], q[proper]).max(initial=0.0))


def _select(
    conjunctions: Conjunctions, candidates: _Candidates, in_stratum: NDArray[np.bool_], index: int
) -> list[NDArray[np.int16]]:
    """The conjunctions to show for a stratum: best first, each telling of patients of whom no better one tells."""
    size, n = int(np.count_nonzero(in_stratum)), len(in_stratum)
    if not 0 < size < n:
        return []
    bits, r = np.packbits(candidates.B, axis=0).T, np.packbits(in_stratum)
    uncovered = np.packbits(np.ones(n, dtype=np.bool_))
    min_new = max(MIN_PATIENTS, ceil(_MIN_NEW_SHARE * size))
    kept: list[NDArray[np.int16]] = []
    for members in _ranked(conjunctions, candidates.n_screened, index, size / n):
        new = np.bitwise_and.reduce(bits[members[members >= 0]], axis=0) & uncovered
        new_in_stratum = _count(new & r)
        if new_in_stratum >= min_new and _raises_odds(_count(new), new_in_stratum, size / n):
            kept.append(members)
            uncovered &= ~new
            if len(kept) == MAX_RULES:
                break
    return kept


def _count(bits: NDArray[np.uint8]) -> int:
    return int(np.bitwise_count(bits).sum(dtype=np.int64))


def _raises_odds(n_A: NDArray[np.integer] | int, n_Ar: NDArray[np.integer] | int, q_r: float) -> NDArray[np.bool_]:
    """Whether the posterior mean odds of the stratum are enough above its base odds, elementwise."""
    in_stratum, outside = STRENGTH * q_r + n_Ar, STRENGTH * (1 - q_r) + n_A - n_Ar
    return np.asarray(in_stratum * (1 - q_r) >= _MIN_ODDS_RATIO * outside * q_r)


def _ranked(conjunctions: Conjunctions, n_conditions: int, index: int, q_r: float) -> NDArray[np.int16]:
    """Conjunctions that raise the odds of the stratum beyond doubt, best first; shorter first among equals."""
    n_Ar = conjunctions.counts[:, index]
    n_A = conjunctions.counts.sum(axis=1)
    rising = np.flatnonzero(_raises_odds(n_A, n_Ar, q_r))
    scores = log_bayes_factors(n_A[rising], n_Ar[rising], q_r)
    scores += log_prior(conjunctions.lengths[rising], n_conditions)
    likely = np.flatnonzero(scores > _MIN_SCORE)
    best_first = likely[np.argsort(-scores[likely], kind="stable")][:_MAX_RANKED]
    return conjunctions.members[rising[best_first]]


def _rule(conditions: tuple[Condition, ...], cohort: Cohort, stratum: Stratum, in_stratum: NDArray[np.bool_]) -> Rule:
    matches, y = all_satisfied(conditions, cohort.features, cohort.X), cohort.y
    n_A, n_Ar = int(np.count_nonzero(matches)), int(np.count_nonzero(matches & in_stratum))
    q_r = float(in_stratum.mean())
    return Rule(
        conditions=conditions,
        stratum=stratum.name,
        stratum_probability=posterior(n_A, n_Ar, q_r),
        observed_event_rate=_event_rate(int(y[matches].sum()), n_A),
        support=n_A / len(y),
        confidence=n_Ar / n_A,
        lift=n_Ar / n_A / q_r,
    )


def _event_rate(events: int, n: int) -> EventRate:
    """Share with its score interval (Wilson 1927, JASA 22:209)."""
    z = float(ndtri((1 + LEVEL) / 2))
    share = events / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    return EventRate(share, max(0.0, centre - half), min(1.0, centre + half), n)
