"""Performance of risk curves at every horizon and over the whole follow-up.

Symbols: y event codes and times (n,); F risk of the event of interest until the times of the search (n, T);
h a horizon; c thresholds at which a patient would be treated (m,).

Risks that were recalibrated by parts of the patients have another ranking than the delivered model's: `ranked` are the
risks before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.performance.event_metrics import EVENT_METRICS, ScoringContext, make_event_metric, measured_name
from autoprog.performance.event_times.influence import horizon_influences, net_benefit_influences
from autoprog.performance.influence import standard_error
from autoprog.performance.measures import curve_thresholds
from autoprog.performance.operating import operating_document
from autoprog.performance.score import LEVEL, make_interval, n_rarer
from autoprog.performance.subgroups import (
    MIN_COUNTED,
    MIN_GROUPS,
    MIN_OF_EACH,
    Subgroup,
    split_by_feature,
)
from autoprog.survival import (
    HorizonError,
    Interval,
    NoEventError,
    NoPairError,
    brier_score,
    calibration_at,
    calibration_curve,
    calibration_groups,
    cumulative_dynamic_auc,
    d_calibration,
    ipcw_weights,
    net_benefit,
    net_benefit_of_all,
    scaled_brier,
)

_MOST = {"auc": 1.0, "brier": math.inf, "brier_skill": 1.0}
_GROUPS, _MIN_OF_A_GROUP = 10, 20
_BINS = 20

_Floats = NDArray[np.float64]
_Ranked = tuple[NDArray[np.floating], NDArray[np.floating] | None]


@dataclass(frozen=True, slots=True)
class HorizonPerformance:
    """Performance of risks until one horizon."""

    horizon: float  # in the unit of the cohort's times
    auc: float  # cumulative cases against dynamic controls, in [0, 1]; more is better
    brier: float  # with weights of inverse probability of censoring
    brier_skill: float  # 1 is perfect, 0 that of giving everybody the incidence
    expected_observed: Interval  # ratio of expected to observed incidence; 1 is ideal
    observed: Interval  # Aalen-Johansen estimate of the incidence
    slope: Interval | None  # calibration slope on the cloglog scale; 1 is ideal
    intercept: Interval  # 0 is ideal
    ici: float  # distance of the risks from the smooth calibration curve: mean,
    e50: float  # median
    e90: float  # and 90th percentile
    intervals: dict[str, Interval]  # of `auc`, `brier`, `brier_skill`, `ici`, `e50` and `e90`, by name

    def to_json(self) -> dict[str, Any]:
        """JSON document; a missing value is None, and intervals give their ends."""
        ends = {name: {"lower": found.lower, "upper": found.upper} for name, found in self.intervals.items()}
        document: dict[str, Any] = _for_json({**asdict(self), "intervals": ends})
        return document


def performance_at(
    y: NDArray[np.void],
    p: NDArray[np.floating],
    horizon: float,
    groups: NDArray[np.integer] | None = None,
    *,
    ranked: NDArray[np.floating] | None = None,
) -> HorizonPerformance:
    """Measure risks until a horizon.

    Parameters
    ----------
    y, p
        Outcomes, dtype `EVENT_TIMES`, and out-of-sample risks in [0, 1], both shape = (n,).
    horizon : float
        Within the follow-up.
    groups : ndarray of int, shape = (n,), or None
        Codes, from 0, of groups of correlated patients.
    ranked : ndarray, shape = (n,), optional
        Risks for the AUC, if they differ from `p`.

    Returns
    -------
    HorizonPerformance
        Every measure.
    """
    return performance_and_curve(y, p, horizon, groups, ranked=ranked)[0]


def performance_and_curve(
    y: NDArray[np.void],
    p: NDArray[np.floating],
    horizon: float,
    groups: NDArray[np.integer] | None = None,
    *,
    ranked: NDArray[np.floating] | None = None,
) -> tuple[HorizonPerformance, dict[str, Any]]:
    """Measure risks until a horizon, and return the document of the calibration curve behind the measures too."""
    time, event, risk, h = y["time"], y["event"], np.asarray(p, dtype=np.float64), np.array([horizon])
    of_ranks = risk if ranked is None else np.asarray(ranked, dtype=np.float64)
    calibration = calibration_at(time, event, risk, horizon, level=LEVEL, groups=groups)
    curve = calibration_curve(time, event, risk, horizon, level=LEVEL, groups=groups)
    values = {
        "auc": float(cumulative_dynamic_auc(time, event, of_ranks[:, None], h)[0]),
        "brier": float(brier_score(time, event, risk[:, None], h)[0]),
        "brier_skill": float(scaled_brier(time, event, risk[:, None], h)[0]),
    }
    influences = horizon_influences(y, risk, horizon, calibration.observed.estimate, of_ranks)
    m = n_rarer_at(y, horizon, groups)
    intervals = {
        name: make_interval(
            name, value, standard_error(influences[name], groups), m, _MOST[name], grouped=groups is not None
        )
        for name, value in values.items()
    }
    intervals |= zip(("ici", "e50", "e90"), curve.distances, strict=True)
    found = HorizonPerformance(
        **values,
        horizon=horizon,
        expected_observed=calibration.expected_observed,
        observed=calibration.observed,
        slope=calibration.slope,
        intercept=calibration.intercept,
        ici=curve.ici,
        e50=curve.e50,
        e90=curve.e90,
        intervals=intervals,
    )
    points = {name: getattr(curve, name) for name in ("risk", "observed", "lower", "upper")}
    return found, _for_json(points)


def n_rarer_at(y: NDArray[np.void], horizon: float, groups: NDArray[np.integer] | None = None) -> int:
    """Patients, or groups, with the event by the horizon or known to be without it, whichever are fewer."""
    had = (y["event"] == 1) & (y["time"] <= horizon)
    known = had | (y["time"] > horizon) | (y["event"] > 1)
    return n_rarer(had[known].astype(np.int8), None if groups is None else groups[known])


def overall_performance(
    y: NDArray[np.void],
    F: NDArray[np.floating],
    follow_up: ScoringContext,
    ranked: NDArray[np.floating] | None = None,
) -> dict[str, float]:
    """Scores on every event metric, by `measured_name` and in its own direction, and the times `since` and `until`."""
    of_ranks, scores = F if ranked is None else ranked, {}
    for name in EVENT_METRICS:
        metric = make_event_metric(name, follow_up)
        scores[measured_name(name, follow_up)] = metric.score(y, of_ranks if metric.ranks_only else F)
    return {**scores, "since": follow_up.times[0], "until": follow_up.times[-1]}


def distribution_document(
    y: NDArray[np.void],
    F: NDArray[np.floating],
    follow_up: ScoringContext,
    groups: NDArray[np.integer] | None = None,
) -> dict[str, Any] | None:
    """D-calibration up to the last horizon: statistic, p-value, proportions; None with competing causes or groups."""
    # One cause's risk is no whole distribution; the test's p-value is that of independent patients.
    if follow_up.n_causes > 1 or groups is not None:
        return None
    # Curves are linear between the times, from risk 0 at time 0; follow-up beyond the last horizon is censored there.
    t = np.concatenate([[0.0], follow_up.times])
    S = np.column_stack([np.ones(len(y)), 1.0 - np.asarray(F, dtype=np.float64)])
    at = np.minimum(y["time"], t[-1])
    k = np.clip(np.searchsorted(t, at, side="left"), 1, len(t) - 1)
    rows = np.arange(len(y))
    share = (at - t[k - 1]) / (t[k] - t[k - 1])
    u = (1 - share) * S[rows, k - 1] + share * S[rows, k]
    found = d_calibration(np.clip(u, 0.0, 1.0), (y["event"] == 1) & (y["time"] <= t[-1]))
    document: dict[str, Any] = _for_json(asdict(found))
    return document


def horizon_document(
    y: NDArray[np.void],
    p: NDArray[np.floating],
    baseline: NDArray[np.floating] | None,
    horizon: float,
    thresholds: tuple[float, float],
    groups: NDArray[np.integer] | None = None,
    *,
    ranked: _Ranked | None = None,
) -> dict[str, Any]:
    """Assess risks until one horizon.

    Parameters
    ----------
    y, p, baseline, horizon
        As `performance_at` takes them; baseline are risks by the simple pipeline, or None.
    thresholds : tuple of float
        Range of risks at which a patient might be treated.
    groups : ndarray of int, shape = (n,), or None
        Codes, from 0, of groups of correlated patients.
    ranked : pair of ndarray, shape = (n,), or None
        Risks for the rank measures of the model and of the baseline, if they differ from `p` and `baseline`.

    Returns
    -------
    dict
        JSON document with `horizon`, `performance`, `baseline`, `gain_over_baseline`, `calibration_curve`,
        `calibration_groups`, `net_benefit`, `risk_distribution`, `operating`.
    """
    time, event, risk = y["time"], y["event"], np.asarray(p, dtype=np.float64)
    of_model, of_baseline = (p, baseline) if ranked is None else ranked
    told, curve = performance_and_curve(y, risk, horizon, groups, ranked=of_model)
    simple, gains = None, None
    if baseline is not None and of_baseline is not None:
        its = np.asarray(baseline, dtype=np.float64)
        simple = performance_at(y, its, horizon, groups, ranked=of_baseline)
        found = compute_event_gains(y, (of_model, risk), (of_baseline, its), horizon, groups)
        gains = {name: gain.to_json() for name, gain in found.items()}
    tenths = asdict(
        calibration_groups(time, event, risk, horizon, groups=min(_GROUPS, max(2, len(y) // _MIN_OF_A_GROUP)))
    )
    if groups is not None:  # Greenwood's intervals are those of independent patients
        tenths |= {end: np.full(len(tenths["n"]), np.nan) for end in ("lower", "upper")}
    document: dict[str, Any] = {
        "horizon": horizon,
        "performance": told.to_json(),
        "baseline": None if simple is None else simple.to_json(),
        "calibration_curve": curve,
        "calibration_groups": tenths,
        "gain_over_baseline": gains,
        "net_benefit": _decision_curve(y, risk, baseline, horizon, thresholds, groups),
        "risk_distribution": _distribution(risk),
        "operating": _operating(y, risk, horizon, thresholds, groups, of_model),
    }
    return {name: _for_json(part) for name, part in document.items()}


def horizon_documents(
    y: NDArray[np.void],
    F: NDArray[np.floating],
    baseline: NDArray[np.floating] | None,
    follow_up: ScoringContext,
    thresholds: tuple[float, float],
    groups: NDArray[np.integer] | None = None,
    *,
    ranked: _Ranked | None = None,
) -> list[dict[str, Any]]:
    """Assess risk curves at every horizon.

    Parameters
    ----------
    y, F, baseline
        As `horizon_document` takes them, but risks until all times of the search, shape = (n, T).
    follow_up : ScoringContext
        Context of the search's cohort.
    thresholds, groups, ranked
        As `horizon_document` takes them; `ranked` of shape (n, T).

    Returns
    -------
    list of dict
        One `horizon_document` per horizon, ascending.
    """
    return [
        horizon_document(
            y,
            F[:, k],
            None if baseline is None else baseline[:, k],
            horizon,
            thresholds,
            groups,
            ranked=None if ranked is None else (ranked[0][:, k], None if ranked[1] is None else ranked[1][:, k]),
        )
        for horizon, k in zip(follow_up.horizons, follow_up.at_horizons, strict=True)
    ]


def calibration_document(horizons: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarise calibration at the last horizon, with intervals of slope and intercept, from `horizon_documents`."""
    last = horizons[-1]["performance"]
    return {
        "slope": last["slope"],
        "intercept": last["intercept"],
        "expected_observed": last["expected_observed"]["estimate"],
        "level": LEVEL,
    }


