"""How many patients a prognostic model needs: Riley's minimum for a regression, and what flexible learners need.

Notation:

==============  ============================================================  ========
symbol          meaning                                                       unit
==============  ============================================================  ========
p               candidate predictor parameters: columns of the design matrix  count
phi             share of patients with the outcome                            (0, 1]
r2_max          largest Cox-Snell R^2 that a model can have at phi            (0, 1)
r2              anticipated Cox-Snell R^2 of the model                        (0, 1)
shrinkage       targeted uniform shrinkage of the coefficients, S             (0, 1)
rate            events of interest a unit of person-time                      1 / time
mean_follow_up  mean follow-up of a patient                                   time
h               horizon: a time at which the overall risk is to be known      time
==============  ============================================================  ========

References
----------
Riley RD, Snell KIE, Ensor J, et al. Minimum sample size for developing a multivariable prediction model: Part II,
binary and time-to-event outcomes. Stat Med 2019;38:1276-96.
Riley RD, Ensor J, Snell KIE, et al. Calculating the sample size required for developing a clinical prediction model.
BMJ 2020;368:m441.
van der Ploeg T, Austin PC, Steyerberg EW. Modern modelling techniques are data hungry. BMC Med Res Methodol 2014;14:137
(that support vector machines, forests and networks need ten times and more of what a regression does).
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
"""What BMJ 2020;368:m441 advises to anticipate where nothing is known of earlier models' performance."""

Verdict = Literal["insufficient", "sufficient_for_regression", "sufficient"]

# Flexible learners need at least so many times the patients of a regression.
_FLEXIBLE = 10
_SHRINKAGE = 0.9
_OPTIMISM = 0.05  # of Nagelkerke's R^2
_MARGIN = 0.05  # of the estimated overall risk
_Z = 1.96
_ROUNDING = 1e-9  # a cohort in which all have the event has a phi of 1 but for this


@dataclass(frozen=True, slots=True)
class SampleSize:
    """Whether a cohort is large enough for its candidate predictors.

    Attributes
    ----------
    n_parameters : int
        Candidate predictor parameters: columns of the design matrix, of visits those of their windows.
    riley_minimum : int
        Patients that a regression with these candidate predictors needs.
    flexible_minimum : int
        Patients below which forests, boosting and networks are bound to be unstable: ten times as many, and it may
        take more.
    validation_minimum : int
        Patients of another place, or of a later time, that a validation of the model needs.
    events_per_predictor : float
        Patients with the outcome per candidate predictor parameter.
    verdict : {"insufficient", "sufficient_for_regression", "sufficient"}
        Whether the cohort has fewer patients than the first minimum, fewer than the second, or at least that.
    """

    n_parameters: int
    riley_minimum: int
    flexible_minimum: int
    validation_minimum: int
    events_per_predictor: float
    verdict: Verdict


def sample_size(cohort: Cohort) -> SampleSize:
    """Compare a cohort with the sizes that its features ask for.

    Parameters
    ----------
    cohort : Cohort
        Its features are the candidate predictors, of visits those of their windows; Nagelkerke's R^2 is anticipated to
        be 0.15. Of visits the patients are counted, as one patient's visits are no independent evidence, and followed
        up from the first.

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
    """Number of patients with the outcome, of visits those with it at any."""
    with_outcome = cohort.y == 1
    return int(with_outcome.sum()) if cohort.visits is None else len(np.unique(cohort.visits.patient[with_outcome]))


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
    by_model = _patients_for_model(p, max_cox_snell_r2(phi), r2)
    by_overall_risk = math.ceil((_Z / _MARGIN) ** 2 * phi * (1 - phi))
    return max(by_model, by_overall_risk)


def riley_minimum_of_times(
    p: int, rate: float, mean_follow_up: float, horizons: Sequence[float], r2: float | None = None
) -> int:
    """The minimum number of patients for a model of a time to an event.

    Of competing risks the event of interest alone counts, all others being censorings: the minimum is one for a model
    of its cause-specific hazard.

    Parameters
    ----------
    p : int
        Candidate predictor parameters, at least 1.
    rate : float
        Events of interest a unit of person-time, above 0.
    mean_follow_up : float
        Mean follow-up of a patient, above 0; `rate` times it, the share of patients with the event, is at most 1.
    horizons : sequence of float
        Times at which the overall risk is to be known, above 0.
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
    Stat Med 2019;38:1276-96, sections 3.1 to 3.3, and equation 23 with the likelihood of a constant rate, as the
    authors' pmsampsize takes it.
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
    # of the interval for the risk 1 - exp(-rate * horizon) the lower half is the wider one
    units = [h / mean_follow_up for h in horizons]  # of the mean follow-up, in which the rate is phi
    errors = [math.log1p(_MARGIN * math.exp(min(phi * h, 700))) / h for h in units]
    by_overall_risk = math.ceil(max((_Z / error) ** 2 * phi for error in errors))
    return max(by_model, by_overall_risk)


def _patients_for_model(p: int, r2_max: float, r2: float | None) -> int:
    """The larger of the minima by shrinkage and by optimism."""
    r2 = ANTICIPATED_NAGELKERKE_R2 * r2_max if r2 is None else r2
    if not 0 < r2 < min(r2_max, _SHRINKAGE):
        msg = f"r2 must be in (0, {min(r2_max, _SHRINKAGE):.3g}), got {r2}"
        raise ValueError(msg)
    by_shrinkage = _patients_for_shrinkage(p, r2, _SHRINKAGE)
    return max(by_shrinkage, _patients_for_shrinkage(p, r2, r2 / (r2 + _OPTIMISM * r2_max)))


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


def max_cox_snell_r2_of_times(phi: float) -> float:
    """The same of a time to an event, by the likelihood of a constant rate.

    Parameters
    ----------
    phi : float
        Share of patients with the event, in (0, 1].

    Returns
    -------
    float
        Below 1.
    """
    return 1 - math.exp(2 * (phi * math.log(phi) - phi))


def _patients_for_shrinkage(p: int, r2: float, shrinkage: float) -> int:
    return math.ceil(p / ((shrinkage - 1) * math.log(1 - r2 / shrinkage)))
