"""Interval of one patient's risk: how far it would move had the model been fitted to other patients.

    p_k      risks of member k of the ensemble                                         (t, n)
    w        weights of the members, summing to 1                                      (t,)
    q        their average, cut to [c, 1 - c], c = 1 / (2 n)                           (n,)
    x        logit(q)                                                                  (n,)
    a, b     recalibration: log odds of the risk = a + b x; Sigma its covariance       (2, 2)
    s        q (1 - q), by which variances of risks become variances of log odds       (n,)
    u        variance of the average, E (q* - q)^2 / s^2, where q* is that of the same members with the same weights,
             all fitted to one bootstrap sample                                        (n,)
    v_b      variance between members, sum_k w_k (p_k - q)^2 / s^2                     (n,)
    h        leverage                                                                  (n,)
    A        covariates x, x^2, log(v_b + 1/1000), log(1 + h), standardised            (n, 4)
    beta     log u = beta_0 + A beta                                                   (4,)

    v = b^2 tau^2 + kappa^2 (b^2 u + (1, x) Sigma (1, x)')        interval = expit(a + b x -+ z sqrt(v))

No refit is needed for a new patient: u is learnt, as a function of A, from the patients whom a resample left out. There
q is the out-of-fold risk, since the members have seen the patient; F folds add about 1 / (F - 1) of the variance, which
is taken off.

Draws of missing values differ in their centres x by 1.2 times as much as the members say, for the same reason as kappa;
the factor was chosen on nine simulated cohorts with event times.

kappa and tau stand for what no resample shows: the bias of regularised learners, the choice of the members, which is
not repeated, and misspecification. tau is measured in every cohort (`autoprog.validation.lack_of_fit`). kappa was
chosen on simulated cohorts of 200 to 2,000 patients; it serves ensembles of many kinds and single learners.

Models from before version 0.2 keep the intervals of Bayesian model averaging, v = b^2 v_b + 1.5^2 (b^2 v_w + ...) with
v_w the mean variance of single members.

Leverage: how unusual a patient's values are among those that a model was fitted on.

    X      cohort's matrix: numbers and codes of levels, NaN is missing                   (n, n_features)
    Z      its columns, a 0/1 column a level of a categorical feature, standardised; 0 where missing   (n, d)
    C      Z'Z / n + ridge I = U diag(l) U', r largest l kept                             (d, d)
    h      leverage z' U diag(1/l) U' z, about r on average; unit 1                       (n,)

In a linear model with constant variance, the variance of a patient's linear predictor is proportional to h.

References
----------
Riley & Collins 2023, Biometrical Journal 65:2200302 (bootstrap refits); Davidian & Carroll 1987, JASA 82:1079 (a
variance as a function); Hoeting et al. 1999, Statistical Science 14:382 (v_w + v_b).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri
from sklearn.linear_model import GammaRegressor

from autoprog.cohort import Feature
from autoprog.performance import compute_logit
from autoprog.validation.feature_distribution import standardise
from autoprog.validation.recalibration import Recalibration

_RIDGE = 0.01
_MAX_DIRECTIONS = 20
_MAX_LEVELS = 20  # levels of a categorical feature with a column of their own


@dataclass(frozen=True, eq=False)
class Leverage:
    """Leverage relative to the patients that it was fitted to."""

    levels: tuple[int, ...]  # columns of each categorical feature, 0 for a feature that stays one column
    centre: _Floats  # means of the columns, (d,)
    scale: _Floats  # standard deviations of the columns, (d,)
    directions: _Floats  # diag(l)^(-1/2) U', (r, d)

    @classmethod
    def fit(cls, features: Sequence[Feature], X: _Floats) -> Self:
        """Fit to the patients X, shape = (n, n_features); keeps the 20 directions of largest variance."""
        levels = tuple(min(len(f.levels), _MAX_LEVELS) if f.kind == "categorical" else 0 for f in features)
        columns = _columns(levels, X)
        Z, centre, scale = standardise(columns)
        l, U = np.linalg.eigh(Z.T @ Z / len(Z) + _RIDGE * np.eye(Z.shape[1]))  # noqa: E741  the table's symbol
        # Rounding may leave eigenvalues below the ridge.
        directions = (U / np.sqrt(np.maximum(l, _RIDGE))).T[::-1][:_MAX_DIRECTIONS]
        return cls(levels, centre, scale, directions)

    def __call__(self, X: _Floats) -> _Floats:
        """Leverage, at least 0, of patients described by the same features."""
        columns = _columns(self.levels, X)
        Z = np.where(np.isnan(columns), 0.0, (columns - self.centre) / self.scale)
        h: _Floats = ((Z @ self.directions.T) ** 2).sum(axis=1)
        return h

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return {
            "levels": list(self.levels),
            "centre": self.centre.tolist(),
            "scale": self.scale.tolist(),
            "directions": self.directions.tolist(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote; raises KeyError, TypeError or ValueError for any other document."""
        levels = tuple(int(n) for n in document["levels"])
        centre, scale = (np.array(document[key], dtype=np.float64) for key in ("centre", "scale"))
        directions = np.array(document["directions"], dtype=np.float64).reshape(-1, len(centre))
        if len(centre) != sum(max(1, n) for n in levels) or scale.shape != centre.shape:
            msg = "the leverage's columns do not match the features"
            raise ValueError(msg)
        return cls(levels, centre, scale, directions)


