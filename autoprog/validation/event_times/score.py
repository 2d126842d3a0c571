"""Score of risk curves with an interval; for an ensemble, corrected for optimism.

Symbols and correction are those of `autoprog.validation.optimism`, with the measures of `pairs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoprog.performance import Metric, ScoringContext, measured_name
from autoprog.performance.event_times.pairs import can_be_scored, resampled_event_scores
from autoprog.performance.score import (
    INTERVAL,
    LEVEL,
    NOT_CHOSEN,
    ScoreEstimate,
    make_interval,
    n_rarer,
)
from autoprog.validation.event_times.recalibration import fit_event_recalibration
from autoprog.validation.optimism import (
    Beside,
    Corrected,
    Figure,
    Setting,
    Stop,
    Weighing,
    correct_optimism,
    draw_counts,
    never,
    until,
    weighed_draws,
)

RESAMPLES = 500
# The correction scores every pipeline, and two averages, in every resample.
_MIN_CORRECTION_RESAMPLES, _CORRECTION_RESAMPLES = 20, 200
_MAX_CORRECTION_CELLS = 40_000_000
# Resamples that correct the figures beside the score, each of which takes three recalibrations of curves.
_BESIDE = 60

_Floats = NDArray[np.float64]


class FollowedPatients(NamedTuple):
    """Patients to resample: outcomes of dtype `EVENT_TIMES`, the search's context, and codes of rows drawn together."""

    y: NDArray[np.void]  # scorable; for the correction, scorable in two parts that share no group
    follow_up: ScoringContext
    groups: NDArray[np.integer] | None = None


def estimate_event_score(
    metric: Metric,
    patients: FollowedPatients,
    F: NDArray[np.floating],
    rng: np.random.Generator,
    *,
    out_of_fold: bool = True,
) -> ScoreEstimate:
    """Score curves, with an interval by a bootstrap of the patients.

    Parameters
    ----------
    metric : Metric
        From `make_event_metric`.
    patients : FollowedPatients
        Their outcomes.
    F : ndarray, shape = (n, T)
        Risks until the times of the search.
    rng : numpy.random.Generator
        Source of randomness.
    out_of_fold : bool
        Whether the curves are out of fold, rather than by one model fitted on other patients.

    Returns
    -------
    ScoreEstimate
        Of `RESAMPLES` resamples; level `LEVEL`.
    """
    scores = resampled_event_scores(metric.name, patients.y, F[None], patients.follow_up, rng, patients.groups)
    drawn = np.concatenate([scores(c)[:, 0] for c in _counts(metric, patients, RESAMPLES, rng, left_out=False)])
    estimate = metric.score(patients.y, F)
    # In a large cohort the resamples compare a subset: only their spread is used, not their mean.
    # A bootstrap of m units varies (m - 1) / m times as much as samples of m do.
    m = len(F) if patients.groups is None else len(np.unique(patients.groups))
    is_grouped, sd = patients.groups is not None, float(drawn.std(ddof=1)) * np.sqrt(scores.share * m / max(1, m - 1))
    found = make_interval(metric.name, estimate, sd, _n_rarer(patients), metric.upper, grouped=is_grouped)
    title = _title(metric, patients.follow_up)
    how = f"{RESAMPLES} bootstrap resamples of the patients{'' if patients.groups is None else ' by group'}; {INTERVAL}"
    whose = f"of out-of-fold risks, {how}; {NOT_CHOSEN}" if out_of_fold else f"of other patients, {how}"
    return ScoreEstimate(found.estimate, found.lower, found.upper, LEVEL, f"{title} {whose}", RESAMPLES)


def corrected_event_score(  # noqa: PLR0913  as `corrected_score`
    metric: Metric,
    patients: FollowedPatients,
    reported: NDArray[np.floating],
    p: NDArray[np.floating],
    w: _Floats,
    *,
    weighing: Weighing,
    rng: np.random.Generator,
    stop: Stop = never,
    beside: Beside | None = None,
) -> Corrected:
    """Score an ensemble of curves, corrected for choosing its weights by the same patients, with an interval.

    Parameters
    ----------
    metric, patients
        As `estimate_event_score` takes them.
    reported : ndarray, shape = (n, T)
        The ensemble's risks, recalibrated by other patients unless the metric only ranks.
    p, w : ndarray, shape = (t, n, T) and (t,)
        Out-of-fold risks of the pipelines, and weights that sum to 1.
    weighing : Weighing
        Rule by which w was chosen.
    rng, stop, beside
        As `corrected_score` takes them; figures are of risks, shape = (n, T).

    Returns
    -------
    Corrected
        Level `LEVEL`.
    """
    t, n = p.shape[:2]
    (choose, average), (figures, simple) = weighing, beside or Beside()
    scores = resampled_event_scores(metric.name, patients.y, p, patients.follow_up, rng, patients.groups)
    counts = until(stop, _counts(metric, patients, n_event_resamples(n, t), rng, left_out=True))
    draws = weighed_draws(metric, counts, scores, lambda c, g: (average(weights, p) for weights in choose(c, g)))
    return correct_optimism(
        (Figure(metric.name, metric.score, metric.ranks_only, metric.lower, metric.upper), *figures),
        metric.score(patients.y, np.asarray(reported, dtype=np.float64)),
        (average(w, p), None if simple is None else np.asarray(simple, dtype=np.float64)),
        draws,
        lambda here, F, c: _on_others(here, patients, F, c),
        Setting(_title(metric, patients.follow_up), t, _n_rarer(patients), patients.groups is not None, _BESIDE),
    )


def _n_rarer(patients: FollowedPatients) -> int:
    return n_rarer((patients.y["event"] == 1).astype(np.int8), patients.groups)


def n_event_resamples(n_patients: int, n_pipelines: int) -> int:
    """Number of resamples of a correction: 20 to 200, fewer for many patients and pipelines."""
    cells = max(1, n_patients * n_pipelines)
    return int(np.clip(_MAX_CORRECTION_CELLS // cells, _MIN_CORRECTION_RESAMPLES, _CORRECTION_RESAMPLES))


def _on_others(
    figures: Sequence[Figure], patients: FollowedPatients, F: _Floats, c: NDArray[np.float32]
) -> tuple[float, ...]:
    """Score the patients left out, their risks recalibrated by those drawn unless a figure only ranks."""
    y, out = patients.y, c == 0
    others = recalibrated = F[out]
    if not all(figure.ranks_only for figure in figures):
        drawn = np.repeat(np.arange(len(y)), c.astype(np.int64))
        recalibrated = fit_event_recalibration(y[drawn], F[drawn], patients.follow_up, shrunk=True).apply(others)
    return tuple(figure.score(y[out], others if figure.ranks_only else recalibrated) for figure in figures)


def _counts(
    metric: Metric, patients: FollowedPatients, resamples: int, rng: np.random.Generator, *, left_out: bool
) -> Iterator[NDArray[np.float32]]:
    """Draw c in chunks; the patients drawn and, if asked, those left out are scorable."""
    y, follow_up, groups = patients
    return draw_counts(len(y), groups, resamples, rng, can_be_scored(metric.name, y, follow_up), left_out=left_out)


def _title(metric: Metric, follow_up: ScoringContext) -> str:
    if metric.name == "c_index":
        return metric.name
    name = measured_name(metric.name, follow_up)
    if metric.name == "time_dependent_auc":
        return f"{metric.name}, mean over the horizons {', '.join(f'{h:g}' for h in follow_up.horizons)},"
    first, last = follow_up.times[0], follow_up.times[-1]
    return f"{name} until {last:g}" if metric.name == "uno_c" else f"{name} from {first:g} to {last:g}"