def compute_event_gains(
    y: NDArray[np.void],
    model: tuple[NDArray[np.floating], NDArray[np.floating]],
    baseline: tuple[NDArray[np.floating], NDArray[np.floating]],
    horizon: float,
    groups: NDArray[np.integer] | None = None,
) -> dict[str, Interval]:
    """Compare the risks of two models until a horizon on the same patients.

    Parameters
    ----------
    y : ndarray of dtype `EVENT_TIMES`, shape = (n_patients,)
        Observed times and events.
    model, baseline : pair of ndarray, each shape = (n_patients,)
        Risks until the horizon for the AUC, and for the Brier score.
    horizon : float
        In the unit of the times.
    groups : ndarray of int, shape = (n_patients,), optional
        Patients whose outcomes are alike.

    Returns
    -------
    dict of str to Interval
        Model less baseline, in the measure's own direction, for `auc` and `brier`.
    """
    time, event, h = y["time"], y["event"], np.array([horizon])
    m = n_rarer_at(y, horizon, groups)
    (p_ranked, p), (q_ranked, q) = (
        [np.asarray(risks, dtype=np.float64) for risks in of_either] for of_either in (model, baseline)
    )
    mine, its = (horizon_influences(y, r, horizon, ranked=ranked) for r, ranked in ((p, p_ranked), (q, q_ranked)))
    scored = (("auc", cumulative_dynamic_auc, p_ranked, q_ranked), ("brier", brier_score, p, q))
    return {
        name: make_interval(
            "difference",
            float(measure(time, event, a[:, None], h)[0] - measure(time, event, b[:, None], h)[0]),
            standard_error(mine[name] - its[name], groups),
            m,
        )
        for name, measure, a, b in scored
    }