def _columns(levels: Sequence[int], X: _Floats) -> _Floats:
    blocks = []
    for x, n in zip(X.T, levels, strict=True):
        block = (x[:, None] == np.arange(n)).astype(np.float64) if n else x[:, None].astype(np.float64)
        block[np.isnan(x)] = np.nan
        blocks.append(block)
    return np.hstack(blocks)


INTERVAL_LEVEL = 0.9
"""Level of the interval of a patient's risk."""

MIN_REFITS = 5
"""Fewest refits of the ensemble from which intervals are estimated."""

WIDENING = 1.6
"""kappa; see `benchmarks/ensembles`."""

TESTED_COVERAGE = "in simulated cohorts, 87 to 95 in 100 such intervals contained the true risk"
"""Coverage measured by `benchmarks/ensembles`; see `docs/benchmarks.md`."""

_Floats = NDArray[np.float64]

# Factor of the distance of draws from their mean, of the log odds: regularised learners follow a value too little.
_UNDERSTATED = 1.2
_V_B_FLOOR = 1e-3
_SHRINKAGE = 0.01
_MIN_VARIANCE = 1e-8  # a gamma regression needs values above 0
_LEVERAGE = 3
# kappa, and the factor of v_b, of models from before version 0.2, which have no tau.
_FORMER_WIDENING, _FORMER_DISAGREEMENT = 1.5, 1.0
_BISECTIONS, _QUARTERS = 40, 4


@dataclass(frozen=True, eq=False)
class Refit:
    """Average of the ensemble's members, all fitted to one bootstrap sample; shapes (n,) or (n, n_horizons)."""

    risks: NDArray[np.floating]  # q*; NaN for patients who were drawn
    own: NDArray[np.floating]  # out-of-fold risks of the same members, averaged with the same weights; complete


