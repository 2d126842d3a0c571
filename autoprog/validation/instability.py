"""How much the risks of a model depend on who happened to be in its cohort.

    q       risks of the model, out of fold                                                       (n,)
    q*_j    risks by refit j, to a bootstrap sample; of patients whom it left out alone           (n,)
    MAPE_i  mean over j of |q*_ij - q_i|: mean absolute prediction error of a patient             (n,)

A model whose risks are stable has points near the diagonal of the plot of q* against q, and calibration curves of the
refits that lie near each other.

References
----------
Riley & Collins 2023, Biometrical Journal 65:2200302 (prediction and calibration instability plots, MAPE); there refits
are asked about the patients that they saw, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.validation.smooth_calibration import calibration_curve

_Floats = NDArray[np.float64]

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


def instability_of(
    y: NDArray[np.integer], q: _Floats, refitted: Sequence[NDArray[np.floating]], rng: np.random.Generator
) -> Instability:
    """Compare refits with the model.

    Parameters
    ----------
    y : ndarray, shape = (n,)
        0 and 1.
    q : ndarray, shape = (n,)
        Out-of-fold risks of the model, in (0, 1).
    refitted : sequence of ndarray, shape = (n,)
        q*_j; NaN for patients that the refit has seen. Every refit leaves some out.
    rng : numpy.random.Generator
        Draws the points.

    Returns
    -------
    Instability
        With a curve of each refit among whose patients both outcomes occur and overlap.
    """
    star = np.array(refitted, dtype=np.float64)
    seen = np.isnan(star)
    known = ~seen.all(axis=0)
    mape = np.nanmean(np.abs(star - q)[:, known], axis=0)
    j, i = np.nonzero(~seen)
    shown = np.sort(rng.choice(len(j), size=min(_POINTS, len(j)), replace=False))
    risks = np.unique(np.quantile(q, _GRID).round(6))
    curves = []
    for risk, hidden in zip(star[:_CURVES], seen[:_CURVES], strict=True):
        outcomes = y[~hidden]
        curve = calibration_curve(outcomes, risk[~hidden], risks) if 0 < outcomes.sum() < len(outcomes) else None
        if curve is not None:
            curves.append(curve.observed)
    return Instability(
        len(star),
        float(mape.mean()),
        float(np.quantile(mape, 0.9)),
        tuple(zip(q[i[shown]].tolist(), star[j[shown], i[shown]].tolist(), strict=True)),
        tuple(risks.tolist()),
        tuple(curves),
    )
