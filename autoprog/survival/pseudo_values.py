"""Pseudo-values of the cumulative incidence: the contribution of each patient, censored or not, to the estimate.

    s       distinct times                                                                  (m,)    time
    d_k, d  patients who fail at s by cause k, by any cause                                 (m,)    count
    r       patients at risk at s                                                           (m,)    count
    S, F    Aalen-Johansen estimates of survival and of cause k, of all n patients          (m,)    [0, 1]
    S', F'  the same with one less at risk at every s and all failures kept                 (m,)    [0, 1]
    F_-i    estimate of F(h) without patient i                                              (n,)    [0, 1]
    theta   pseudo-values, n F(h) - (n - 1) F_-i                                            (n, H)  real

Without patient i, one patient less is at risk up to T = T_i, and one less fails or is censored at T; nothing changes
later:

    F_-i(h) = F'(T-) + S'(T-) [d_k(T) - 1{i fails by k}]/(r(T) - 1) + S_-i(T) [F(h) - F(T)]/S(T)      T <= h
    F_-i(h) = F'(h)                                                                                   T >  h
    S_-i(T) = S'(T-) [1 - (d(T) - 1{i fails})/(r(T) - 1)]

All patients take a few cumulative sums, while leaving each out in turn takes n estimates.

Regression of pseudo-values with a complementary log-log link.

    theta   pseudo-values                                                                   (n,)    real
    x       cloglog(p) = log(-log(1 - p)) of risks p                                        (n,)    real
    Z       design matrix                                                                   (n, k)  -
    o       known part of the linear predictor                                              (n,)    real
    mu      mean, 1 - exp(-exp(Z beta + o))                                                 (n,)    [0, 1]
    D       derivative of mu by beta                                                        (n, k)  -

    beta solves  D' (theta - mu) = 0,   the estimating equations of independent normal errors;
    its covariance is the sandwich  (D'D)^-1 D' diag((theta - mu)^2) D (D'D)^-1

The sandwich takes pseudo-values as independent. They are not quite, which makes it slightly too wide.

References
----------
Andersen, Klein & Rosthoj 2003, Biometrika 90:15; Andersen & Pohar Perme 2010, Stat Methods Med Res 19:71.
Andersen, Klein & Rosthoj 2003, Biometrika 90:15; Overgaard, Parner & Pedersen 2017, Ann Stat 45:1988.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult, least_squares

from autoprog.survival.aalen_johansen import estimate
from autoprog.survival.clusters import sandwich
from autoprog.survival.outcomes import OutcomeError, check_outcomes
from autoprog.survival.partial_likelihood import RiskSets, Timeline

_Floats = NDArray[np.float64]


def pseudo_values(time: ArrayLike, event: ArrayLike, horizons: ArrayLike, cause: int = 1) -> NDArray[np.float64]:
    """Jackknife pseudo-values of the cumulative incidence of a cause.

    Parameters
    ----------
    time, event : array-like, shape = (n,), times and codes, 0 for censored, of at least two patients
    horizons : array-like, shape = (H,), times within the follow-up
    cause : int
        Code of the event.

    Returns
    -------
    ndarray, shape = (n, H)
        Without censoring 1 for those with the event by the horizon and 0 for all others; with it, values below 0 and
        above 1 occur. Their mean is the estimate of all patients up to order 1/n. A regression on them estimates that
        of the event only if censoring does not depend on the covariates.

    Raises
    ------
    OutcomeError
        If times or codes are invalid, or there is only one patient.
    """
    t, codes = check_outcomes(time, event)
    n = len(t)
    if n < 2:
        msg = "pseudo-values need two patients or more"
        raise OutcomeError(msg)
    h = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    timeline = Timeline(t, codes, max(cause, int(codes.max())))
    left_out = _LeftOut(timeline.risk_sets(), cause)
    theta = np.empty((n, len(h)))
    for j, horizon in enumerate(h):
        whole, without = left_out.incidence(float(horizon))
        # A patient's pseudo-value depends only on the time and on whether, and by which cause, the patient failed.
        role = np.where(codes == cause, 2, np.minimum(codes, 1))
        theta[:, j] = n * whole - (n - 1) * without[role, timeline.position]
    return theta


class _LeftOut:
    """Estimates without one patient per time, in each role: censored (0), failed by another cause (1) or by k (2)."""

    def __init__(self, sets: RiskSets, cause: int) -> None:
        d, d_k = sets.events.sum(axis=0), sets.events[cause - 1]
        others = sets.at_risk - 1
        self._times = sets.times
        whole = estimate(sets)
        self._F = whole.incidence(cause).values
        S = whole.survival.values

        def share(part: _Floats) -> _Floats:
            return np.divide(part, others, out=np.zeros_like(part), where=others > 0)

        # Where all at risk fail, nobody has a later time and could be the patient left out.
        S_prime = np.cumprod(np.where(sets.left > 0, 1 - share(d), 0.0))
        S_prime_left = np.concatenate([[1.0], S_prime[:-1]])
        self._F_prime = np.cumsum(S_prime_left * share(d_k))
        self._before = np.concatenate([[0.0], self._F_prime[:-1]])
        self._at = np.stack([S_prime_left * share(d_k - (role == 2)) for role in range(3)])
        survive = np.stack([S_prime_left * (1 - share(d - (role > 0))) for role in range(3)])
        self._carry = np.divide(survive, S, out=np.zeros_like(survive), where=S > 0)

    def incidence(self, horizon: float) -> tuple[float, NDArray[np.float64]]:
        """F(h) of all patients, and without one of each role and time, shape = (3, m)."""
        last = int(np.searchsorted(self._times, horizon, side="right")) - 1
        if last < 0:
            return 0.0, np.zeros_like(self._at)
        F_h = float(self._F[last])
        without = self._before + self._at + self._carry * (F_h - self._F)
        without[:, last + 1 :] = self._F_prime[last]
        return F_h, without


EPSILON = 1e-6  # a risk of 0 or 1 has no complementary log-log
_LARGEST = 30.0  # exp(-exp(30)) is 0, exp(exp(700)) overflows
_TOLERANCE = 1e-12
_SAME = 1e-6  # relative difference of two sums of squares at one minimum
_LINE = 2  # columns of a line


def cloglog(p: NDArray[np.floating]) -> NDArray[np.float64]:
    """Complementary log-log of risks in [0, 1], clipped to [1e-6, 1 - 1e-6]; same shape."""
    return np.asarray(np.log(-np.log1p(-np.clip(np.asarray(p, dtype=np.float64), EPSILON, 1 - EPSILON))))


def inverse_cloglog(eta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Risks 1 - exp(-exp(eta)); same shape."""
    return np.asarray(-np.expm1(-np.exp(np.minimum(eta, _LARGEST))))


