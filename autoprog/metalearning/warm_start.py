"""The start of a new search: the calibrated prior, and a portfolio of what did well on cohorts like it.

=======  ================================================================================  =======  ==========
symbol   meaning                                                                           shape    unit
=======  ================================================================================  =======  ==========
g        posterior mean of the gain of reference pipeline i on cohort j, in units of that  (R, K)   1
         cohort's standardised scores
eta      weights of the cohorts, by likeness                                               (K,)     1
=======  ================================================================================  =======  ==========

Reference pipelines are those that did well on one of the cohorts. Most were evaluated on that one alone; what they
would gain on the others is what the surrogates of those searches expect. The portfolio has distinct prediction
algorithms, chosen by g and eta as `portfolio.py` says, without the simple pipeline, which a search evaluates anyway;
where a cohort tells nothing of a pipeline it counts as the worst there. Cohorts that are to be trusted as much as what
is believed without any, t = 1/2, make the portfolio as long as it may be, others shorter.
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
"""The most pipelines of a portfolio: longer ones hold little but variants."""

REFERENCES = 400
"""The most pipelines that it is chosen from."""


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
    """What a search may begin with.

    Parameters
    ----------
    target : MetaFeatures
        Of the new cohort; a copy of it is passed over.
    statistics : sequence of CohortStatistics
        Of earlier searches; those of another mode or metric are passed over.
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
    """Pipelines that did well on some cohort, as they would be on another.

    Parameters
    ----------
    target : MetaFeatures
        Of the other.
    statistics : sequence of CohortStatistics
        Whose pipelines are meant.
    kinds : sequence of PipelineKind
        What is valid there.

    Returns
    -------
    dict
        `Configuration.key` where it did well -> the pipeline; at most `REFERENCES`, of the cohorts that are most like
        the other.
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
        gains[:, j] = [told.get(key, np.nan) / s.scale for key in references]
    pipelines = list(references.values())
    rows = greedy_portfolio(gains, [c.prediction.algorithm for c in pipelines], size, weights)
    return tuple(pipelines[i] for i in rows)
