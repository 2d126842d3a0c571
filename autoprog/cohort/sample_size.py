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

Number of patients for external validation of a prognostic model: Riley's criteria by the width of intervals.

=========  ==========================================================================================  ===============
symbol     meaning                                                                                     range
=========  ==========================================================================================  ===============
phi        share of patients with the outcome                                                          (0, 1)
eta        linear predictor: log odds of the predicted risk, assumed to be calibrated                  real
p          1 / (1 + exp(-eta))                                                                         (0, 1)
I          information of a patient on intercept and slope: E p (1 - p) (1, eta)'(1, eta)              (2, 2)
C          probability that of two patients the one with the outcome has the larger eta                [1/2, 1)
r2         anticipated Cox-Snell R^2                                                                   (0, r2_max)
rate, h    events per unit of person-time; a horizon                                                   1 / time, time
=========  ==========================================================================================  ===============

The minimum makes the 95 % intervals at most 0.2 wide for observed over expected outcomes and for the calibration slope,
and 0.1 for C, the defaults of the authors' pmvalsampsize. For event times, C is left out; the slope's information is
that of the likelihood ratio, -ln(1 - r2) per patient, and observed over expected is taken at the most demanding
horizon, under a constant rate.

References
----------
Riley RD, Snell KIE, Ensor J, et al. Minimum sample size for developing a multivariable prediction model: Part II,
binary and time-to-event outcomes. Stat Med 2019;38:1276-96.
Riley RD, Ensor J, Snell KIE, et al. Calculating the sample size required for developing a clinical prediction model.
BMJ 2020;368:m441.
van der Ploeg T, Austin PC, Steyerberg EW. Modern modelling techniques are data hungry. BMC Med Res Methodol 2014;14:137
(support vector machines, forests and networks need ten or more times the patients of a regression).
Riley RD, Debray TPA, Collins GS, et al. Minimum sample size for external validation of a clinical prediction model with
a binary outcome. Stat Med 2021;40:4230-51. Riley RD, Collins GS, Ensor J, et al. Minimum sample size calculations for
external validation of a clinical prediction model with a time-to-event outcome. Stat Med 2022;41:1280-95. Riley RD,
Snell KIE, Archer L, et al. Evaluation of clinical prediction models (part 3). BMJ 2024;384:e074821.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from autoprog.cohort.cohort import Cohort
from autoprog.cohort.follow_up import follow_up
from autoprog.cohort.schema import Feature
from autoprog.cohort.windows import WindowSchema

_WIDTH, _WIDTH_OF_C = 0.2, 0.1
_MOST = 10**12

_Floats = NDArray[np.float64]

# Standard normal distribution on a grid fine enough for six digits.
_GRID = np.linspace(-8.0, 8.0, 1601)
_LAW = np.exp(-(_GRID**2) / 2) / np.exp(-(_GRID**2) / 2).sum()


def validation_minimum(eta: _Floats, weight: _Floats) -> int:
    """Minimum number of patients for a binary outcome; `eta`, not all equal, has probabilities `weight` (sum 1)."""
    phi = float(weight @ expit(eta))
    by_c = patients_by_c(phi, concordance(eta, weight))
    return max(patients_by_expected_observed(phi), patients_by_slope(eta, weight), by_c)


def validation_minimum_of_times(r2: float, rate: float, mean_follow_up: float, horizons: Sequence[float]) -> int:
    """Minimum number of patients for a time to an event; every argument is above 0, and `r2` below 1."""
    by_slope = 1 / (-math.log1p(-r2) * _standard_error(_WIDTH) ** 2)
    events = max((_relative_error(rate * h) / _standard_error_of_ratio()) ** 2 for h in horizons)
    return max(math.ceil(by_slope), math.ceil(events / (rate * mean_follow_up)))


def patients_by_expected_observed(phi: float, width: float = _WIDTH) -> int:
    """Number of patients at which the interval of observed over expected outcomes has this width, for a ratio of 1."""
    return math.ceil((1 - phi) / (phi * _standard_error_of_ratio(width) ** 2))


