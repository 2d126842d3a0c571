"""What one finished search teaches: its statistics, by the marginal likelihood of the optimizer's own surrogate.

=======  ====================================================================================  ==========  ======
symbol   meaning                                                                               shape       unit
=======  ====================================================================================  ==========  ======
y        standardised gains of the n observations                                              (n,)        1
H        whether observation i uses algorithm a                                                (n, a)      bool
K, S     covariance of y, effects of algorithms in it; the noise's                             (n, n)      1
e        variance of the effect of each algorithm                                              (a,)        1
b        the effects, a priori N(0, diag e)                                                    (a,)        1
=======  ====================================================================================  ==========  ======

    E[b | y] = diag(e) H' (K + S)^-1 y

for each sampled decomposition, averaged over them: the kernel's term "effect of the algorithm" on its own. Kernel and
noise are those of the optimizer's default options, whatever options the search had, so that cohorts can be compared.

References
----------
Alaa & van der Schaar 2018, ICML, section 4.2; Robinson 1991, Statistical Science 6:15 (best linear unbiased
predictions); Rasmussen & Williams 2006, section 2.7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from autoprog.cohort import Mode
from autoprog.evaluation import History
from autoprog.metalearning.cohort_statistics import AlgorithmGain, CohortStatistics, TriedConfiguration
from autoprog.metalearning.meta_features.vector import MetaFeatures
from autoprog.metalearning.partition_prior import learn_partition_prior
from autoprog.optimizer.options import OptimizerOptions
from autoprog.space import STAGES, Configuration, Space

if TYPE_CHECKING:
    from autoprog.optimizer.belief import Belief
    from autoprog.optimizer.encoding import Encoding
    from autoprog.optimizer.observations import Observations

LEAST_SUCCEEDED = 5
"""Evaluations with a score below which a search teaches nothing."""

MOST_BEST = 10
"""Configurations that are kept: so many of all, and of so many prediction algorithms one."""

# Sweeps before the kernel is fitted again, and before draws count; draws, fewer of a long history, which costs more.
_BURN_IN, _MOST_DRAWS, _LEAST_DRAWS, _DRAWN_EVALUATIONS = 3, 10, 4, 1_000


def learn_statistics(
    history: History,
    space: Space,
    rng: np.random.Generator,
    *,
    cohort_id: str,
    meta_features: MetaFeatures,
    mode: Mode,
    references: Mapping[str, Configuration] | None = None,
    shared: bool = False,
) -> CohortStatistics | None:
    """Learn what can be carried over to other cohorts.

    Parameters
    ----------
    history : History
        All evaluations of the search; the first is that of the simple pipeline.
    space : Space
        The algorithms that were in play.
    rng : numpy.random.Generator
        Of the chains.
    cohort_id : str
        The cohort.
    meta_features : MetaFeatures
        What it is like.
    mode : str
        Of its outcome.
    references : mapping or None
        `reference_pipelines` of other cohorts, as they would be here.
    shared : bool
        Whether other owners may learn from it.

    Returns
    -------
    CohortStatistics or None
        None where the simple pipeline has no score, or fewer than five pipelines have one.
    """
    # Imported late: torch takes a second and 200 MB, and a process that only reads statistics does not need it.
    from autoprog.optimizer.encoding import Encoding  # noqa: PLC0415  see above
    from autoprog.optimizer.observations import observe  # noqa: PLC0415  see above
    from autoprog.optimizer.threads import one_thread  # noqa: PLC0415  see above

    observations = observe(history, most=len(history))
    if observations is None or len(history.succeeded) < LEAST_SUCCEEDED:
        return None
    simple = history.evaluations[0]
    if simple.score is None:
        return None
    encoding = Encoding(space)
    with one_thread():
        belief = _settled(encoding, observations.take(_part_of(observations, rng)), rng)
        subspaces, log_concentration = learn_partition_prior(belief, rng)
        belief = _of_all(belief, observations)
        scale = _unit_of(observations)
        offsets = _offsets(belief, scale, simple.configuration)
        algorithms, best = _gains(belief, scale, simple.configuration)
        elsewhere = _gains_elsewhere(belief, scale, simple.configuration, references or {})
    return CohortStatistics(
        cohort_id=cohort_id,
        meta_features=meta_features,
        mode=mode,
        metric=history.metric.name,
        simple_algorithm=simple.configuration.prediction.algorithm,
        simple_score=simple.score,
        scale=scale,
        subspaces=subspaces,
        log_concentration=log_concentration,
        log_length=float(np.log(belief.parameters.length)),
        log_variance=float(np.log(belief.parameters.variance)),
        log_noise=float(np.log(belief.parameters.noise)),
        offsets=offsets,
        algorithms=algorithms,
        best=best,
        n_evaluations=len(history.succeeded),
        elsewhere=elsewhere,
        shared=shared,
    )


def _part_of(observations: Observations, rng: np.random.Generator) -> NDArray[np.intp]:
    """Those that the chains see: all, or of very many as many of every prediction algorithm, whatever they scored."""
    from autoprog.optimizer.observations import MOST_OBSERVATIONS  # noqa: PLC0415  as above

    turns: dict[str, int] = {}
    order = []
    for i in rng.permutation(len(observations.evaluations)).tolist():
        name = observations.evaluations[i].configuration.prediction.algorithm
        turns[name] = turns.get(name, -1) + 1
        order.append((turns[name], i))
    return np.array(sorted(i for _, i in sorted(order)[:MOST_OBSERVATIONS]), dtype=np.intp)


def _of_all(belief: Belief, observations: Observations) -> Belief:
    """The same decompositions and numbers, with all observations."""
    points = belief.encoding.encode([e.configuration for e in observations.evaluations])
    return replace(belief, observations=observations, points=points, y=observations.y)


def _settled(encoding: Encoding, observations: Observations, rng: np.random.Generator) -> Belief:
    """A belief whose kernel was fitted under a decomposition that its own chain has found."""
    from autoprog.optimizer.belief import Belief  # noqa: PLC0415  as above

    first = Belief.learn(encoding, OptimizerOptions(), observations, {}, rng)
    first.sweep(_BURN_IN, 1)
    belief = Belief.learn(encoding, OptimizerOptions(), observations, first.state, rng)
    draws = int(np.clip(_DRAWN_EVALUATIONS // len(belief.points), _LEAST_DRAWS, _MOST_DRAWS))
    belief.sweep(_BURN_IN + draws, draws)
    return belief


def _unit_of(observations: Observations) -> float:
    """Units of the score that 1 of y is; 1 where all gains are equal."""
    gains = observations.gains[observations.succeeded]
    best, middle = int(np.argmax(gains)), int(np.argsort(gains, kind="stable")[len(gains) // 2])
    y = observations.y[observations.succeeded]
    # Neither lies below the clip, so that y is linear between them.
    return float((gains[best] - gains[middle]) / (y[best] - y[middle])) if y[best] > y[middle] else 1.0


def _gains(
    belief: Belief, scale: float, simple: Configuration
) -> tuple[tuple[AlgorithmGain, ...], tuple[TriedConfiguration, ...]]:
    """By prediction algorithm, and of the best pipeline of each, against the simple pipeline."""
    succeeded = belief.observations.succeeded
    configurations = [e.configuration for e, s in zip(belief.observations.evaluations, succeeded, strict=True) if s]
    mean, sd = _posterior_gains(belief, configurations, simple)
    names = np.array([c.prediction.algorithm for c in configurations])
    algorithms, best = [], []
    for name in sorted(set(names.tolist())):
        rows = np.flatnonzero(names == name)
        top = int(rows[np.argmax(mean[rows])])
        algorithms.append(AlgorithmGain(name, scale * float(mean[top]), scale * float(sd[top]), len(rows)))
        best.append(TriedConfiguration(configurations[top], scale * float(mean[top])))
    of_algorithms = sorted(best, key=lambda tried: -tried.gain)[:MOST_BEST]
    of_all = [TriedConfiguration(configurations[i], scale * float(mean[i])) for i in np.argsort(-mean)[:MOST_BEST]]
    kept = dict.fromkeys([*of_algorithms, *of_all])
    return tuple(algorithms), tuple(sorted(kept, key=lambda tried: -tried.gain))


def _gains_elsewhere(
    belief: Belief, scale: float, simple: Configuration, references: Mapping[str, Configuration]
) -> dict[str, float]:
    """Of pipelines that did well on other cohorts, against the simple pipeline."""
    if not references:
        return {}
    points = belief.encoding.encode([*references.values(), simple])
    mean = np.mean([belief.surrogate(labels).marginal(points)[0] for labels in belief.samples], axis=0)
    return dict(zip(references, (scale * (mean[:-1] - mean[-1])).tolist(), strict=True))


def _posterior_gains(
    belief: Belief, configurations: Sequence[Configuration], simple: Configuration
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and sd of true standardised gains, less the simple pipeline's, over the sampled decompositions."""
    points = belief.encoding.encode([*configurations, simple])
    means, variances = [], []
    for labels in belief.samples:
        mean, covariance = belief.surrogate(labels).joint(points)
        variance = np.diag(covariance)
        means.append(mean[:-1] - mean[-1])
        variances.append((variance + variance[-1] - 2.0 * covariance[-1])[:-1])
    spread = np.maximum(np.mean(variances, axis=0), 0.0) + np.var(means, axis=0)
    return np.mean(means, axis=0), np.sqrt(spread)


