"""Simulated patients whose risks are known: several ways in which nature may make them.

X      eight numbers that share three latent states, the last three as 0 and 1; one category of three levels   (n, 9)
f      log odds of the risk, shifted so that the mean risk is the event rate                                   (n,)

    logistic       f linear in X
    interaction    the same and two products
    threshold      f of steps, one of them in two numbers
    rare           logistic, 8 % with the outcome in place of 35 %
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from autoprog.cohort import Binary, Cohort, Feature

TRUTHS = ("logistic", "interaction", "threshold", "rare")
SIZES = (200, 350, 600, 1_100, 2_000)

_NUMBERS, _SIGNS, _LATENT, _LEVELS = 5, 3, 3, ("a", "b", "c")
_RATES = {"rare": 0.08}
_RATE = 0.35
_MIN_OF_EACH = 10
_MANY = 50_000

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Nature:
    """One way to make patients.

    Attributes
    ----------
    truth : str
        One of `TRUTHS`.
    seed : int
        Of its coefficients.
    """

    truth: str
    seed: int

    def patients(self, n: int, rng: np.random.Generator) -> _Floats:
        """X."""
        loadings = np.random.default_rng([self.seed, 0]).normal(0, 0.5, (_LATENT, _NUMBERS + _SIGNS))
        X = rng.standard_normal((n, _LATENT)) @ loadings + 0.8 * rng.standard_normal((n, _NUMBERS + _SIGNS))
        X[:, _NUMBERS:] = X[:, _NUMBERS:] > 0.3
        return np.column_stack([X, rng.integers(len(_LEVELS), size=n)])

    def risks(self, X: _Floats) -> _Floats:
        """P(y = 1)."""
        many = self._unshifted(self.patients(_MANY, np.random.default_rng([self.seed, 1])))
        rate = _RATES.get(self.truth, _RATE)
        shift = brentq(lambda a: float(expit(a + many).mean()) - rate, -20, 20)
        return np.asarray(expit(shift + self._unshifted(X)), dtype=np.float64)

    def cohort(self, n: int, rng: np.random.Generator) -> tuple[Cohort, _Floats]:
        """Patients with outcomes, at least 10 of each, and their risks."""
        while True:
            X = self.patients(n, rng)
            p = self.risks(X)
            y = (rng.random(n) < p).astype(np.int8)
            if min(y.sum(), n - y.sum()) >= _MIN_OF_EACH:
                return Cohort(f"{self.truth} {n}", Binary("outcome", "1", "0"), _features(X), X, y), p

    def _unshifted(self, X: _Floats) -> _Floats:
        rng = np.random.default_rng([self.seed, 2])
        beta, of_level = rng.normal(0, 0.5, _NUMBERS + _SIGNS), rng.normal(0, 0.4, len(_LEVELS))
        linear = X[:, :-1] @ (beta * (np.arange(len(beta)) != 1)) + of_level[X[:, -1].astype(int)]
        if self.truth == "interaction":
            linear += 0.5 * X[:, 0] * X[:, 1] - 0.4 * X[:, 2] * X[:, 3]
        if self.truth == "threshold":
            linear = 1.2 * (X[:, 0] > 0.5) + 0.9 * (X[:, 1] > 0) * (X[:, 2] < 0) - 0.8 * (X[:, 3] > 1) + 0.5 * X[:, 5]
        return np.asarray(linear, dtype=np.float64)


def _features(X: _Floats) -> tuple[Feature, ...]:
    numbers = (
        Feature(f"number_{j}", "numeric", minimum=float(X[:, j].min()), maximum=float(X[:, j].max()))
        for j in range(_NUMBERS)
    )
    signs = (Feature(f"sign_{j}", "binary", ("0", "1")) for j in range(_SIGNS))
    return (*numbers, *signs, Feature("level", "categorical", _LEVELS))
