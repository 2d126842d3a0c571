"""The outlook: the expected gain of machine learning over the simple model, before any training.

=======  =================================================================================  =======  ==========
symbol   meaning                                                                            shape    unit
=======  =================================================================================  =======  ==========
x_ja     gain of the best pipeline with algorithm a over the simple one, on cohort j        (K, A)   score
w_j      weights of the similar cohorts by similarity, summing to 1                         (K,)     [0, 1]
m_a      sum_j w_j x_ja, over the cohorts that tried a                                      (A,)     score
a*       argmax_a m_a, the algorithm that would be picked                                   scalar   index
a*_-j    the same without cohort j                                                          (K,)     index
g_j      x_ja at a*_-j: gain on cohort j of the others' pick                                (K,)     score
n        1 / sum_j w_j^2, effective number of cohorts                                       scalar   1 or more
=======  =================================================================================  =======  ==========

    gain ~ m + s sqrt(1 + 1/n) t(n - 1),   m = sum_j w_j g_j,   s^2 = sum_j w_j (g_j - m)^2 / (1 - sum_j w_j^2)

The largest of twenty uncertain means is biased upwards, and so is its mean over the cohorts that it was chosen on. g_j
is not, because the other cohorts make the pick. The distribution is that of one more cohort of the same kind, normal
with unknown variance.

References
----------
Alaa & van der Schaar 2018, ICML, section 4.2, whose maximum over algorithms is the biased one; Stone 1974, J. R. Stat.
Soc. B 36:111 (choice by cross-validation); Geisser 1993, Predictive Inference, section 2.2 (distribution of one more).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from autoprog.cohort import Mode
from autoprog.metalearning.cohort_statistics import CohortStatistics
from autoprog.metalearning.meta_features.computation import MetaFeatures
from autoprog.metalearning.prior import independent_statistics
from autoprog.metalearning.similarity import similarity, similarity_weights

LEVEL = 0.8
"""Level of the interval."""

MIN_SIMILAR = 5
"""Similar cohorts that an expectation needs."""

MAX_SHOWN = 10

# An algorithm is a candidate if the cohorts that tried it have at least this share of the weight.
_TRIED = 0.5


@dataclass(frozen=True, slots=True)
class NearCohort:
    """An earlier cohort behind an outlook.

    Attributes
    ----------
    cohort_id : str
        The cohort.
    distance : float
        Distance of the meta-features, at least 0.
    weight : float
        Weight in [0, 1].
    gain : float or None
        Gain of the other cohorts' pick over this cohort's simple model; None if it was never tried here.
    """

    cohort_id: str
    distance: float
    weight: float
    gain: float | None


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected gain of the picked algorithm.

    Attributes
    ----------
    algorithm : str
        a*.
    gain : float
        m, in units of the metric; more is better.
    lower, upper : float
        80 % interval of the gain.
    probability : float
        Probability that the gain is above 0.
    """

    algorithm: str
    gain: float
    lower: float
    upper: float
    probability: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """The expectation from earlier cohorts.

    Attributes
    ----------
    expectation : Expectation or None
        None (unknown) if fewer than five similar cohorts have a gain.
    n_similar : int
        Comparable cohorts within reach.
    n_comparable : int
        Cohorts of the same mode and metric, copies counted once.
    nearest : tuple of NearCohort
        The ten nearest comparable cohorts, nearest first.
    """

    expectation: Expectation | None
    n_similar: int
    n_comparable: int
    nearest: tuple[NearCohort, ...]


def outlook(target: MetaFeatures, statistics: Sequence[CohortStatistics], *, mode: Mode, metric: str) -> Outlook:
    """Predict the gain of machine learning from similar cohorts.

    Parameters
    ----------
    target : MetaFeatures
        Meta-features of the cohort; copies of it are ignored.
    statistics : sequence of CohortStatistics
        Statistics of earlier searches.
    mode, metric : str
        Mode and metric of the intended search.

    Returns
    -------
    Outlook
        With an expectation if at least five similar cohorts have a gain.
    """
    comparable = independent_statistics(target, statistics, mode, metric)
    like = similarity(target, [s.meta_features for s in comparable])
    similar = np.flatnonzero(like.similar)
    gains = np.full(len(comparable), np.nan)
    weights = np.zeros(len(comparable))
    expectation = None
    if len(similar) >= MIN_SIMILAR:
        names, x = _table([comparable[j] for j in similar])
        w = similarity_weights(like.distances[similar])
        weights[similar], gains[similar] = w, held_out_gains(x, w)
        expectation = _expect(names, x, w, gains[similar])
    order = np.argsort(like.distances, kind="stable")[:MAX_SHOWN]
    nearest = tuple(
        NearCohort(
            comparable[j].cohort_id,
            float(like.distances[j]),
            float(weights[j]),
            None if np.isnan(gains[j]) else float(gains[j]),
        )
        for j in order.tolist()
    )
    return Outlook(expectation, len(similar), len(comparable), nearest)


def held_out_gains(x: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    """g, shape = (K,), each pick among the algorithms that the cohort tried; NaN if there is none."""
    g = np.full(len(x), np.nan)
    for j in range(len(x)):
        others = np.arange(len(x)) != j
        means = np.where(np.isnan(x[j]), np.nan, _means(x[others], w[others]))
        if not np.isnan(means).all():
            g[j] = x[j, int(np.nanargmax(means))]
    return g


def _means(x: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    """m; NaN for an algorithm tried by cohorts of less than half of the weight."""
    tried = ~np.isnan(x)
    weight = w @ tried
    sums = w @ np.where(tried, x, 0.0)
    return np.where((weight > 0) & (weight >= _TRIED * w.sum()), sums / np.where(weight > 0, weight, 1.0), np.nan)


def _expect(
    names: Sequence[str], x: NDArray[np.float64], w: NDArray[np.float64], g: NDArray[np.float64]
) -> Expectation | None:
    known = ~np.isnan(g)
    means = _means(x, w)
    if known.sum() < MIN_SIMILAR or np.isnan(means).all():
        return None
    w, g = w[known] / w[known].sum(), g[known]
    n = float(1.0 / (w**2).sum())
    df = max(n - 1.0, 1.0)
    m = float(w @ g)
    s = float(np.sqrt(w @ (g - m) ** 2 / (1.0 - 1.0 / n)))
    unit = s * np.sqrt(1.0 + 1.0 / n)
    half = float(stdtrit(df, (1.0 + LEVEL) / 2.0) * unit)
    probability = float(stdtr(df, m / unit)) if unit > 0 else float(m > 0)
    return Expectation(names[int(np.nanargmax(means))], m, m - half, m + half, probability)


def _table(statistics: Sequence[CohortStatistics]) -> tuple[list[str], NDArray[np.float64]]:
    """Gains by cohort and algorithm, without each cohort's simple model."""
    tried = [{g.algorithm: g.best for g in s.algorithms if g.algorithm != s.simple_algorithm} for s in statistics]
    names = sorted({name for gains in tried for name in gains})
    return names, np.array([[gains.get(name, np.nan) for name in names] for gains in tried])