def _offsets(belief: Belief, scale: float, simple: Configuration) -> dict[str, float]:
    """Of every algorithm that was observed, against that of the simple pipeline in its stage."""
    effects = algorithm_effects(belief)
    of_simple = {stage: effects[f"{stage}/{simple.step(stage).algorithm}"] for stage in STAGES}
    observed = np.flatnonzero(belief.points.used.any(axis=0)).tolist()
    algorithms = (belief.encoding.algorithms[i] for i in observed)
    return {a.key: scale * (effects[a.key] - of_simple[a.stage]) for a in algorithms}


def algorithm_effects(belief: Belief) -> dict[str, float]:
    """Posterior mean of every algorithm's own effect.

    Parameters
    ----------
    belief : Belief
        With effects in its kernel, and sampled decompositions.

    Returns
    -------
    dict
        Key of an algorithm in play -> E[b], standardised gain; 0 for one that was not observed.
    """
    from autoprog.optimizer.surrogate import cholesky  # noqa: PLC0415  as above

    parameters, y = belief.parameters, belief.y
    sums = np.zeros(belief.encoding.n_algorithms)
    for labels in belief.samples:
        covariance = belief.surrogate(labels).covariance(belief.points, belief.points)
        factor = cholesky(covariance + parameters.noise * np.eye(len(y)))
        sums += belief.points.used.T @ cho_solve((factor, True), y)
    effects = np.array(parameters.effects) * sums / len(belief.samples)
    return dict(zip(belief.encoding.keys, effects.tolist(), strict=True))