def patients_by_slope(eta: _Floats, weight: _Floats, width: float = _WIDTH) -> int:
    """Number of patients at which the interval of the calibration slope has this width, for a slope of 1."""
    p = expit(eta)
    a, b, c = (float(weight @ (p * (1 - p) * eta**k)) for k in (0, 1, 2))
    return math.ceil(a / (a * c - b * b) / _standard_error(width) ** 2)


def patients_by_c(phi: float, c: float, width: float = _WIDTH_OF_C) -> int:
    """Number of patients at which the 95 % interval of C in [0.5, 1) has this width; uses Newcombe's standard error."""

    def variance(n: float) -> float:
        pairs = 1 + (n / 2 - 1) * ((1 - c) / (2 - c) + c / (1 + c))
        return c * (1 - c) * pairs / (n * n * phi * (1 - phi))

    target = _standard_error(width) ** 2
    n: float = brentq(lambda n: variance(n) - target, 2.0, _MOST, xtol=0.01)
    return math.ceil(n)


def concordance(eta: _Floats, weight: _Floats) -> float:
    """C of a calibrated model with these linear predictors and their probabilities."""
    order = np.argsort(eta)
    p, w = expit(eta[order]), weight[order]
    with_outcome, without = w * p, w * (1 - p)
    below = np.cumsum(without) - without / 2
    return float((with_outcome @ below) / (with_outcome.sum() * without.sum()))


def normal_predictor(phi: float, r2: float) -> tuple[_Floats, _Floats]:
    """Values and probabilities of a calibrated, normal linear predictor; `phi` in (0, 1), `r2` in (0, r2_max)."""

    def shifted(sd: float) -> _Floats:
        def excess(mean: float) -> float:
            return float(_LAW @ expit(mean + sd * _GRID)) - phi

        eta: _Floats = brentq(excess, -50 - 8 * sd, 50 + 8 * sd) + sd * _GRID
        return eta

    def explained(sd: float) -> float:
        """Cox and Snell's R^2 by the expected log likelihood."""
        eta = shifted(sd)
        p = expit(eta)
        likelihood = float(_LAW @ (p * eta - np.logaddexp(0, eta)))
        nothing = phi * math.log(phi) + (1 - phi) * math.log(1 - phi)
        return 1 - math.exp(2 * (nothing - likelihood))

    sd = brentq(lambda s: explained(s) - r2, 1e-3, 30.0)
    return shifted(sd), _LAW


def _standard_error(width: float) -> float:
    return width / (2 * _Z)


def _standard_error_of_ratio(width: float = _WIDTH) -> float:
    """Standard error of the log ratio for which the interval from exp(-z se) to exp(z se) has this width."""
    return math.asinh(width / 2) / _Z


def _relative_error(hazard: float) -> float:
    """Standard error of ln(1 - exp(-hazard)) if the rate is estimated from one event."""
    return hazard / math.expm1(hazard) if hazard < 700 else 0.0


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
        Patients with the rarer outcome, or with the event of interest, per candidate predictor parameter.
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
        visits, and followed up from the first visit; weights count as 1. The anticipated Nagelkerke R^2 is 0.15.

    Returns
    -------
    SampleSize
        The minima and the verdict.
    """
    cohort = cohort.unweighted
    features = cohort.features if cohort.visits is None else WindowSchema.of(cohort).windowed
    p = max(n_parameters(features), 1)
    followed, n = follow_up(cohort), cohort.n_patients
    if followed is None:
        n_events = min(_n_with(cohort, label) for label in (0, 1))
        # The formulas need a share below 1: if all patients have the outcome, half of one counts as without it.
        phi = min(_n_with(cohort, 1), n - 0.5) / n
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


def _n_with(cohort: Cohort, label: int) -> int:
    """Number of patients with a label, in mode `temporal` at any visit."""
    with_label = cohort.y == label
    return int(with_label.sum()) if cohort.visits is None else len(np.unique(cohort.visits.patient[with_label]))


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
