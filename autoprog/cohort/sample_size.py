"""How many patients a prognostic model needs: Riley's minimum for a binary outcome.

Notation:

===========  =====================================================================  ======
symbol       meaning                                                                unit
===========  =====================================================================  ======
p            candidate predictor parameters: columns of the design matrix           count
phi          share of patients with the outcome                                     (0, 1)
r2_max       largest Cox-Snell R^2 that a model can have at phi                     (0, 1)
r2           anticipated Cox-Snell R^2 of the model                                 (0, 1)
shrinkage    targeted uniform shrinkage of the coefficients, S                      (0, 1)
===========  =====================================================================  ======

References
----------
Riley RD, Snell KIE, Ensor J, et al. Minimum sample size for developing a multivariable prediction model: Part II,
binary and time-to-event outcomes. Stat Med 2019;38:1276-96.
Riley RD, Ensor J, Snell KIE, et al. Calculating the sample size required for developing a clinical prediction model.
BMJ 2020;368:m441.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from autoprog.cohort.cohort import Cohort
from autoprog.cohort.schema import Feature

ANTICIPATED_NAGELKERKE_R2 = 0.15
"""What BMJ 2020;368:m441 advises to anticipate where nothing is known of earlier models' performance."""

_SHRINKAGE = 0.9
_OPTIMISM = 0.05  # of Nagelkerke's R^2
_MARGIN = 0.05  # of the estimated overall risk
_Z = 1.96


@dataclass(frozen=True, slots=True)
class SampleSize:
    """Whether a cohort is large enough for its candidate predictors.

    Attributes
    ----------
    riley_minimum : int
        Patients that a regression model with these candidate predictors needs.
    events_per_predictor : float
        Patients with the outcome per candidate predictor parameter.
    verdict : {"sufficient", "insufficient"}
        Whether the cohort has at least the minimum.
    """

    riley_minimum: int
    events_per_predictor: float
    verdict: Literal["sufficient", "insufficient"]


def sample_size(cohort: Cohort) -> SampleSize:
    """Compare a cohort with Riley's minimum.

    Parameters
    ----------
    cohort : Cohort
        Its features are the candidate predictors; Nagelkerke's R^2 is anticipated to be 0.15.

    Returns
    -------
    SampleSize
        The minimum and the verdict.
    """
    p = max(n_parameters(cohort.features), 1)
    minimum = riley_minimum(p, cohort.event_rate)
    return SampleSize(
        riley_minimum=minimum,
        events_per_predictor=float(cohort.y.sum()) / p,
        verdict="sufficient" if cohort.n_patients >= minimum else "insufficient",
    )


def n_parameters(features: tuple[Feature, ...]) -> int:
    """Columns of the design matrix: one a feature, for a categorical one as many as levels beside the reference."""
    return sum(max(len(f.levels) - 1, 0) if f.kind == "categorical" else 1 for f in features)


def riley_minimum(p: int, phi: float, r2: float | None = None) -> int:
    """The minimum number of patients for a model of a binary outcome.

    Parameters
    ----------
    p : int
        Candidate predictor parameters, at least 1.
    phi : float
        Share of patients with the outcome, in (0, 1).
    r2 : float, optional
        Anticipated Cox-Snell R^2 of the model, in (0, r2_max); by default 0.15 of its maximum at `phi`.

    Returns
    -------
    int
        The largest of three minima: expected shrinkage of at least 0.9; optimism of at most 0.05 in Nagelkerke's R^2;
        overall risk estimated within 0.05.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    References
    ----------
    BMJ 2020;368:m441, steps 1, 3 and 4. Step 2, the mean error of the risks, is stated for at most 30 parameters; like
    the authors' pmsampsize this leaves it out.
    """
    if p < 1 or not 0 < phi < 1:
        msg = f"riley_minimum needs p >= 1 and 0 < phi < 1, got p={p}, phi={phi}"
        raise ValueError(msg)
    r2_max = max_cox_snell_r2(phi)
    if r2 is None:
        r2 = ANTICIPATED_NAGELKERKE_R2 * r2_max
    if not 0 < r2 < min(r2_max, _SHRINKAGE):
        msg = f"r2 must be in (0, {min(r2_max, _SHRINKAGE):.3g}) at phi={phi}, got {r2}"
        raise ValueError(msg)
    by_shrinkage = _patients_for_shrinkage(p, r2, _SHRINKAGE)
    by_optimism = _patients_for_shrinkage(p, r2, r2 / (r2 + _OPTIMISM * r2_max))
    by_overall_risk = math.ceil((_Z / _MARGIN) ** 2 * phi * (1 - phi))
    return max(by_shrinkage, by_optimism, by_overall_risk)


def max_cox_snell_r2(phi: float) -> float:
    """The Cox-Snell R^2 of a model that knows every outcome.

    Parameters
    ----------
    phi : float
        Share of patients with the outcome, in (0, 1).

    Returns
    -------
    float
        At most 0.75, which it reaches at `phi` = 0.5.

    References
    ----------
    Stat Med 2019;38:1276-96, equation 23.
    """
    return 1 - math.exp(2 * (phi * math.log(phi) + (1 - phi) * math.log(1 - phi)))


def _patients_for_shrinkage(p: int, r2: float, shrinkage: float) -> int:
    return math.ceil(p / ((shrinkage - 1) * math.log(1 - r2 / shrinkage)))
