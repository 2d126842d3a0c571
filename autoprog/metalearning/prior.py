"""The prior of a new search, averaged over earlier cohorts.

=======  ================================================================================  =======  ==========
symbol   meaning                                                                           shape    unit
=======  ================================================================================  =======  ==========
eta      weights of the earlier cohorts by similarity                                      (K,)     1
t        trust in their average; the rest is the agnostic prior's                          scalar   [0, 1)
M        most subspaces                                                                    scalar   2 or more
gamma    Dirichlet parameter of the decomposition                                          scalar   > 0
ell, s2  length-scale and variance of the kernel                                           scalar   axis, 1
mu       main effects: of algorithms against the simple pipeline's in their stage, of      (terms,)  1
         hyperparameters
=======  ================================================================================  =======  ==========

    value = t sum_j eta_j value_j + (1 - t) agnostic

for M (rounded, at least 2), log gamma, log ell, log s2, and mu in standardised units of each cohort (agnostic: 0).
An algorithm that some cohorts never tried is averaged over those that did, and trusted by their share of the weight.
The decompositions are not averaged, because their labels are exchangeable.

Number and evenness of the subspaces: M and gamma, learned together with the decomposition.

=======  ===================================================================================  =======  ==========
symbol   meaning                                                                              shape    range
=======  ===================================================================================  =======  ==========
z        labels of the algorithms                                                             (n,)     0..M-1
k, n_m   number of subspaces that hold an algorithm, and their sizes                          scalar   1..n
P(z)     probability of the partition: M! / (M - k)! times that of one labelling of it        scalar   [0, 1]
=======  ===================================================================================  =======  ==========

The chain alternates: a Gibbs sweep of z given (M, gamma) and the history, and a draw of (M, gamma) given the partition,

    P(M, gamma | z) ~ P(z | M, gamma)   on a grid with a uniform prior.

A hundred evaluations tell little about forty algorithms, so a maximum of the marginal likelihood over the grid would be
noise; the means of M and log gamma are reported. Labels are exchangeable here, because the families of algorithms,
which the optimizer's default prefers, would decide the answer.

References
----------
Alaa & van der Schaar 2018, ICML, section 4.2.
Alaa & van der Schaar 2018, ICML, eq. 6 and section 4.2; Escobar & West 1995, J. Am. Stat. Assoc. 90:577 (a draw of the
concentration in the same chain).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from autoprog.cohort import Mode
from autoprog.metalearning.cohort_statistics import CohortStatistics
from autoprog.metalearning.meta_features.computation import MetaFeatures
from autoprog.metalearning.similarity import Similarity, WeightForm, similarity
from autoprog.optimizer.decomposition import DecompositionPrior
from autoprog.optimizer.options import OptimizerOptions

if TYPE_CHECKING:
    from autoprog.optimizer.surrogate_state import SurrogateState


MIN_SUBSPACES = 2


@dataclass(frozen=True)
class CalibratedPrior:
    """The prior of a search.

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
        Main effect, as in `CohortStatistics.offsets` -> mu in standardised scores, more is better; only algorithms that
        some cohort tried.
    scale : float or None
        Size of one standardised unit in units of the score, the cohorts' geometric mean; None without cohorts.
    trust : float
        t, in [0, 1).
    cohorts : tuple of (str, float)
        The earlier cohorts and their weights, greatest first.
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
    """Average the statistics of earlier cohorts by similarity.

    Parameters
    ----------
    target : MetaFeatures
        Meta-features of the new cohort.
    statistics : sequence of CohortStatistics
        Statistics of earlier searches; those of another mode or metric are ignored.
    mode, metric : str
        Mode and metric of the new search.
    agnostic : OptimizerOptions or None
        The prior without any cohort; None for the default options.
    form : {"softmin", "printed"}
        Form of the weights.

    Returns
    -------
    CalibratedPrior
        The agnostic one if there is no comparable cohort.
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
    """Keep the statistics of one mode and metric, whose gains are comparable, in the given order."""
    return [s for s in statistics if s.mode == mode and s.metric == metric]


def independent_statistics(
    target: MetaFeatures, statistics: Sequence[CohortStatistics], mode: Mode, metric: str
) -> list[CohortStatistics]:
    """Keep comparable statistics, of copies of a cohort those with the greatest `foundation`, none of the target."""
    # The same patients may have another name or owner. They would count twice, and as evidence on themselves.
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
    # The mean over the cohorts that tried it is sum / share, and its trust is t times share; the share cancels.
    return {key: like.trust * sums[key] for key in sorted(sums)}


def _exp(x: float) -> float:
    return float(np.exp(x))


SUBSPACES = tuple(range(2, 15))
"""The grid of M; its mean is the optimizer's default, 8."""

CONCENTRATIONS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The grid of gamma; its mean logarithm is that of the default, 1."""

# Discarded sweeps; most and least draws; and their product with the history's length, because long ones cost more.
_BURN_IN, _MAX_DRAWS, _MIN_DRAWS, _DRAWN_EVALUATIONS = 5, 15, 5, 1_500


def learn_partition_prior(belief: SurrogateState, rng: np.random.Generator) -> tuple[float, float]:
    """Posterior means of M, in [2, 14], and of log gamma, in [-log 4, log 4]; the fitted kernel is kept."""
    from autoprog.optimizer.gibbs import GibbsChain, LabelLikelihood  # noqa: PLC0415  see `search_statistics.py`

    labels = compact(belief.chain.best)
    draws = int(np.clip(_DRAWN_EVALUATIONS // len(belief.points), _MIN_DRAWS, _MAX_DRAWS))
    means = np.zeros(2)
    for step in range(_BURN_IN + draws):
        p = grid_posterior(labels)
        place = int(rng.choice(p.size, p=p.ravel()))
        M, gamma = SUBSPACES[place // len(CONCENTRATIONS)], CONCENTRATIONS[place % len(CONCENTRATIONS)]
        likelihood = LabelLikelihood(
            belief.points,
            belief.observations.y,
            labels,
            M,
            owner=belief.encoding.owner,
            parameters=belief.parameters,
        )
        chain = GibbsChain(likelihood, labels, DecompositionPrior(M, gamma), rng)
        chain.sweep()
        labels = compact(chain.labels)
        if step >= _BURN_IN:
            means += grid_means(labels)
    subspaces, log_concentration = (means / draws).tolist()
    return subspaces, log_concentration


def grid_posterior(labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(M, gamma | z), shape = (len(SUBSPACES), len(CONCENTRATIONS)), for labels of any numbering."""
    sizes = np.unique(labels, return_counts=True)[1]
    n, k = len(labels), len(sizes)
    M, gamma = np.array(SUBSPACES)[:, None], np.array(CONCENTRATIONS)
    # log P of one labelling, as in `decomposition.log_prior`; empty subspaces add nothing to its sum.
    occupancy = (gammaln(sizes[:, None] + gamma) - gammaln(gamma)).sum(axis=0)
    log_labelling = gammaln(M * gamma) - gammaln(n + M * gamma) + occupancy
    log_labellings = np.where(k <= M, gammaln(M + 1) - gammaln(np.maximum(M - k, 0) + 1), -np.inf)
    log_p = log_labelling + log_labellings
    posterior: NDArray[np.float64] = np.exp(log_p - logsumexp(log_p))
    return posterior


def grid_means(labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Means of M and of log gamma given labels, shape = (2,)."""
    p = grid_posterior(labels)
    return np.array([p.sum(axis=1) @ np.array(SUBSPACES), p.sum(axis=0) @ np.log(CONCENTRATIONS)])


def compact(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Relabel the same partition from 0 to k - 1, shape = (n,)."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