def _decision_curve(
    y: NDArray[np.void],
    p: _Floats,
    baseline: NDArray[np.floating] | None,
    horizon: float,
    thresholds: tuple[float, float],
    groups: NDArray[np.integer] | None,
) -> dict[str, Any]:
    """Decision curves, with bands by the influences of the censoring-weighted estimate."""
    time, event = y["time"], y["event"]
    c = curve_thresholds(thresholds)
    simple = None if baseline is None else np.asarray(baseline, dtype=np.float64)
    m = n_rarer_at(y, horizon, groups)

    def band(of_model: _Floats, of_other: _Floats, *risks: _Floats) -> dict[str, list[float]]:
        values = of_model - of_other
        influences = net_benefit_influences(y, horizon, c, *risks)
        found = [
            make_interval("net_benefit", float(value), standard_error(psi, groups), m)
            for value, psi in zip(values, influences, strict=True)
        ]
        return {"lower": [each.lower for each in found], "upper": [each.upper for each in found]}

    model = net_benefit(time, event, p, horizon, c)
    its = None if simple is None else net_benefit(time, event, simple, horizon, c)
    nothing = np.zeros(len(c))
    return {
        "thresholds": c,
        "model": model,
        "baseline": its,
        "model_interval": band(model, nothing, p),
        "baseline_interval": None if its is None or simple is None else band(its, nothing, simple),
        "gain_interval": None if its is None or simple is None else band(model, its, p, simple),
        "treat_all": net_benefit_of_all(time, event, horizon, c),
        "treat_none": [0.0] * len(c),
        "range": list(thresholds),
    }


