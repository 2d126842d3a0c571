"""Instability of a model's risks: their dependence on the sample that the model was fitted on.

    q       risks of the model, out of fold                                                       (n,)
    q*_j    risks by refit j of the same model to a bootstrap sample, for the patients left out   (n,)
    MAPE_i  mean over j of |q*_ij - q_i|: mean absolute prediction error of a patient             (n,)

If the risks are stable, the plot of q* against q stays near the diagonal and the refits' calibration curves agree.

References
----------
Riley & Collins 2023, Biometrical Journal 65:2200302 (prediction and calibration instability plots, MAPE). There, refits
also predict the patients that they were fitted on, and every choice is repeated; here the choice is not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.performance.calibration import calibration_curve
from autoprog.survival import HorizonError, NoEventError
from autoprog.survival import calibration_curve as survival_curve

_Floats = NDArray[np.float64]
CurveOf = Callable[[NDArray[np.intp], _Floats, _Floats], Sequence[float] | None]
"""From row numbers of patients, their risks, and points `at`, to the observed frequencies there, or None."""

_POINTS, _CURVES = 400, 25
_GRID = np.linspace(0.05, 0.95, 19)  # percentiles of the risks


@dataclass(frozen=True, slots=True)
class Instability:
    """Data of the instability plots."""

    n_refits: int
    mape: float  # mean of MAPE_i, in [0, 1]; 0 is ideal
    mape_90: float  # 90th percentile of MAPE_i
    points: tuple[tuple[float, float], ...]  # q_i and q*_ij of patients and refits drawn at random
    risks: tuple[float, ...]  # points of the curves, ascending
    curves: tuple[tuple[float, ...], ...]  # observed frequencies at `risks`, by refit

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return {
            "n_refits": self.n_refits,
            "mape": self.mape,
            "mape_90": self.mape_90,
            "points": [list(point) for point in self.points],
            "risks": list(self.risks),
            "curves": [list(curve) for curve in self.curves],
        }


def frequency_curves(y: NDArray[np.integer]) -> CurveOf:
    """Make smooth calibration curves of outcomes 0 and 1 without a time; None if the risks separate the outcomes."""

    def curve(patients: NDArray[np.intp], risks: _Floats, at: _Floats) -> Sequence[float] | None:
        outcomes = y[patients]
        found = calibration_curve(outcomes, risks, at) if 0 < outcomes.sum() < len(outcomes) else None
        return None if found is None else found.observed

    return curve


def incidence_curves(time: _Floats, event: NDArray[np.integer], horizon: float) -> CurveOf:
    """Make smooth calibration curves of event times at a horizon; None if nobody was followed to it or had an event."""

    def curve(patients: NDArray[np.intp], risks: _Floats, at: _Floats) -> Sequence[float] | None:
        try:
            found = survival_curve(time[patients], event[patients], risks, horizon, at=at)
        except (HorizonError, NoEventError):
            return None
        told: list[float] = found.observed.tolist()
        return told

    return curve


def compute_instability(
    q: _Floats,
    refitted: Sequence[NDArray[np.floating]],
    curve: CurveOf,
    rng: np.random.Generator,
) -> Instability:
    """Compare a model's risks with those of its refits.

    Parameters
    ----------
    q, refitted
        Out-of-fold risks in (0, 1), shape = (n,), and q*_j of every refit, NaN in its sample; each leaves patients out.
    curve : callable (patients, risks, at) -> sequence of float or None
        Made by `frequency_curves` or `incidence_curves`.
    rng : numpy.random.Generator
        Draws the points.

    Returns
    -------
    Instability
        Of up to 400 points, and the curves that exist among the first 25 refits.
    """
    star = np.array(refitted, dtype=np.float64)
    seen = np.isnan(star)
    known = ~seen.all(axis=0)
    mape = np.nanmean(np.abs(star - q)[:, known], axis=0)
    j, i = np.nonzero(~seen)
    shown = np.sort(rng.choice(len(j), size=min(_POINTS, len(j)), replace=False))
    risks = np.unique(np.quantile(q, _GRID).round(6))
    curves = (
        curve(np.flatnonzero(~hidden), risk[~hidden], risks)
        for risk, hidden in zip(star[:_CURVES], seen[:_CURVES], strict=True)
    )
    return Instability(
        len(star),
        float(mape.mean()),
        float(np.quantile(mape, 0.9)),
        tuple(zip(q[i[shown]].tolist(), star[j[shown], i[shown]].tolist(), strict=True)),
        tuple(risks.tolist()),
        tuple(tuple(each) for each in curves if each is not None),
    )
