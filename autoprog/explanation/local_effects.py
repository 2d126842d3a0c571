"""Accumulated local effects of numeric inputs, and mean risks by level of the others, out of fold.

    z_k      edges of K intervals that hold about as many patients each        (K + 1,)
    d_k      mean over the patients in interval k of f(z_k) - f(z_(k-1)), with all else as it is
    g_k      d_1 + ... + d_k, less its mean over the patients: the effect at z_k

f is the ensemble that was fitted without the patient's fold. Effects of numbers use no combination of values far from
the patients', which averages over all patients would; levels are exchanged in all patients. Both describe the model,
not causes.

References
----------
Apley & Zhu 2020, Journal of the Royal Statistical Society B 82:1059 (accumulated local effects); Friedman 2001, Annals
of Statistics 29:1189 (partial dependence, for levels).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature
from autoprog.endpoints import Endpoint
from autoprog.explanation.refits import Change, FoldEnsemble

_Floats = NDArray[np.float64]
N_INTERVALS = 20
MAX_LEVELS = 12
"""Levels, the most frequent first, whose risk is computed."""


@dataclass(frozen=True, slots=True)
class Effect:
    """How the risk changes with one input.

    Attributes
    ----------
    feature : str
        The input.
    kind : {"numeric", "levels"}
        Whether `at` holds numbers or levels.
    at : tuple of float or str
        Values of the input.
    n : tuple of int
        Patients in the interval that ends at each number (0 for the first), or with each level.
    change : tuple of tuple of float
        Risk less the patients' mean risk, in [-1, 1], by value and horizon.
    """

    feature: str
    kind: Literal["numeric", "levels"]
    at: tuple[float, ...] | tuple[str, ...]
    n: tuple[int, ...]
    change: tuple[tuple[float, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {
            "feature": self.feature,
            "kind": self.kind,
            "at": list(self.at),
            "n": list(self.n),
            "change": [list(each) for each in self.change],
        }


class EffectSums:
    """Sums over folds of the differences of one input's column."""

    def __init__(self, feature: Feature, column: int, x: _Floats, endpoint: Endpoint) -> None:
        self._at_horizons, n_horizons = endpoint.at_horizons, len(endpoint.horizons)
        self._feature, self._column = feature, column
        known = x[~np.isnan(x)]
        if not len(known):
            self._at = known
        elif feature.kind == "numeric":
            # Quantiles that are values of patients, so that no effect is of a value that nobody has.
            self._at = np.unique(np.quantile(known, np.linspace(0, 1, N_INTERVALS + 1), method="inverted_cdf"))
        else:
            values, counts = np.unique(known, return_counts=True)
            self._at = np.sort(values[np.argsort(-counts, kind="stable")][:MAX_LEVELS])
        self._sums = np.zeros((len(self._at), n_horizons))
        self._n = np.zeros(len(self._at), dtype=np.int64)
        self._total, self._rows = np.zeros(n_horizons), 0

    def add(self, ensemble: FoldEnsemble, x: _Floats, base: _Floats) -> None:
        """Add the rows held out of a fold; `x` holds their values, `base` their risks, (n, H)."""
        self._total += base.sum(axis=0)
        self._rows += len(base)
        if len(self._at) < 2:
            return
        if self._feature.kind == "numeric":
            self._add_numbers(ensemble, x)
        else:
            self._add_levels(ensemble, x)

    def _add_numbers(self, ensemble: FoldEnsemble, x: _Floats) -> None:
        rows = np.flatnonzero(~np.isnan(x))
        if not len(rows):
            return
        k = np.clip(np.searchsorted(self._at, x[rows], side="left"), 1, len(self._at) - 1)
        high, low = (self._at_horizons(ensemble.predict(self._with(rows, self._at[at]))) for at in (k, k - 1))
        np.add.at(self._sums, k, high - low)
        self._n += np.bincount(k, minlength=len(self._at))

    def _add_levels(self, ensemble: FoldEnsemble, x: _Floats) -> None:
        every = np.arange(len(x))
        for k, value in enumerate(self._at):
            told = ensemble.predict(self._with(every, np.full(len(x), value)))
            self._sums[k] += self._at_horizons(told).sum(axis=0)
            self._n[k] += int((x == value).sum())

    def _with(self, rows: NDArray[np.intp], values: _Floats) -> Change:
        def change(X: _Floats) -> _Floats:
            changed = X[rows]
            changed[:, self._column] = values
            return changed

        return change

    def effect(self) -> Effect | None:
        """Return the effect; None if the input has at most one value."""
        if len(self._at) < 2 or not self._rows:
            return None
        if self._feature.kind != "numeric":
            change = self._sums / self._rows - self._total / self._rows
            levels = tuple(self._feature.levels[int(value)] for value in self._at)
            return Effect(self._feature.name, "levels", levels, *self._counted(change))
        steps = self._sums / np.maximum(self._n, 1)[:, None]
        g = np.cumsum(steps, axis=0)
        weights = self._n / max(1, int(self._n.sum()))
        middles = (g + np.vstack([np.zeros(g.shape[1]), g[:-1]])) / 2
        g -= weights @ middles
        return Effect(self._feature.name, "numeric", tuple(float(z) for z in self._at), *self._counted(g))

    def _counted(self, change: _Floats) -> tuple[tuple[int, ...], tuple[tuple[float, ...], ...]]:
        return tuple(int(n) for n in self._n), tuple(tuple(float(c) for c in row) for row in change)
