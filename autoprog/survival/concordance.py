"""Concordance of risks with the order of events: Harrell's and Uno's index, and three for competing risks.

    T       time                                                                            (n,)    time
    m       risk, or any marker that is higher where the event is expected earlier          (n,)    real
    G       survival of the censoring, failures before censorings at ties                   -       [0, 1]
    tau     only pairs whose first event is at tau or before count                          scalar  time
    C       weight of concordant pairs plus half that of tied ones, over that of all        scalar  [0, 1]
    C_p     the same over patient p's pairs, minus C                                        (n,)    [-1, 1]

Patient i, who had the event, is the earlier one of a pair with j where T_i < T_j, or T_i = T_j and j is censored. Two
patients who fail at the same time are no pair. Risks are tied if they are exactly equal.

========================  ============================================================  =============================
index                     competing events                                              weight of a pair
========================  ============================================================  =============================
`harrell_c`               do not exist                                                  1
`uno_c`                   do not exist                                                  1 / G(T_i-)^2
`cause_specific_c`        are censored                                                  1
`subdistribution_c`       stay at risk for ever                                         1
`wolbers_c`               are later than all events: j with a competing event at        1 / (G(T_i-) G(T_i));
                          T_j <= T_i is the later one of a pair too                     1 / (G(T_i-) G(T_j-)) of these
========================  ============================================================  =============================

The standard error is that of the infinitesimal jackknife, with G taken as known: the square root of sum_p of
(weight of p's pairs * C_p)^2, over the weight of all pairs.

Pairs of patients ordered by time: how many are also ordered by risk.

    key     place in time: i and j are a pair where key_i < key_j                       (n,)    int
    rank    place among the distinct risks                                              (n,)    int
    a, b    weights of a patient as the earlier and as the later one of a pair          (n,)    0 up

A pair weighs a_i b_j. It is concordant where rank_i > rank_j and tied where they are equal.

At the highest bit in which two keys differ the earlier one has 0 and the later one 1. So every pair is met once, bit by
bit, in groups whose higher bits agree. A stable partition by each bit keeps a group sorted by rank; the weight below or
above a patient is then a difference of cumulative sums. Time is O(n log n), memory O(n), without a loop over patients.

References
----------
Harrell, Califf, Pryor, Lee & Rosati 1982, JAMA 247:2543; Uno, Cai, Pencina, D'Agostino & Wei 2011, Stat Med 30:1105;
Wolbers, Blanche, Koller, Witteman & Gerds 2014, Biostatistics 15:526; Therneau & Atkinson, Concordance, vignette of
the R package survival.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.kaplan_meier import InverseCensoring
from autoprog.survival.outcomes import Events, HorizonError, NoPairError, OutcomeError, Times, check_outcomes
from autoprog.survival.step import StepFunction

_Integers = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class PairSums:
    """Weight of each patient's concordant, tied and all pairs, shape = (n,); every pair counts for both members."""

    concordant: _Floats
    tied: _Floats
    comparable: _Floats

    def __add__(self, other: PairSums) -> PairSums:
        """Add pairs of two kinds."""
        return PairSums(self.concordant + other.concordant, self.tied + other.tied, self.comparable + other.comparable)


def pair_sums(key: _Integers, rank: _Integers, a: _Floats, b: _Floats) -> PairSums:
    """Sum the weights of all pairs by patient; patients with the same key are no pair."""
    by_rank = np.lexsort((key, rank))
    concordant = np.zeros(len(key))
    order = by_rank
    for bit in range(int(key.max()).bit_length() - 1, -1, -1):
        place = key[order] >> bit
        is_later = place & 1 == 1
        group = _runs(_changes(place >> 1))
        concordant[order] += _concordant_at_a_bit(is_later, group, a[order], b[order])
        order = _partitioned(order, is_later, group)
    tied = np.empty(len(key))
    tied[by_rank] = _pairs_in_groups(rank[by_rank], key[by_rank], a[by_rank], b[by_rank])
    comparable = np.empty(len(key))
    comparable[order] = _pairs_in_groups(np.zeros_like(order), key[order], a[order], b[order])
    return PairSums(concordant, tied, comparable)


def _concordant_at_a_bit(is_later: NDArray[np.bool_], group: _Runs, a: _Floats, b: _Floats) -> _Floats:
    """Concordant weight of patients sorted by group, then rank, then key."""
    # An earlier patient is concordant with the later ones of lower rank, who stand before; a later one with the earlier
    # ones, who stand after. Within a rank the earlier ones stand first, so that tied pairs do not count.
    later = np.concatenate([[0.0], np.cumsum(np.where(is_later, b, 0.0))])
    earlier = np.concatenate([[0.0], np.cumsum(np.where(is_later, 0.0, a))])
    return np.asarray(np.where(is_later, b * (earlier[group.end] - earlier[1:]), a * (later[:-1] - later[group.start])))


