"""Number of patients that a prognostic model needs: Riley's minimum for a regression, and that for flexible learners.

Notation:

==============  ============================================================  ========
symbol          meaning                                                       unit
==============  ============================================================  ========
p               candidate predictor parameters: columns of the design matrix  count
phi             share of patients with the outcome                            (0, 1]
r2_max          largest Cox-Snell R^2 that a model can have at phi            (0, 1)
r2              anticipated Cox-Snell R^2 of the model                        (0, 1)
shrinkage       targeted uniform shrinkage of the coefficients, S             (0, 1)
rate            events of interest per unit of person-time                    1 / time
mean_follow_up  mean follow-up of a patient                                   time
h               horizon: a time at which the overall risk is estimated        time
==============  ============================================================  ========

References
----------
Riley RD, Snell KIE, Ensor J, et al. Minimum sample size for developing a multivariable prediction model: Part II,
binary and time-to-event outcomes. Stat Med 2019;38:1276-96.
Riley RD, Ensor J, Snell KIE, et al. Calculating the sample size required for developing a clinical prediction model.
BMJ 2020;368:m441.
van der Ploeg T, Austin PC, Steyerberg EW. Modern modelling techniques are data hungry. BMC Med Res Methodol 2014;14:137
(support vector machines, forests and networks need ten or more times the patients of a regression).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from autoprog.cohort.cohort import Cohort
from autoprog.cohort.follow_up import follow_up
from autoprog.cohort.schema import Feature
from autoprog.cohort.validation_size import normal_predictor, validation_minimum, validation_minimum_of_times
from autoprog.cohort.windows import WindowSchema

ANTICIPATED_NAGELKERKE_R2 = 0.15
"""Anticipated R^2 that BMJ 2020;368:m441 advises if the performance of earlier models is unknown."""

Verdict = Literal["insufficient", "sufficient_for_regression", "sufficient"]

_FLEXIBLE = 10  # times the patients of a regression, at least, for flexible learners
_SHRINKAGE = 0.9
_OPTIMISM = 0.05  # of Nagelkerke's R^2
_MARGIN = 0.05  # of the estimated overall risk
_Z = 1.96
_ROUNDING = 1e-9  # phi of a cohort in which all have the event may exceed 1 by this


@dataclass(frozen=True, slots=True)
class SampleSize:
    """Comparison of a cohort's size with the minima for its candidate predictors.

    Attributes
    ----------
    n_parameters : int
        Candidate predictor parameters: columns of the design matrix, in mode `temporal` those of the windows.
    riley_minimum : int
        Patients that a regression with these candidate predictors needs.
    flexible_minimum : int
        Patients below which forests, boosting and networks are unstable: ten times `riley_minimum`, possibly more.
    validation_minimum : int
        Patients from another place or a later time that an external validation needs.
    events_per_predictor : float
        Patients with the outcome per candidate predictor parameter.
    verdict : {"insufficient", "sufficient_for_regression", "sufficient"}
        Whether the cohort has fewer patients than `riley_minimum`, than `flexible_minimum`, or enough for both.
    """

    n_parameters: int
    riley_minimum: int
    flexible_minimum: int
    validation_minimum: int
    events_per_predictor: float
    verdict: Verdict


def sample_size(cohort: Cohort) -> SampleSize:
    """Compare a cohort with the minimum sample sizes for its features.

    Parameters
    ----------
    cohort : Cohort
        Its features are the candidate predictors, in mode `temporal` those of the windows. Patients are counted, not
        visits, and followed up from the first visit. The anticipated Nagelkerke R^2 is 0.15.

    Returns
    -------
    SampleSize
        The minima and the verdict.
    """
    features = cohort.features if cohort.visits is None else WindowSchema.of(cohort).windowed
    p = max(n_parameters(features), 1)
    followed, n = follow_up(cohort), cohort.n_patients
    if followed is None:
        n_events = n_with_outcome(cohort)
        phi = cohort.event_rate
        minimum = riley_minimum(p, phi)
        elsewhere = validation_minimum(*normal_predictor(phi, ANTICIPATED_NAGELKERKE_R2 * max_cox_snell_r2(phi)))
    else:
        n_events = next(iter(followed.events.values()))
        rate, mean_follow_up = n_events / followed.person_time, followed.person_time / n
        minimum = riley_minimum_of_times(p, rate, mean_follow_up, cohort.horizons)
        r2 = ANTICIPATED_NAGELKERKE_R2 * max_cox_snell_r2_of_times(rate * mean_follow_up)
        elsewhere = validation_minimum_of_times(r2, rate, mean_follow_up, cohort.horizons)
    flexible = _FLEXIBLE * minimum
    verdict: Verdict = "sufficient" if n >= flexible else "sufficient_for_regression"
    return SampleSize(
        n_parameters=p,
        riley_minimum=minimum,
        flexible_minimum=flexible,
        validation_minimum=elsewhere,
        events_per_predictor=n_events / p,
        verdict=verdict if n >= minimum else "insufficient",
    )


def n_with_outcome(cohort: Cohort) -> int:
    """Number of patients with the outcome, in mode `temporal` at any visit."""
    with_outcome = cohort.y == 1
    return int(with_outcome.sum()) if cohort.visits is None else len(np.unique(cohort.visits.patient[with_outcome]))


def n_parameters(features: tuple[Feature, ...]) -> int:
    """Number of design columns: one per feature, for a categorical one its levels without the reference."""
    return sum(max(len(f.levels) - 1, 0) if f.kind == "categorical" else 1 for f in features)


def riley_minimum(p: int, phi: float, r2: float | None = None) -> int:
    """Minimum number of patients for a model of a binary outcome.

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
    BMJ 2020;368:m441, steps 1, 3 and 4. Step 2, the mean error of the risks, is stated for at most 30 parameters and
    left out, as in the authors' pmsampsize.
    """
    if p < 1 or not 0 < phi < 1:
        msg = f"riley_minimum needs p >= 1 and 0 < phi < 1, got p={p}, phi={phi}"
        raise ValueError(msg)
    by_model = _patients_for_model(p, max_cox_snell_r2(phi), r2)
    by_overall_risk = math.ceil((_Z / _MARGIN) ** 2 * phi * (1 - phi))
    return max(by_model, by_overall_risk)


def riley_minimum_of_times(
    p: int, rate: float, mean_follow_up: float, horizons: Sequence[float], r2: float | None = None
) -> int:
    """Minimum number of patients for a model of a time to an event; competing events count as censorings.

    Parameters
    ----------
    p : int
        Candidate predictor parameters, at least 1.
    rate : float
        Events of interest per unit of person-time, above 0.
    mean_follow_up : float
        Mean follow-up of a patient, above 0; `rate` times it, the share of patients with the event, is at most 1.
    horizons : sequence of float
        Times at which the overall risk is estimated, above 0.
    r2 : float, optional
        Anticipated Cox-Snell R^2 of the model, in (0, r2_max); by default 0.15 of its maximum.

    Returns
    -------
    int
        The largest of three minima: expected shrinkage of at least 0.9; optimism of at most 0.05 in Nagelkerke's R^2;
        overall risk, under a constant rate, estimated within 0.05 at each horizon.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    References
    ----------
    Stat Med 2019;38:1276-96, sections 3.1 to 3.3, and equation 23 with the likelihood of a constant rate, as in the
    authors' pmsampsize.
    """
    phi = rate * mean_follow_up
    if p < 1 or not (rate > 0 and mean_follow_up > 0 and phi <= 1 + _ROUNDING) or min(horizons, default=0) <= 0:
        msg = (
            "riley_minimum_of_times needs p >= 1, rate > 0, mean_follow_up > 0, their product <= 1, horizons > 0; "
            f"got p={p}, rate={rate}, mean_follow_up={mean_follow_up}, horizons={tuple(horizons)}"
        )
        raise ValueError(msg)
    r2_max = max_cox_snell_r2_of_times(phi)
    by_model = _patients_for_model(p, r2_max, r2)
    # the lower half of the interval for the risk 1 - exp(-rate * horizon) is the wider one
    units = [h / mean_follow_up for h in horizons]  # in mean follow-ups, so that the rate is phi
    errors = [math.log1p(_MARGIN * math.exp(min(phi * h, 700))) / h for h in units]
    by_overall_risk = math.ceil(max((_Z / error) ** 2 * phi for error in errors))
    return max(by_model, by_overall_risk)


def _patients_for_model(p: int, r2_max: float, r2: float | None) -> int:
    """Larger of the minima by shrinkage and by optimism."""
    r2 = ANTICIPATED_NAGELKERKE_R2 * r2_max if r2 is None else r2
    if not 0 < r2 < min(r2_max, _SHRINKAGE):
        msg = f"r2 must be in (0, {min(r2_max, _SHRINKAGE):.3g}), got {r2}"
        raise ValueError(msg)
    by_shrinkage = _patients_for_shrinkage(p, r2, _SHRINKAGE)
    return max(by_shrinkage, _patients_for_shrinkage(p, r2, r2 / (r2 + _OPTIMISM * r2_max)))


def max_cox_snell_r2(phi: float) -> float:
    """Maximum Cox-Snell R^2 at a share phi in (0, 1), at most 0.75 (Stat Med 2019;38:1276-96, equation 23)."""
    return 1 - math.exp(2 * (phi * math.log(phi) + (1 - phi) * math.log(1 - phi)))


def max_cox_snell_r2_of_times(phi: float) -> float:
    """Maximum Cox-Snell R^2 for a time to an event, by the likelihood of a constant rate; phi in (0, 1]."""
    return 1 - math.exp(2 * (phi * math.log(phi) - phi))


def _patients_for_shrinkage(p: int, r2: float, shrinkage: float) -> int:
    return math.ceil(p / ((shrinkage - 1) * math.log(1 - r2 / shrinkage)))
