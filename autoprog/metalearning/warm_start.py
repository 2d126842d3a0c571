"""The start of a new search: the calibrated prior, and a portfolio that did well on similar cohorts.

=======  ================================================================================  =======  ==========
symbol   meaning                                                                           shape    unit
=======  ================================================================================  =======  ==========
g        posterior mean of the gain of reference pipeline i on cohort j, in units of that  (R, K)   1
         cohort's standardised scores
eta      weights of the cohorts by similarity                                              (K,)     1
=======  ================================================================================  =======  ==========

Reference pipelines did well on one of the cohorts. Most were evaluated only there; their gains on other cohorts are
expectations of those searches' surrogates. The portfolio is chosen by g and eta, with distinct prediction
algorithms and without the simple pipeline, which a search evaluates anyway. From a trust of t = 1/2 on it has its full
length; below it is shorter.

A portfolio: a few pipelines, of which at least one does well on every earlier cohort.

======  ================================================================================  ======  =====
symbol  meaning                                                                           shape   range
======  ================================================================================  ======  =====
g       normalised gain of configuration i on cohort j; 0 the median pipeline, 1 the      (n, m)  real
        best that is known
w       weight of a cohort, summing to 1                                                  (m,)    [0, 1]
b       best gain of the portfolio so far on each cohort                                  (m,)    real
======  ================================================================================  ======  =====

Each new member has a prediction algorithm that the portfolio lacks and raises sum_j w_j max(b_j, g_ij) most. For gains
bounded below this sum is monotone and submodular. Without the rule of distinct algorithms the greedy choice reaches at
least 1 - 1/e of the best portfolio's value (above that of an empty one); with it, a matroid's rule, at least 1/2.

References
----------
Feurer et al. 2022, JMLR 23:261, section 4.1, without the rule of distinct algorithms; Nemhauser, Wolsey & Fisher 1978,
Mathematical Programming 14:265; Fisher, Nemhauser & Wolsey 1978, Mathematical Programming Study 8:73.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.cohort import Mode
from autoprog.errors import Fault, InvalidInputError
from autoprog.metalearning.cohort_statistics import CohortStatistics
from autoprog.metalearning.meta_features.computation import MetaFeatures
from autoprog.metalearning.prior import calibrated_prior, independent_statistics
from autoprog.metalearning.similarity import WeightForm, similarity
from autoprog.optimizer import OptimizerOptions, Start
from autoprog.optimizer.initial import simple_configuration
from autoprog.space import Configuration, PipelineKind, adapted

# Gains that differ by less count as equal.
_TIE = 1e-12


def greedy_portfolio(
    gains: ArrayLike, predictors: Sequence[Hashable], size: int, weights: ArrayLike | None = None
) -> tuple[int, ...]:
    """Choose complementary configurations with distinct prediction algorithms.

    Parameters
    ----------
    gains : array-like, shape = (n_configurations, n_cohorts)
        Gains, more is better, comparable between cohorts: 0 the median pipeline, 1 the best known. NaN, for a failed or
        invalid configuration, counts as the worst on that cohort.
    predictors : sequence of hashable, length n_configurations
        The prediction algorithm of each.
    size : int
        The most members, at least 1.
    weights : array-like, shape = (n_cohorts,), or None
        Weights of the cohorts, at least 0; None for equal ones. Copies of one study should share one weight.

    Returns
    -------
    tuple of int
        Rows of `gains`, in the order to try; at most `size`, and one per algorithm that succeeds somewhere. Ties go to
        the greater mean gain, then to the earlier row.

    Raises
    ------
    InvalidInputError
        If shapes, size or weights are invalid, or a gain is infinite; lists every fault.
    """
    g, w = np.asarray(gains, dtype=np.float64), None if weights is None else np.asarray(weights, dtype=np.float64)
    if faults := [*_faults(g, len(predictors), size), *_weight_faults(g, w)]:
        raise InvalidInputError(faults)
    tried, known = ~np.isnan(g).all(axis=1), ~np.isnan(g).all(axis=0)
    if not tried.any():
        return ()
    g, w = g[:, known], np.ones(known.sum()) if w is None else w[known]
    worst = np.nanmin(g, axis=0)
    g = np.where(np.isnan(g), worst, g)
    means, best = g @ w, worst
    members: list[int] = []
    open_ = tried.copy()
    while len(members) < size and open_.any():
        values = np.where(open_, np.maximum(g, best) @ w, -np.inf)
        equal = np.flatnonzero(values >= values.max() - _TIE)
        chosen = int(equal[np.argmax(means[equal])])
        members.append(chosen)
        best = np.maximum(best, g[chosen])
        open_ &= np.array([p != predictors[chosen] for p in predictors])
    return tuple(members)


def _faults(g: NDArray[np.float64], n_predictors: int, size: int) -> list[Fault]:
    faults = []
    if g.ndim != 2 or g.size == 0:
        shape = " x ".join(str(n) for n in g.shape) or "no axes"
        faults.append(Fault("/gains", f"must be configurations x cohorts, at least one of each; the shape is {shape}"))
    elif n_predictors != len(g):
        faults.append(Fault("/predictors", f"must be one per configuration: {n_predictors} for {len(g)} rows of gains"))
    if infinite := int(np.isinf(g).sum()):
        faults.append(Fault("/gains", f"must be finite, or NaN for a failure; {infinite} are infinite"))
    if size < 1:
        faults.append(Fault("/size", f"must be at least 1, and is {size}"))
    return faults


def _weight_faults(g: NDArray[np.float64], w: NDArray[np.float64] | None) -> list[Fault]:
    if w is None:
        return []
    faults = []
    if g.ndim == 2 and w.shape != g.shape[1:]:
        faults.append(Fault("/weights", f"must be one per cohort: shape {w.shape} for {g.shape[1]} columns of gains"))
    if not (np.isfinite(w) & (w >= 0)).all():
        faults.append(Fault("/weights", "must be finite and at least 0"))
    elif not w.any():
        faults.append(Fault("/weights", "must not all be 0"))
    return faults


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
    simple = simple_configuration(kinds, usable[0].simple_algorithm) if kinds else None
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
