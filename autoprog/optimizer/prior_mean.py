"""The prior mean of gains: results of earlier cohorts, as far as this cohort agrees.

======  ==================================================================================  ==============  =====
symbol  meaning                                                                             shape           unit
======  ==================================================================================  ==============  =====
Phi     which algorithms, and where on the axes of their hyperparameters: `basis`           (p, n_terms)    1
mu      offsets of these terms, 0 where nothing is known                                    (n_terms,)      1
m(x)    Phi mu, less the mean over the observed                                             (p,)            1
y       standardised gains of the n observations                                            (n,)            1
b       how far the cohort agrees, in [0, 2]                                                scalar          1
======  ==================================================================================  ==============  =====

    b = clip((m'y + 5 b_0) / (m'm + 5), 0, 2),   b_0 = 1

This is the regression of y on m, shrunk to b_0 with the weight of five observations of unit offset. So the trend fades
where the cohort disagrees, and the process explains the rest. Over the pools of 22 studies, the regression on what the
other studies taught was 1.4 (sd 0.4), since averages of shrunken effects are too small. The residual variance of y was
0.65, hence the weight.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.encoding import Encoding, Points
from autoprog.optimizer.main_effects import basis, term_names

_EXPECTED, _EXPECTED_WEIGHT, _MOST = 1.0, 5.0, 2.0


class PriorMean:
    """The prior mean b m(x) of a space, from offsets by term name and observed standardised gains of mean 0."""

    def __init__(
        self, encoding: Encoding, offsets: Mapping[str, float], points: Points, y: NDArray[np.float64]
    ) -> None:
        self._encoding = encoding
        self._offsets = np.array([offsets.get(name, 0.0) for name in term_names(encoding)])
        sums = self._sums(points)
        self._centre = float(np.mean(sums))
        m = sums - self._centre
        b = (m @ y + _EXPECTED_WEIGHT * _EXPECTED) / (m @ m + _EXPECTED_WEIGHT)
        self.agreement = float(np.clip(b, 0.0, _MOST)) if self._offsets.any() else 0.0

    def at(self, points: Points) -> NDArray[np.float64]:
        """Expected standardised gains, shape = (p,)."""
        expected: NDArray[np.float64] = self.agreement * (self._sums(points) - self._centre)
        return expected

    @property
    def level(self) -> float:
        """Constant that `at` adds to `parts`: -b times the mean of Phi mu over the observed."""
        return -self.agreement * self._centre

    def parts(self, points: Points) -> NDArray[np.float64]:
        """b Phi mu, shape = (p,), a sum over algorithms; points may hold only some of a pipeline's."""
        parts: NDArray[np.float64] = self.agreement * self._sums(points)
        return parts

    def slopes(self, points: Points) -> NDArray[np.float64]:
        """Derivatives of `parts` by the hyperparameters on their axes, shape = (p, n_hyper)."""
        n_hyper = points.units.shape[1]
        if not self._offsets.any():
            return np.zeros_like(points.units)
        slope, bend = self._offsets[-2 * n_hyper : -n_hyper], self._offsets[len(self._offsets) - n_hyper :]
        on = points.used[:, self._encoding.owner]
        by_units: NDArray[np.float64] = self.agreement * on * (2.0 * slope + 6.0 * (2.0 * points.units - 1.0) * bend)
        return by_units

    def _sums(self, points: Points) -> NDArray[np.float64]:
        if not self._offsets.any():
            return np.zeros(len(points))
        sums: NDArray[np.float64] = basis(self._encoding, points) @ self._offsets
        return sums
