"""Number and evenness of the subspaces: M and gamma, learned together with the decomposition.

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
Alaa & van der Schaar 2018, ICML, eq. 6 and section 4.2; Escobar & West 1995, J. Am. Stat. Assoc. 90:577 (a draw of the
concentration in the same chain).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from autoprog.optimizer.decomposition import DecompositionPrior

if TYPE_CHECKING:
    from autoprog.optimizer.surrogate_state import SurrogateState

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