def _partitioned(order: _Integers, is_later: NDArray[np.bool_], group: _Runs) -> _Integers:
    """Put the earlier ones of each group before the later ones, each part in its order."""
    earlier = np.concatenate([[0], np.cumsum(~is_later)])
    before = earlier[:-1]
    target = np.where(
        is_later, np.arange(len(order)) + earlier[group.end] - before, group.start + before - earlier[group.start]
    )
    partitioned = np.empty_like(order)
    partitioned[target] = order
    return partitioned


def _pairs_in_groups(group: _Integers, key: _Integers, a: _Floats, b: _Floats) -> _Floats:
    """Weight of all pairs within groups, of patients sorted by group, then key."""
    whole = _runs(_changes(group))
    same = _runs(_changes(group) | _changes(key))
    later = np.concatenate([[0.0], np.cumsum(b)])
    earlier = np.concatenate([[0.0], np.cumsum(a)])
    return np.asarray(a * (later[whole.end] - later[same.end]) + b * (earlier[same.start] - earlier[whole.start]))


class _Runs(NamedTuple):
    """First place, and place after the last, of the run that each place belongs to."""

    start: _Integers
    end: _Integers


def _runs(is_first: NDArray[np.bool_]) -> _Runs:
    starts = np.flatnonzero(is_first)
    run = np.cumsum(is_first) - 1
    return _Runs(starts[run], np.append(starts[1:], len(is_first))[run])


def _changes(values: _Integers) -> NDArray[np.bool_]:
    """Whether a value differs from the one before."""
    return np.concatenate([[True], values[1:] != values[:-1]])


_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Concordance:
    """A concordance index; higher is better, 1/2 is chance.

    Attributes
    ----------
    index : float in [0, 1]
    standard_error : float
        Of the index.
    concordant, discordant, tied_risk : float
        Weight of the pairs; their number where a pair weighs 1.
    """

    index: float
    standard_error: float
    concordant: float
    discordant: float
    tied_risk: float


def harrell_c(time: ArrayLike, event: ArrayLike, risk: ArrayLike, tau: float = np.inf) -> Concordance:
    """Harrell's index.

    Parameters
    ----------
    time, event : array-like, shape = (n,), times and codes; 0 is censored, every other code is the event
    risk : array-like, shape = (n,), higher where the event is expected earlier; turn a predicted survival round
    tau : float
        Later first events are left out.

    Returns
    -------
    Concordance
        Each pair weighs 1. Its limit depends on the censoring, unlike that of `uno_c`.

    Raises
    ------
    OutcomeError, NoPairError
        If times, codes or risks are invalid; if there is no pair.
    """
    t, codes, m = _checked(time, event, risk)
    return _concordance(_pairs(t, codes == 0, m, _by(t, codes > 0, tau)), tau)


def uno_c(time: ArrayLike, event: ArrayLike, risk: ArrayLike, tau: float, G: StepFunction | None = None) -> Concordance:
    """Uno's index: P(m_i > m_j | T_i < T_j, T_i <= tau) for risks m and times T, whatever the censoring.

    Parameters
    ----------
    time, event, risk, tau
        As for `harrell_c`; if tau is infinite, the last events dominate by their weights.
    G : StepFunction, optional, censoring survival; learnt from these patients by default

    Returns
    -------
    Concordance
        A pair weighs 1 / G(T_i-)^2.

    Raises
    ------
    OutcomeError, HorizonError, NoPairError
        If times, codes or risks are invalid; if G is 0 just before an event by tau; if there is no pair.
    """
    t, codes, m = _checked(time, event, risk)
    weight = InverseCensoring(t, codes, G).of_failures(tau) ** 2
    return _concordance(_pairs(t, codes == 0, m, weight), tau)


def cause_specific_c(
    time: ArrayLike, event: ArrayLike, risk: ArrayLike, cause: int = 1, tau: float = np.inf
) -> Concordance:
    """Harrell's index with competing events taken as censorings.

    Parameters
    ----------
    time, event, risk, cause, tau
        As for `harrell_c`, but only the code `cause` is the event.

    Returns
    -------
    Concordance
        Each pair weighs 1.

    Raises
    ------
    OutcomeError, NoPairError
        If times, codes or risks are invalid; if there is no pair.
    """
    t, codes, m = _checked(time, event, risk)
    return harrell_c(t, codes == cause, m, tau)