@dataclass(frozen=True, eq=False)
class PatientIntervals:
    """Uncertainty of a model's risk as a function of the patient."""

    leverage: Leverage  # h
    cut: float  # c, in (0, 1/2)
    centre: _Floats  # means of the covariates, (4,)
    scale: _Floats  # standard deviations of the covariates, (4,)
    lower: _Floats  # bounds to which the standardised covariates are clipped, (4,)
    upper: _Floats  # as `lower`; the leverage has no upper bound
    intercept: float  # beta_0
    coefficients: _Floats  # beta, (4,)
    covariance: _Floats  # Sigma, (2, 2)
    lack_of_fit: float  # tau^2, at least 0
    widening: float = WIDENING  # kappa, at least 1
    disagreement: float = 0.0  # factor of v_b; 1 in models from before version 0.2

    def spread(
        self,
        X: _Floats,
        p: NDArray[np.floating],
        w: _Floats,
        averaged: NDArray[np.floating],
        recalibration: Recalibration,
    ) -> _Floats:
        """Compute the standard deviation sqrt(v) of the log odds of risks.

        Parameters
        ----------
        X : ndarray, shape = (n, n_features)
            Patients with their missing values drawn.
        p, w : ndarray, shape = (t, n) and (t,)
            Risks by each member, in [0, 1], and the members' weights.
        averaged : ndarray, shape = (n,)
            The ensemble's risks before recalibration, in [0, 1].
        recalibration : Recalibration
            The model's.

        Returns
        -------
        ndarray, shape = (n,)
            Above 0.
        """
        q = np.clip(np.asarray(averaged, dtype=np.float64), self.cut, 1 - self.cut)
        x, v_b = compute_logit(q), _between(p, w, q)
        A = (_covariates(x, v_b, self.leverage(X)) - self.centre) / self.scale
        u = np.exp(self.intercept + np.clip(A, self.lower, self.upper) @ self.coefficients)
        ones = np.column_stack([np.ones(len(x)), x])
        of_fits = recalibration.slope**2 * u + np.einsum("ij,jk,ik->i", ones, self.covariance, ones)
        of_form = self.lack_of_fit + self.disagreement * v_b
        v = recalibration.slope**2 * of_form + self.widening**2 * of_fits
        return np.asarray(np.sqrt(v), dtype=np.float64)

    def recalibrated(self, former: Recalibration, step: Recalibration, covariance: _Floats) -> Self:
        """Adapt Sigma, by the delta method, to a further recalibration `step`, whose covariance has shape (2, 2)."""
        M = np.array([[1.0, 0.0], [former.intercept, former.slope]])
        return replace(self, covariance=step.slope**2 * self.covariance + M.T @ covariance @ M)

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        arrays = ("centre", "scale", "lower", "upper", "coefficients", "covariance")
        return {
            "leverage": self.leverage.to_json(),
            "cut": self.cut,
            "intercept": self.intercept,
            "widening": self.widening,
            "lack_of_fit": self.lack_of_fit,
            "disagreement": self.disagreement,
            **{name: getattr(self, name).tolist() for name in arrays},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote; raises KeyError, TypeError or ValueError for any other document."""
        arrays = {
            name: np.array(document[name], dtype=np.float64).reshape(4)
            for name in ("centre", "scale", "lower", "upper", "coefficients")
        }
        return cls(
            leverage=Leverage.from_json(document["leverage"]),
            cut=float(document["cut"]),
            intercept=float(document["intercept"]),
            covariance=np.array(document["covariance"], dtype=np.float64).reshape(2, 2),
            widening=float(document.get("widening", _FORMER_WIDENING)),
            lack_of_fit=float(document.get("lack_of_fit", 0.0)),
            disagreement=float(document.get("disagreement", _FORMER_DISAGREEMENT)),
            **arrays,
        )


def fit_patient_intervals(  # noqa: PLR0913  what is known of the patients, and of the fits
    features: Sequence[Feature],
    X: _Floats,
    p: NDArray[np.floating],
    w: _Floats,
    averaged: NDArray[np.floating],
    refits: Sequence[Refit],
    *,
    folds: int,
    covariance: _Floats,
    lack_of_fit: float,
) -> PatientIntervals:
    """Learn the uncertainty of risks from refits of the ensemble.

    Parameters
    ----------
    features, X, p, w, averaged
        As `PatientIntervals.spread` takes them, but out of fold; `features` are the columns of X.
    refits : sequence of Refit, at least `MIN_REFITS`
        The ensemble fitted to different bootstrap samples.
    folds : int
        F, folds of the out-of-fold risks.
    covariance : ndarray, shape = (2, 2)
        Sigma, of the recalibration.
    lack_of_fit : float
        tau^2, as `autoprog.validation.lack_of_fit` estimates it, at least 0.

    Returns
    -------
    PatientIntervals
        For any patient.

    Raises
    ------
    ValueError
        If there are too few refits.
    """
    if len(refits) < MIN_REFITS:
        msg = f"{len(refits)} refits are fewer than {MIN_REFITS}"
        raise ValueError(msg)
    cut = 1 / (2 * len(X))
    q = np.clip(np.asarray(averaged, dtype=np.float64), cut, 1 - cut)
    leverage = Leverage.fit(features, X)
    raw = _covariates(compute_logit(q), _between(p, w, q), leverage(X))
    centre, scale = raw.mean(axis=0), raw.std(axis=0)
    scale[scale == 0] = 1.0
    A = (raw - centre) / scale
    u, counts = _variance(q, refits, folds)
    intercept, beta = _variance_function(A[counts > 0], u[counts > 0], counts[counts > 0])
    lower, upper = A.min(axis=0), A.max(axis=0)
    upper[_LEVERAGE] = np.finfo(np.float64).max
    return PatientIntervals(leverage, cut, centre, scale, lower, upper, intercept, beta, covariance, lack_of_fit)


def mixture_bounds(centre: _Floats, spread: _Floats) -> _Floats:
    """Compute intervals of risks, of level `INTERVAL_LEVEL`, from draws of the missing values.

    Parameters
    ----------
    centre, spread : ndarray, shape = (n_draws, ...)
        Log odds of a patient's risk by each draw, and sqrt(v), above 0; one draw if no value is missing.

    Returns
    -------
    ndarray, shape = (..., 2)
        Ends in [0, 1]: quantiles of the mixture over the draws of normal distributions of the log odds, whose centres
        are spread out by a fifth.
    """
    z = float(ndtri((1 + INTERVAL_LEVEL) / 2))
    if len(centre) == 1:
        return np.asarray(expit(np.stack([centre[0] - z * spread[0], centre[0] + z * spread[0]], axis=-1)))
    mean = centre.mean(axis=0)
    centre = mean + _UNDERSTATED * (centre - mean)
    low, high = (centre - z * spread).min(axis=0), (centre + z * spread).max(axis=0)
    ends = []
    for share in ((1 - INTERVAL_LEVEL) / 2, (1 + INTERVAL_LEVEL) / 2):
        below, above = low.copy(), high.copy()
        for _ in range(_BISECTIONS):
            middle = (below + above) / 2
            too_low = ndtr((middle - centre) / spread).mean(axis=0) < share
            below, above = np.where(too_low, middle, below), np.where(too_low, above, middle)
        ends.append(expit((below + above) / 2))
    return np.stack(ends, axis=-1)


def shares_of_variance(drawn: _Floats, centre: _Floats, spread: _Floats) -> _Floats:
    """Compute the share of the variance of a patient's log odds that knowing each missing value would remove.

    Parameters
    ----------
    drawn : ndarray, shape = (n_draws, n, n_features)
        Draws of the missing values; their number is a multiple of 4.
    centre, spread : ndarray, shape = (n_draws, n)
        As `mixture_bounds` takes them.

    Returns
    -------
    ndarray, shape = (n, n_features)
        Lower bound of the share, in [0, 1]; what correlates with the feature is counted too.
    """
    _, n, m = drawn.shape
    whole = centre.var(axis=0) + (spread**2).mean(axis=0)
    shares = np.zeros((n, m))
    # The variance between quarters of the draws, by a feature, less its part by chance. It is a lower bound: quarters
    # show .86 of a straight line's variance.
    for j in range(m):
        rows = np.flatnonzero(np.ptp(drawn[:, :, j], axis=0) > 0)
        if not len(rows):
            continue
        order = np.argsort(drawn[:, rows, j], axis=0, kind="stable")
        quarters = np.take_along_axis(centre[:, rows], order, axis=0).reshape(_QUARTERS, -1, len(rows))
        within = quarters.var(axis=1, ddof=1).mean(axis=0) / quarters.shape[1]
        between = quarters.mean(axis=1).var(axis=0) - within * (_QUARTERS - 1) / _QUARTERS
        shares[rows, j] = np.clip(between / whole[rows], 0.0, 1.0)
    return shares


def _covariates(x: _Floats, v_b: _Floats, h: _Floats) -> _Floats:
    return np.column_stack([x, x**2, np.log(v_b + _V_B_FLOOR), np.log1p(h)])


def _between(p: NDArray[np.floating], w: _Floats, q: _Floats) -> _Floats:
    return np.asarray(w @ (np.asarray(p, dtype=np.float64) - q) ** 2 / (q * (1 - q)) ** 2, dtype=np.float64)


def _variance(q: _Floats, refits: Sequence[Refit], folds: int) -> tuple[_Floats, _Floats]:
    """Mean squared deviation of each patient's log odds, and the number of deviations behind it."""
    d = np.array([np.asarray(r.risks, dtype=np.float64) - r.own for r in refits]) / (q * (1 - q))
    counts = (~np.isnan(d)).sum(axis=0).astype(np.float64)
    inflation = 1 + 1 / (folds - 1)
    u = np.nansum(d**2, axis=0) / np.maximum(counts, 1.0) / inflation
    return np.maximum(u, _MIN_VARIANCE), counts


def _variance_function(A: _Floats, v: _Floats, counts: _Floats) -> tuple[float, _Floats]:
    """Fit a gamma regression with logarithmic link: a mean of squares has the coefficient of variation of its count."""
    fit = _gamma_regression(A, v, counts)
    if fit.coef_[_LEVERAGE] >= 0:
        return float(fit.intercept_), np.asarray(fit.coef_, dtype=np.float64)
    # Uncertainty must not fall for patients unlike those that were learnt from.
    fit = _gamma_regression(np.delete(A, _LEVERAGE, axis=1), v, counts)
    return float(fit.intercept_), np.insert(np.asarray(fit.coef_, dtype=np.float64), _LEVERAGE, 0.0)


def _gamma_regression(A: _Floats, v: _Floats, counts: _Floats) -> GammaRegressor:
    # Too long a step overflows and is undone by the line search.
    with np.errstate(over="ignore", invalid="ignore"):
        return GammaRegressor(alpha=_SHRINKAGE, solver="newton-cholesky").fit(A, v, sample_weight=counts)
