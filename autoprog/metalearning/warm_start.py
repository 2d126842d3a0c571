"""The start of a new search: the calibrated prior, and a portfolio of what did well on cohorts like it.

=======  ================================================================================  =======  ==========
symbol   meaning                                                                           shape    unit
=======  ================================================================================  =======  ==========
g        gain of the best pipeline with prediction algorithm a on cohort j                 (A, K)   1
eta      weights of the cohorts, by likeness                                               (K,)     1
s        likeness of two pipelines: over the stages, 0 for different algorithms, else 1    scalar   [0, 4]
         less the mean distance of their hyperparameters on their axes
=======  ================================================================================  =======  ==========

The portfolio has distinct prediction algorithms, chosen by g and eta as `portfolio.py` says. Each stands for all the
pipelines with it that did best on one of the cohorts; the one that is most like the others of them is taken,
argmax_c sum_j eta_j s(c, c_j): the best of one cohort owes much to the noise of its evaluation. Cohorts that are to be
trusted as much as what is believed without any, t = 1/2, make it as long as it may be, others shorter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Mode
from autoprog.metalearning.cohort_statistics import CohortStatistics
from autoprog.metalearning.meta_features.vector import MetaFeatures
from autoprog.metalearning.portfolio import greedy_portfolio
from autoprog.metalearning.prior import calibrated_prior, independent_statistics
from autoprog.metalearning.similarity import WeightForm
from autoprog.optimizer import OptimizerOptions, Start
from autoprog.space import STAGES, Configuration, Parameter, PipelineKind, Space, StageName, adapted

PORTFOLIO = 5
"""The most pipelines of a portfolio: longer ones hold little but variants."""


def warm_start(
    target: MetaFeatures,
    statistics: Sequence[CohortStatistics],
    space: Space,
    kinds: Sequence[PipelineKind],
    *,
    mode: Mode,
    metric: str,
    agnostic: OptimizerOptions,
    form: WeightForm = "softmin",
) -> Start:
    """What a search may begin with.

    Parameters
    ----------
    target : MetaFeatures
        Of the new cohort; a copy of it is passed over.
    statistics : sequence of CohortStatistics
        Of earlier searches; those of another mode or metric are passed over.
    space : Space
        Of the new search.
    kinds : sequence of PipelineKind
        Those that may be in the portfolio.
    mode, metric : str
        Of the new search.
    agnostic : OptimizerOptions
        What is believed without any earlier cohort.
    form : {"softmin", "printed"}
        Of the weights.

    Returns
    -------
    Start
        The default, which knows nothing, where no earlier cohort is comparable.
    """
    usable = independent_statistics(target, statistics, mode, metric)
    if not usable:
        return Start()
    prior = calibrated_prior(target, usable, mode=mode, metric=metric, agnostic=agnostic, form=form)
    weights = dict(prior.cohorts)
    return Start(
        portfolio=_portfolio(
            usable,
            np.array([weights[s.cohort_id] for s in usable]),
            space,
            kinds,
            size=math.ceil(PORTFOLIO * min(1.0, 2.0 * prior.trust)),
        ),
        offsets=prior.offsets,
        constants=prior.constants,
        trust=prior.trust,
        n_cohorts=len(usable),
    )


def _portfolio(
    statistics: Sequence[CohortStatistics],
    weights: NDArray[np.float64],
    space: Space,
    kinds: Sequence[PipelineKind],
    *,
    size: int,
) -> tuple[Configuration, ...]:
    tried = _tried(statistics, weights, kinds)
    names = sorted(tried)
    if not names:
        return ()
    gains = np.full((len(names), len(statistics)), np.nan)
    for j, s in enumerate(statistics):
        of = {gain.algorithm: gain.best / s.scale for gain in s.algorithms}
        gains[:, j] = [of.get(name, np.nan) for name in names]
    rows = greedy_portfolio(gains, names, size, weights)
    return tuple(_most_typical(tried[names[i]], space) for i in rows)


def _tried(
    statistics: Sequence[CohortStatistics], weights: NDArray[np.float64], kinds: Sequence[PipelineKind]
) -> dict[str, list[tuple[Configuration, float]]]:
    """By prediction algorithm: its best pipeline on each cohort as it would be here, with the cohort's weight."""
    tried: dict[str, list[tuple[Configuration, float]]] = {}
    for s, weight in zip(statistics, weights.tolist(), strict=True):
        for best in s.best:
            if (here := adapted(best.configuration, kinds)) is not None:
                tried.setdefault(here.prediction.algorithm, []).append((here, weight))
    return tried


def _most_typical(candidates: Sequence[tuple[Configuration, float]], space: Space) -> Configuration:
    agreement = [sum(weight * _likeness(c, other, space) for other, weight in candidates) for c, _ in candidates]
    return candidates[int(np.argmax(agreement))][0]


def _likeness(one: Configuration, other: Configuration, space: Space) -> float:
    total = 0.0
    for stage in STAGES:
        step, its = one.step(stage), other.step(stage)
        if step.algorithm == its.algorithm:
            total += 1.0 - _distance(space, stage, step.algorithm, dict(step.parameters), dict(its.parameters))
    return total


def _distance(
    space: Space, stage: StageName, name: str, parameters: Mapping[str, Parameter], others: Mapping[str, Parameter]
) -> float:
    axes = space.algorithm(stage, name).hyperparameters
    distances = [abs(h.to_unit(parameters[h.name]) - h.to_unit(others[h.name])) for h in axes]
    return float(np.mean(distances)) if distances else 0.0
