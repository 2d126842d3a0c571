"""How much the risks of a model depend on who happened to be in its cohort.

    q       risks of the model, out of fold                                                       (n,)
    q*_j    risks by refit j of the same model, to a bootstrap sample; of whom it left out        (n,)
    MAPE_i  mean over j of |q*_ij - q_i|: mean absolute prediction error of a patient             (n,)

A model whose risks are stable has points near the diagonal of the plot of q* against q, and calibration curves of the
refits that lie near each other.

References
----------
Riley & Collins 2023, Biometrical Journal 65:2200302 (prediction and calibration instability plots, MAPE); there refits
are asked about the patients that they saw, too, and every choice is made anew; here the choice is not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.survival import HorizonError, NoEventError
from autoprog.survival import calibration_curve as survival_curve
from autoprog.validation.smooth_calibration import calibration_curve

_Floats = NDArray[np.float64]
CurveOf = Callable[[NDArray[np.intp], _Floats, _Floats], Sequence[float] | None]

_POINTS, _CURVES = 400, 25
_GRID = np.linspace(0.05, 0.95, 19)  # percentiles of the risks


@dataclass(frozen=True, slots=True)
class Instability:
    """What the plots of instability show.

    Attributes
    ----------
    n_refits : int
        Refits.
    mape : float
        Mean of MAPE_i over the patients, in [0, 1]; 0 is ideal.
    mape_90 : float
        Its 90th percentile.
    points : tuple of (float, float)
        q_i and q*_ij, of some patients and refits drawn at random.
    risks : tuple of float
        Where the curves are told, ascending.
    curves : tuple of tuple of float
        Observed frequency at `risks`, by the smooth calibration curve of each of the first refits.
    """

    n_refits: int
    mape: float
    mape_90: float
    points: tuple[tuple[float, float], ...]
    risks: tuple[float, ...]
    curves: tuple[tuple[float, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "n_refits": self.n_refits,
            "mape": self.mape,
            "mape_90": self.mape_90,
            "points": [list(point) for point in self.points],
            "risks": list(self.risks),
            "curves": [list(curve) for curve in self.curves],
        }


def frequency_curves(y: NDArray[np.integer]) -> CurveOf:
    """Smooth calibration curves of an outcome without a time.

    Parameters
    ----------
    y : ndarray, shape = (n,)
        0 and 1.

    Returns
    -------
    callable (patients, risks, at) -> sequence of float or None
        Of some patients, by their places in y: the observed frequency where the risks are `at`; None where only one
        outcome occurs or the risks separate the two.
    """

    def curve(patients: NDArray[np.intp], risks: _Floats, at: _Floats) -> Sequence[float] | None:
        outcomes = y[patients]
        found = calibration_curve(outcomes, risks, at) if 0 < outcomes.sum() < len(outcomes) else None
        return None if found is None else found.observed

    return curve


def incidence_curves(time: _Floats, event: NDArray[np.integer], horizon: float) -> CurveOf:
    """Smooth calibration curves of event times at a horizon.

    Parameters
    ----------
    time : ndarray, shape = (n,)
        Times.
    event : ndarray, shape = (n,)
        Codes, 0 for censored, 1 for the event of interest.
    horizon : float
        Within the follow-up.

    Returns
    -------
    callable (patients, risks, at) -> sequence of float or None
        As of `frequency_curves`, the observed incidence; None where these patients were not followed to the horizon or
        had no event.
    """

    def curve(patients: NDArray[np.intp], risks: _Floats, at: _Floats) -> Sequence[float] | None:
        try:
            found = survival_curve(time[patients], event[patients], risks, horizon)
        except (HorizonError, NoEventError):
            return None
        told: list[float] = np.interp(at, found.risk, found.observed).tolist()
        return told

    return curve


def compute_instability(
    q: _Floats,
    refitted: Sequence[NDArray[np.floating]],
    curve: CurveOf,
    rng: np.random.Generator,
) -> Instability:
    """Compare refits with the model.

    Parameters
    ----------
    q : ndarray, shape = (n,)
        Out-of-fold risks of the model, in (0, 1).
    refitted : sequence of ndarray, shape = (n,)
        q*_j; NaN for patients that the refit has seen. Every refit leaves some out.
    curve : callable (patients, risks, at) -> sequence of float or None
        As `frequency_curves` and `incidence_curves` make it.
    rng : numpy.random.Generator
        Draws the points.

    Returns
    -------
    Instability
        With the curves that can be told, of the first refits.
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