def _operating(
    y: NDArray[np.void],
    p: _Floats,
    horizon: float,
    thresholds: tuple[float, float],
    groups: NDArray[np.integer] | None,
    ranked: NDArray[np.floating],
) -> dict[str, Any]:
    w = ipcw_weights(y["time"], y["event"], np.array([horizon]))[:, 0]
    d = ((y["event"] == 1) & (y["time"] <= horizon)).astype(np.int8)
    return operating_document(d, p, thresholds, w, groups, ranked)


def _distribution(p: _Floats) -> dict[str, list[float] | list[int]]:
    counts, edges = np.histogram(p, np.linspace(0, 1, _BINS + 1))
    return {"edges": edges.round(6).tolist(), "patients": counts.tolist()}


def _for_json(value: Any) -> Any:  # noqa: ANN401  any JSON, and arrays
    """Convert arrays to lists, and values that are not finite to None, such as an undefined net benefit."""
    if isinstance(value, np.ndarray):
        return _for_json(value.tolist())
    if isinstance(value, dict):
        return {name: _for_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_for_json(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def measure_event_subgroups(
    cohort: Cohort, F: NDArray[np.floating], follow_up: ScoringContext, names: Sequence[str]
) -> tuple[Subgroup, ...]:
    """Measure risks until the last horizon in every subgroup of some features.

    Parameters
    ----------
    cohort, F, follow_up
        The patients, out-of-sample risks until the times of the search, shape = (n, T), and the search's context.
    names : sequence of str
        Features; see `measure_subgroups`.

    Returns
    -------
    tuple of Subgroup
        Feature by feature, with events until the horizon; measured if at least `MIN_OF_EACH` patients had one, and as
        many were followed beyond it or had a competing event.
    """
    columns = {feature.name: j for j, feature in enumerate(cohort.features)}
    y, p, horizon = cohort.outcomes, np.asarray(F, dtype=np.float64)[:, -1], follow_up.horizons[-1]
    found = []
    for name in names:
        for label, rows in split_by_feature(cohort.features[columns[name]], cohort.X[:, columns[name]]):
            groups = None if cohort.groups is None else cohort.groups[rows]
            found.append(
                _measured(Subgroup(name, label, None, None), y[rows], p[rows], horizon, cohort.patient[rows], groups)
            )
    return tuple(found)


def _measured(
    small: Subgroup,
    y: NDArray[np.void],
    p: NDArray[np.float64],
    horizon: float,
    patient: NDArray[np.integer],
    groups: NDArray[np.integer] | None,
) -> Subgroup:
    n, events = len(y), int(((y["event"] == 1) & (y["time"] <= horizon)).sum())
    if len(np.unique(patient)) < MIN_COUNTED:
        return small
    counted = replace(small, n=n, events=events)
    if n_rarer_at(y, horizon, patient) < MIN_OF_EACH or n_rarer_at(y, horizon, groups) < MIN_GROUPS:
        return counted
    try:
        found = performance_at(y, p, horizon, groups)
    except (HorizonError, NoEventError, NoPairError):  # nobody in the subgroup is followed to the horizon
        return counted
    return replace(
        counted,
        auc=found.intervals["auc"],
        brier=found.intervals["brier"],
        expected_observed=found.expected_observed,
    )
