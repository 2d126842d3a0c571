"""The start of a new search: the calibrated prior, and a portfolio that did well on similar cohorts.

=======  ================================================================================  =======  ==========
symbol   meaning                                                                           shape    unit
=======  ================================================================================  =======  ==========
g        posterior mean of the gain of reference pipeline i on cohort j, in units of that  (R, K)   1
         cohort's standardised scores
eta      weights of the cohorts by similarity                                              (K,)     1
=======  ================================================================================  =======  ==========

Reference pipelines did well on one of the cohorts. Most were evaluated only there; their gains on other cohorts are
expectations of those searches' surrogates. `portfolio.py` chooses the portfolio by g and eta, with distinct prediction
algorithms and without the simple pipeline, which a search evaluates anyway. From a trust of t = 1/2 on it has its full
length; below it is shorter.
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
from autoprog.metalearning.similarity import WeightForm, similarity
from autoprog.optimizer import OptimizerOptions, Start
from autoprog.optimizer.initial import simple_configuration
from autoprog.space import Configuration, PipelineKind, adapted

PORTFOLIO = 5
"""The most pipelines of a portfolio; longer ones add little but variants."""

REFERENCES = 400
"""The most pipelines that a portfolio is chosen from."""


def warm_start(
    target: MetaFeatures,
    statistics: Sequence[CohortStatistics],
    kinds: Sequence[PipelineKind],
    *,
    mode: Mode,
    metric: str,
    agnostic: OptimizerOptions,
    form: WeightForm = "softmin",
) -> Start:
    """Make the start of a search.

    Parameters
    ----------
    target : MetaFeatures
        Meta-features of the new cohort; copies of it are ignored.
    statistics : sequence of CohortStatistics
        Statistics of earlier searches; those of another mode or metric are ignored.
    kinds : sequence of PipelineKind
        Kinds that the portfolio may have.
    mode, metric : str
        Mode and metric of the new search.
    agnostic : OptimizerOptions
        The prior without any earlier cohort.
    form : {"softmin", "printed"}
        Form of the weights.

    Returns
    -------
    Start
        The default, without any prior, if no earlier cohort is comparable.
    """
    usable = independent_statistics(target, statistics, mode, metric)
    if not usable:
        return Start()
    prior = calibrated_prior(target, usable, mode=mode, metric=metric, agnostic=agnostic, form=form)
    weights = dict(prior.cohorts)
    references = reference_pipelines(target, usable, kinds)
    simple = simple_configuration(kinds, mode) if kinds else None
    return Start(
        portfolio=_portfolio(
            usable,
            np.array([weights[s.cohort_id] for s in usable]),
            {key: pipeline for key, pipeline in references.items() if pipeline != simple},
            size=math.ceil(PORTFOLIO * min(1.0, 2.0 * prior.trust)),
        ),
        offsets=prior.offsets,
        constants=prior.constants,
        scale=prior.scale,
        trust=prior.trust,
        n_cohorts=len(usable),
    )


def reference_pipelines(
    target: MetaFeatures, statistics: Sequence[CohortStatistics], kinds: Sequence[PipelineKind]
) -> dict[str, Configuration]:
    """Adapt pipelines that did well on earlier cohorts to another cohort.

    Parameters
    ----------
    target : MetaFeatures
        Meta-features of the other cohort.
    statistics : sequence of CohortStatistics
        Statistics of the earlier cohorts.
    kinds : sequence of PipelineKind
        The valid kinds of the other cohort.

    Returns
    -------
    dict
        Original `Configuration.key` -> adapted pipeline; at most `REFERENCES`, of the most similar cohorts.
    """
    order = np.argsort(-similarity(target, [s.meta_features for s in statistics]).weights, kind="stable")
    nearest = [tried.configuration for j in order.tolist() for tried in statistics[j].best]
    there = list(dict.fromkeys(nearest))[:REFERENCES]
    here = zip(there, adapted(there, kinds), strict=True)
    return {configuration.key: pipeline for configuration, pipeline in here if pipeline is not None}


def _portfolio(
    statistics: Sequence[CohortStatistics],
    weights: NDArray[np.float64],
    references: Mapping[str, Configuration],
    *,
    size: int,
) -> tuple[Configuration, ...]:
    if not references:
        return ()
    gains = np.full((len(references), len(statistics)), np.nan)
    for j, s in enumerate(statistics):
        told = {**s.elsewhere, **{tried.configuration.key: tried.gain for tried in s.best}}
        # A pipeline unknown on a cohort counts as the worst there.
        gains[:, j] = [told.get(key, np.nan) / s.scale for key in references]
    pipelines = list(references.values())
    rows = greedy_portfolio(gains, [c.prediction.algorithm for c in pipelines], size, weights)
    return tuple(pipelines[i] for i in rows)