def fit_cloglog(
    theta: _Floats, Z: _Floats, offset: _Floats, start: _Floats, groups: NDArray[np.integer] | None = None
) -> tuple[_Floats, _Floats]:
    """Estimate beta (k,) and its covariance (k, k) in cloglog E(theta) = Z beta + offset; Z must have full rank."""

    fit = _least_squares(theta, Z, offset, start)
    D = _derivative(fit.x, Z, offset)
    bread = np.linalg.pinv(D.T @ D)
    scores = D * fit.fun[:, None]
    return np.asarray(fit.x), sandwich(bread, scores, groups)


def _least_squares(theta: _Floats, Z: _Floats, offset: _Floats, start: _Floats) -> OptimizeResult:
    """Least squares over beta: of some starts, the first that leads to the smallest sum."""
    # The squares have other stationary points far away, to which a start leads where the risks are far off. A mean for
    # all and, for a spline, the best line lead elsewhere.
    starts = [start, np.zeros(len(start))]
    starts[1][0] = cloglog(theta.mean(keepdims=True))[0] - np.median(offset)
    if len(start) > _LINE:
        line = _least_squares(theta, Z[:, :_LINE], offset, start[:_LINE])
        starts.append(np.append(line.x, np.zeros(len(start) - _LINE)))
    fits = [
        least_squares(
            lambda beta: inverse_cloglog(Z @ beta + offset) - theta,
            each,
            jac=lambda beta: _derivative(beta, Z, offset),
            method="lm",
            xtol=_TOLERANCE,
            ftol=_TOLERANCE,
            gtol=_TOLERANCE,
        )
        for each in starts
    ]
    least = np.nanmin([fit.cost for fit in fits])
    return next(fit for fit in fits if fit.cost <= least * (1 + _SAME))


def _derivative(beta: _Floats, Z: _Floats, offset: _Floats) -> _Floats:
    """D at beta."""
    eta = np.minimum(Z @ beta + offset, _LARGEST)
    return np.asarray(Z * np.exp(eta - np.exp(eta))[:, None])