def subdistribution_c(
    time: ArrayLike, event: ArrayLike, risk: ArrayLike, cause: int = 1, tau: float = np.inf
) -> Concordance:
    """Harrell's index with patients at risk for ever after a competing event.

    Parameters
    ----------
    time, event, risk, cause, tau
        As for `cause_specific_c`; other codes above 0 are competing events.

    Returns
    -------
    Concordance
        Each pair weighs 1; there is no correction for censoring, unlike in `wolbers_c`.

    Raises
    ------
    OutcomeError, NoPairError
        If times, codes or risks are invalid; if there is no pair.
    """
    t, codes, m = _checked(time, event, risk)
    of_cause = codes == cause
    for_ever = np.where((codes > 0) & ~of_cause, np.inf, t)
    return _concordance(_pairs(for_ever, ~of_cause, m, _by(t, of_cause, tau)), tau)


def wolbers_c(
    time: ArrayLike, event: ArrayLike, risk: ArrayLike, tau: float, G: StepFunction | None = None, cause: int = 1
) -> Concordance:
    """Index of Wolbers et al. for competing risks, whatever the censoring.

    Parameters
    ----------
    time, event, risk, tau, G, cause
        As for `uno_c`, with codes 0 for censored and `cause` for the event; risks by tau, or any marker of them.

    Returns
    -------
    Concordance
        P(m_i > m_j | i has the event by tau, and j later, never, or a competing event), by inverse probability of
        censoring weights.

    Raises
    ------
    OutcomeError, HorizonError, NoPairError
        If times, codes or risks are invalid; if G is 0 where a weight needs it; if there is no pair.
    """
    t, codes, m = _checked(time, event, risk)
    inverse = InverseCensoring(t, codes, G)
    of_cause, competing = codes == cause, (codes > 0) & (codes != cause)
    by_tau = inverse.of_failures(tau)
    first = np.where(of_cause, by_tau, 0.0)
    at_event = np.asarray(inverse.G(t))
    somebody_later = (t < t.max()) | (codes[t == t.max()] == 0).any()
    if ((first > 0) & (at_event == 0) & somebody_later).any():
        msg = f"the censoring survival is 0 at an event by tau = {tau:g}"
        raise HorizonError(msg, float(inverse.G.times[inverse.G.values > 0].max(initial=0.0)))
    still_seen = np.divide(first, at_event, out=np.zeros_like(first), where=at_event > 0)
    later = _pairs(t, codes == 0, m, still_seen)
    # Backwards in time, so that a competing event at T_j <= T_i makes j the later one of the pair.
    earlier = _pairs(-t, competing, m, first, np.where(competing, by_tau, 0.0))
    return _concordance(later + earlier, tau)


def _checked(time: ArrayLike, event: ArrayLike, risk: ArrayLike) -> tuple[Times, Events, _Floats]:
    t, codes = check_outcomes(time, event)
    m = np.asarray(risk, dtype=np.float64)
    if m.shape != t.shape or np.isnan(m).any():
        missing = int(np.isnan(m).sum())
        msg = f"one risk per patient is needed: got shape {m.shape} for {len(t):,} patients, {missing:,} missing"
        raise OutcomeError(msg)
    return t, codes, m


def _by(time: Times, failed: NDArray[np.bool_], tau: float) -> _Floats:
    return (failed & (time <= tau)).astype(np.float64)


def _pairs(
    time: Times,
    last_at_ties: NDArray[np.bool_],
    m: _Floats,
    a: _Floats,
    b: _Floats | None = None,
) -> PairSums:
    """Sum over pairs in the order of time; at equal times, the patients in `last_at_ties` come after all others."""
    _, place = np.unique(time, return_inverse=True)
    _, rank = np.unique(m, return_inverse=True)
    key = 2 * place + last_at_ties
    return pair_sums(key, rank, a, np.ones(len(m)) if b is None else b)


def _concordance(pairs: PairSums, tau: float) -> Concordance:
    concordant, tied, comparable = (float(x.sum()) / 2 for x in (pairs.concordant, pairs.tied, pairs.comparable))
    if comparable == 0:
        msg = f"no two patients can be compared: nobody had the event by {tau:g} while another was still followed"
        raise NoPairError(msg)
    index = (concordant + tied / 2) / comparable
    influence = pairs.concordant + pairs.tied / 2 - index * pairs.comparable
    error = float(np.sqrt((influence**2).sum())) / comparable
    return Concordance(index, error, concordant, comparable - concordant - tied, tied)
