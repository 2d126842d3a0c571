"""What earlier cohorts let a new search believe before its first evaluation.

=======  ================================================================================  =======  ==========
symbol   meaning                                                                           shape    unit
=======  ================================================================================  =======  ==========
eta      weights of the earlier cohorts, by likeness                                       (K,)     1
t        trust in their average; the rest is the agnostic prior's                          scalar   [0, 1)
M        most subspaces                                                                    scalar   2 or more
gamma    Dirichlet parameter of the decomposition                                          scalar   > 0
ell, s2  length-scale and variance of the kernel                                           scalar   axis, 1
mu       main effects: of algorithms against the simple pipeline's in their stage, of      (terms,)  1
         hyperparameters
=======  ================================================================================  =======  ==========

    value = t sum_j eta_j value_j + (1 - t) agnostic

for M (rounded, at least 2), log gamma, log ell, log s2, and mu in standardised units of each cohort (agnostic: 0).
An algorithm that some cohorts never tried is averaged over those that did, with the weight that these have of all. The
decompositions themselves are not averaged: their labels are exchangeable.

References
----------
Alaa & van der Schaar 2018, ICML, section 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autoprog.cohort import Mode
from autoprog.metalearning.cohort_statistics import CohortStatistics
from autoprog.metalearning.meta_features.vector import MetaFeatures
from autoprog.metalearning.similarity import Similarity, WeightForm, similarity
from autoprog.optimizer.options import OptimizerOptions

MIN_SUBSPACES = 2


@dataclass(frozen=True)
class CalibratedPrior:
    """Where a search begins.

    Attributes
    ----------
    subspaces : int
        M, at least 2.
    concentration : float
        gamma, above 0.
    length : float
        ell, in lengths of a hyperparameter's axis.
    variance : float
        s2, in squared standardised scores.
    offsets : mapping
        Main effect, as `CohortStatistics.offsets` -> mu, in standardised scores, more is better; those of algorithms
        that nobody tried are missing.
    scale : float or None
        Units of the score that one standardised unit is on such cohorts, their geometric mean; None without any.
    trust : float
        t, in [0, 1).
    cohorts : tuple of (str, float)
        The earlier cohorts and their weights, the greatest first.
    """

    subspaces: int
    concentration: float
    length: float
    variance: float
    offsets: Mapping[str, float]
    scale: float | None
    trust: float
    cohorts: tuple[tuple[str, float], ...]

    @property
    def constants(self) -> dict[str, float]:
        """M, gamma, ell and s2 by their names in `OptimizerOptions`."""
        return {name: getattr(self, name) for name in ("subspaces", "concentration", "length", "variance")}


def calibrated_prior(
    target: MetaFeatures,
    statistics: Sequence[CohortStatistics],
    *,
    mode: Mode,
    metric: str,
    agnostic: OptimizerOptions | None = None,
    form: WeightForm = "softmin",
) -> CalibratedPrior:
    """Average what earlier cohorts have taught, by likeness.

    Parameters
    ----------
    target : MetaFeatures
        Of the new cohort.
    statistics : sequence of CohortStatistics
        Of earlier searches; those of another mode or metric are passed over.
    mode, metric : str
        Of the new search.
    agnostic : OptimizerOptions or None
        What is believed without any cohort; None for the default options.
    form : {"softmin", "printed"}
        Of the weights.

    Returns
    -------
    CalibratedPrior
        The agnostic one where there is no comparable cohort.
    """
    usable = comparable_statistics(statistics, mode, metric)
    like = similarity(target, [s.meta_features for s in usable], form)
    options = agnostic or OptimizerOptions()
    t = like.trust

    def averaged(values: Sequence[float], otherwise: float) -> float:
        return otherwise + t * float(like.weights @ (np.array(values, dtype=np.float64) - otherwise))

    order = np.argsort(-like.weights, kind="stable")
    return CalibratedPrior(
        subspaces=max(round(averaged([s.subspaces for s in usable], options.subspaces)), MIN_SUBSPACES),
        concentration=_exp(averaged([s.log_concentration for s in usable], np.log(options.concentration))),
        length=_exp(averaged([s.log_length for s in usable], np.log(options.length))),
        variance=_exp(averaged([s.log_variance for s in usable], np.log(options.variance))),
        offsets=_offsets(usable, like),
        scale=_exp(float(like.weights @ np.log([s.scale for s in usable]))) if usable else None,
        trust=t,
        cohorts=tuple((usable[j].cohort_id, float(like.weights[j])) for j in order.tolist()),
    )


def comparable_statistics(statistics: Sequence[CohortStatistics], mode: Mode, metric: str) -> list[CohortStatistics]:
    """Those whose gains mean the same: of one mode and one metric, in the order given."""
    return [s for s in statistics if s.mode == mode and s.metric == metric]


def independent_statistics(
    target: MetaFeatures, statistics: Sequence[CohortStatistics], mode: Mode, metric: str
) -> list[CohortStatistics]:
    """Those whose gains mean the same, each cohort once, and none of the new cohort itself.

    The same patients may come under another name, or to another owner; as evidence they would count twice, and on
    themselves.

    Parameters
    ----------
    target : MetaFeatures
        Of the new cohort.
    statistics : sequence of CohortStatistics
        Of earlier searches.
    mode, metric : str
        Of the new search.

    Returns
    -------
    list of CohortStatistics
        Of copies the one with the greatest `foundation`; in the order given.
    """
    here, chosen = target.of_patients, dict[tuple[float, ...], CohortStatistics]()
    for s in comparable_statistics(statistics, mode, metric):
        patients = s.meta_features.of_patients
        if patients != here:
            chosen[patients] = max(chosen.get(patients, s), s, key=lambda c: c.foundation)
    return list(chosen.values())


def _offsets(usable: Sequence[CohortStatistics], like: Similarity) -> dict[str, float]:
    sums: dict[str, float] = {}
    for s, eta in zip(usable, like.weights.tolist(), strict=True):
        for key, offset in s.offsets.items():
            sums[key] = sums.get(key, 0.0) + eta * offset / s.scale
    # The mean over the cohorts that tried it is sum / share; believed by t times share, what is left is the sum.
    return {key: like.trust * sums[key] for key in sorted(sums)}


def _exp(x: float) -> float:
    return float(np.exp(x))
