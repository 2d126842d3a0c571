"""Standardisation of a stream of which only some features are seen at a time.

    n     how often a feature was seen             (d,)
    m     mean of its seen values                  (d,)
    s2    sum of squared deviations from it        (d,)

A value is standardised by moments that include it (Welford's recursion). A feature that was seen once or has not varied
is 0, like an unseen one.

References
----------
Welford 1962, Technometrics 4:419.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.errors import Fault, InvalidInputError
from autoprog.feature_streams.options import MIN_SD

_Floats = NDArray[np.float64]


class Standardisation(Protocol):
    """Standardise values by means and standard deviations."""

    def learn(self, seen: NDArray[np.intp], values: _Floats) -> None:
        """Update the moments with values of the features `seen`."""

    def apply(self, seen: NDArray[np.intp], values: _Floats) -> _Floats:
        """Standardise values of the features `seen`."""

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""


class RunningMoments:
    """Moments of the values seen so far, for `n_features` features."""

    def __init__(self, n_features: int) -> None:
        self.n = np.zeros(n_features, dtype=np.int64)
        self.m: _Floats = np.zeros(n_features)
        self.s2: _Floats = np.zeros(n_features)

    def learn(self, seen: NDArray[np.intp], values: _Floats) -> None:
        """Update the moments with finite values of distinct features."""
        self.n[seen] += 1
        before = values - self.m[seen]
        self.m[seen] += before / self.n[seen]
        self.s2[seen] += before * (values - self.m[seen])

    def apply(self, seen: NDArray[np.intp], values: _Floats) -> _Floats:
        """Standardise values; 0 where the feature has not varied."""
        sd = np.sqrt(self.s2[seen] / np.maximum(self.n[seen], 1))
        return _standardised(values, self.m[seen], sd)

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""
        return {"kind": "running", "n": self.n.tolist(), "m": self.m.tolist(), "s2": self.s2.tolist()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        moments = cls(len(document["n"]))
        moments.n = np.array(document["n"], dtype=np.int64)
        moments.m, moments.s2 = np.array(document["m"]), np.array(document["s2"])
        return moments


class GivenMoments:
    """Means and standard deviations known beforehand.

    Parameters
    ----------
    mean, sd : ndarray, shape = (d,)
        Finite; an sd of 0 means a constant feature, any other is above `MIN_SD`. Moments of the whole stream look
        ahead.

    Raises
    ------
    InvalidInputError
        If a value is not finite, an sd is negative or too small, or the lengths differ.
    """

    def __init__(self, mean: _Floats, sd: _Floats) -> None:
        self.mean, self.sd = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
        faults = []
        if self.mean.shape != self.sd.shape:
            faults.append(Fault("/standardisation", f"{self.mean.size} means and {self.sd.size} standard deviations"))
        if not np.isfinite(self.mean).all():
            faults.append(Fault("/standardisation/mean", "must be finite"))
        if not (np.isfinite(self.sd) & ((self.sd == 0) | (self.sd > MIN_SD))).all():
            faults.append(Fault("/standardisation/sd", f"must be finite, and 0 or above {MIN_SD:g}"))
        if faults:
            raise InvalidInputError(faults)

    @classmethod
    def of(cls, X: _Floats) -> Self:
        """Moments of a whole data set, without its missing cells."""
        return cls(np.nanmean(X, axis=0), np.nanstd(X, axis=0))

    def learn(self, seen: NDArray[np.intp], values: _Floats) -> None:
        """Do nothing: the moments are given."""

    def apply(self, seen: NDArray[np.intp], values: _Floats) -> _Floats:
        """Standardise values; 0 for a constant feature."""
        return _standardised(values, self.mean[seen], self.sd[seen])

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""
        return {"kind": "given", "mean": self.mean.tolist(), "sd": self.sd.tolist()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(np.array(document["mean"]), np.array(document["sd"]))


def _standardised(values: _Floats, mean: _Floats, sd: _Floats) -> _Floats:
    # Rounding leaves a constant column a standard deviation of about 1e-16 times its size.
    varies = sd > 1e-12 * np.abs(mean)
    z: _Floats = np.where(varies, (values - mean) / np.where(varies, sd, 1.0), 0.0)
    return z


def moments_from_json(document: Mapping[str, Any]) -> RunningMoments | GivenMoments:
    """Read the standardisation that `to_json` wrote."""
    return (RunningMoments if document["kind"] == "running" else GivenMoments).from_json(document)
