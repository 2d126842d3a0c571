"""What was observed in bands of predicted risk: shares with the outcome, or incidence with numbers at risk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.performance.operating import weighted_share
from autoprog.survival import AalenJohansen, aalen_johansen, censoring_survival
from autoprog.ticks import round_ticks

_POINTS = 100
_DECIMALS = 5
_MIN_COUNTED = 10  # patients of a stratum that is described; the outcomes of fewer could identify them


def observed_shares(
    y: NDArray[np.integer],
    stratum: NDArray[np.int64],
    n_strata: int,
    groups: NDArray[np.integer] | None = None,
    patient: NDArray[np.integer] | None = None,
) -> list[dict[str, Any]]:
    """Count rows and outcomes 0 and 1 of every stratum, with Wilson's interval of the share that has it.

    Parameters
    ----------
    y, stratum, n_strata
        Outcomes and index of each row's stratum, both (n,), and number of strata.
    groups, patient : ndarray of int, shape = (n,), or None
        Groups of correlated rows; the patient of each row, by default each his own.

    Returns
    -------
    list of dict
        As `observed_incidences`.
    """
    found = []
    for s in range(n_strata):
        rows = stratum == s
        n, events = int(rows.sum()), int(y[rows].sum())
        told = _can_be_told(rows, patient)
        share = weighted_share((rows & (y == 1)).astype(np.float64), rows.astype(np.float64), groups) if told else None
        found.append({"n": n, "n_events": events if told else None, "observed": share, "curve": None})
    return found


def observed_incidences(
    y: NDArray[np.void],
    stratum: NDArray[np.int64],
    n_strata: int,
    horizon: float,
    *,
    curve: bool,
    grouped: bool = False,
    patient: NDArray[np.integer] | None = None,
) -> list[dict[str, Any]]:
    """Estimate the incidence of the event of interest until a horizon in every stratum.

    Parameters
    ----------
    y : ndarray, shape = (n,)
        Outcomes, dtype `EVENT_TIMES`.
    stratum, n_strata
        Index of each patient's stratum, and their number.
    horizon : float
        Time of the estimate, and end of the curve.
    curve : bool
        Whether the whole curve is given, with numbers at risk.
    grouped : bool
        Whether patients are correlated; there are no intervals then, as Greenwood's would be too narrow.
    patient : ndarray of int, shape = (n,), or None
        The patient of each row; by default each his own.

    Returns
    -------
    list of dict
        JSON documents with `n`, `n_events`, `observed` and `curve`; None where too few patients or follow-up.
    """
    found: list[dict[str, Any]] = []
    causes = int(y["event"].max())
    for s in range(n_strata):
        here = y[stratum == s]
        n = len(here)
        if not _can_be_told(stratum == s, patient):
            found.append({"n": n, "n_events": None, "observed": None, "curve": None})
            continue
        estimate = aalen_johansen(here["time"], here["event"], causes=causes)
        end = min(horizon, float(here["time"].max()))
        is_followed = end == horizon or float(censoring_survival(here["time"], here["event"])(end)) > 0
        events = int(((here["event"] == 1) & (here["time"] <= horizon)).sum())
        at = _at(estimate, np.array([end]), grouped=grouped)
        observed = {name: values[0] for name, values in at.items()} if is_followed else None
        drawn = _curve(here, estimate, end, horizon, grouped=grouped) if curve else None
        found.append({"n": n, "n_events": events, "observed": observed, "curve": drawn})
    return found


def _can_be_told(rows: NDArray[np.bool_], patient: NDArray[np.integer] | None) -> bool:
    return int(rows.sum() if patient is None else len(np.unique(patient[rows]))) >= _MIN_COUNTED


def _curve(
    here: NDArray[np.void], estimate: AalenJohansen, end: float, horizon: float, *, grouped: bool
) -> dict[str, Any]:
    jumps = np.unique(here["time"][(here["event"] == 1) & (here["time"] <= end)])
    if len(jumps) > _POINTS:  # the last jump before each of many times
        jumps = np.unique(jumps[np.searchsorted(jumps, np.linspace(jumps[0], end, _POINTS), side="right") - 1])
    times = np.concatenate([[0.0], jumps, [end]])
    marks = np.array(round_ticks(0.0, horizon))
    return {
        "times": times.tolist(),
        **_at(estimate, times, grouped=grouped),
        "at_risk_times": marks.tolist(),
        "at_risk": [int((here["time"] >= t).sum()) for t in marks],
    }


def _at(estimate: AalenJohansen, times: NDArray[np.float64], *, grouped: bool) -> dict[str, list[float | None]]:
    found = estimate.at(times)
    ends = {"lower": found.lower, "upper": found.upper}
    if grouped:
        ends = {name: np.full(len(times), np.nan) for name in ends}
    return {name: _known(values) for name, values in {"estimate": found.estimate, **ends}.items()}


def _known(values: NDArray[np.float64]) -> list[float | None]:
    return [round(float(value), _DECIMALS) if np.isfinite(value) else None for value in values]
