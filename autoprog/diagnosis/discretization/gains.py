"""The gain of a question with two answers, on a scale from 0 to 1.

========  ==========================================================================  ==========  =====
symbol    meaning                                                                     shape       unit
========  ==========================================================================  ==========  =====
J         number of groups                                                            scalar      1
w         beliefs over the groups, sum 1                                              (J,)        1
theta     P(yes | group), one column per question                                     (J, ...)    1
h(p)      binary entropy, -p log2 p - (1 - p) log2(1 - p)                             scalar      bit
lambda    base of exponential costs, above 1                                          scalar      1
alpha     1 / (1 + log2 lambda)                                                       scalar      1
========  ==========================================================================  ==========  =====

    information    I = h(sum_j w_j theta_j) - sum_j w_j h(theta_j)
    exponential    1 - (|w (1 - theta)|_alpha + |w theta|_alpha) / |w|_alpha,
                   |v|_alpha = (sum_j v_j^alpha)^(1 / alpha)
    realised       H(w) - H(w | answer), in [-log2 J, log2 J], mapped to [0, 1]
    cost-aware     (error before - error after) - lambda c, in [-1 - largest lambda c, 1], mapped to [0, 1]

With theta_j the share of a group that answers yes, 1 - I is the criterion of group identification, and the exponential
gain is 1 minus the ratio that the exponential costs minimise: thresholds are learnt by the criterion that chooses the
question.

References
----------
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459 (group identification, exponential
costs).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]


def coin_entropy(p: _Floats) -> _Floats:
    """h(p) in bits; 0 for p = 0 and 1."""
    entropy: _Floats = (entr(p) + entr(1.0 - p)) / np.log(2.0)
    return entropy


def expected_information(w: _Floats, theta: _Floats) -> _Floats:
    """I in [0, 1] bit, shape (...): expected information on the group, from w (J,) and theta (J, ...)."""
    information = coin_entropy(np.tensordot(w, theta, 1)) - np.tensordot(w, coin_entropy(theta), 1)
    return np.clip(information, 0.0, 1.0)  # rounding can leave -1e-17


def exponential_gain(w: _Floats, theta: _Floats, base: float) -> _Floats:
    """Exponential gain in [0, 1), shape (...), from w (J,), theta (J, ...) and a finite base above 1 (lambda)."""
    if not (np.isfinite(base) and base > 1):
        raise InvalidInputError([Fault("/base", f"must be finite and above 1, not {base}")])
    alpha = 1.0 / (1.0 + np.log2(base))
    columns = w.reshape(-1, *[1] * (theta.ndim - 1))
    whole = _log_norm(w, alpha)
    children = np.logaddexp(_log_norm(columns * (1.0 - theta), alpha), _log_norm(columns * theta, alpha))
    return np.clip(-np.expm1(children - whole), 0.0, 1.0)


def _log_norm(v: _Floats, alpha: float) -> _Floats:
    """Logarithm of |v|_alpha along the first axis; -inf where v is 0."""
    with np.errstate(divide="ignore"):
        norm: _Floats = np.logaddexp.reduce(alpha * np.log(v), axis=0) / alpha
    return norm


def realised_gain(before: _Floats, after: _Floats) -> float:
    """Fall of the entropy from `before` to `after`, both (J,), mapped to [0, 1]; 1/2 for no fall or a single group."""
    most = np.log2(len(before))
    if most == 0:
        return 0.5
    return float((_entropy(before) - _entropy(after) + most) / (2 * most))


def _entropy(w: _Floats) -> float:
    return float(entr(w).sum() / np.log(2.0))


def cost_aware_gain(error_before: float, error_after: float, scaled_cost: float, largest_cost: float) -> float:
    """Fall of the error by a test minus its cost, mapped to [0, 1]; needs labels.

    Parameters
    ----------
    error_before, error_after : float
        Error, or its rate, without and with the test, in [0, 1].
    scaled_cost, largest_cost : float
        lambda c of this test and of the dearest one; finite, at least 0.

    Returns
    -------
    float
        (Delta + 1 + largest) / (2 + largest), Delta = error before - error after - lambda c.

    Raises
    ------
    InvalidInputError
        If a value is outside its range.
    """
    faults: list[Fault] = []
    for name, error in (("error_before", error_before), ("error_after", error_after)):
        if not 0 <= error <= 1:
            faults.append(Fault(f"/{name}", f"must lie in [0, 1], not {error}"))
    if not (np.isfinite(largest_cost) and largest_cost >= 0):
        faults.append(Fault("/largest_cost", f"must be finite and at least 0, not {largest_cost}"))
    elif not 0 <= scaled_cost <= largest_cost:
        faults.append(Fault("/scaled_cost", f"must lie between 0 and the largest, {largest_cost}, not {scaled_cost}"))
    if faults:
        raise InvalidInputError(faults)
    # the same map for all tests: one that depended on the test's own cost would cancel it
    delta = error_before - error_after - scaled_cost
    return float((delta + 1.0 + largest_cost) / (2.0 + largest_cost))
