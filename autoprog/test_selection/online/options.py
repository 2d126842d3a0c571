"""What a stream of patients is learnt by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

from autoprog.errors import Fault

Algorithm = Literal["thompson", "random", "all", "ofs", "epsilon_greedy"]
ClassifierName = Literal["mlp", "perceptron"]

LARGEST_STEP = 1e100
"""Steps are smaller: weights are sums of steps times values, and are squared."""


def default_subset_size(n_features: int) -> int:
    """A tenth of the features, rounded half up, at least 1."""
    return max(1, (n_features + 5) // 10)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Algorithm and parameters of a stream.

    Attributes
    ----------
    algorithm : {"thompson", "random", "all", "ofs", "epsilon_greedy"}
        Who chooses the features. `random` and `all` are yardsticks.
    classifier : {"mlp", "perceptron"}
        Who predicts under `thompson`, `random` and `all`; the other two are linear.
    subset_size : int or None
        M; None for `default_subset_size`.
    step : float
        eta, above 0 and below `LARGEST_STEP`.
    epsilon : float
        Share of rounds with random features under `ofs` and `epsilon_greedy`, in [0, 1]; above 0 under `ofs`, whose
        weights leave 0 by no other way.
    cap : float
        Largest norm of the weights of `ofs`, above 0 and below `LARGEST_STEP`. The published 0.1 lets every exploring
        round erase the past; 3.16 is somewhat better.
    truncate : bool
        Whether `epsilon_greedy` keeps its M largest weights only, as published.
    prior : (float, float)
        Beta prior of every feature's reward under `thompson`, above 0.
    seed : int
        Seeds the initial weights and, with the number of a selection, its draws.
    """

    algorithm: Algorithm = "thompson"
    classifier: ClassifierName = "mlp"
    subset_size: int | None = None
    step: float = 0.2
    epsilon: float = 0.2
    cap: float = 0.1
    truncate: bool = False
    prior: tuple[float, float] = (1.0, 1.0)
    seed: int = 0

    def size_of(self, n_features: int) -> int:
        """M of a stream of so many features."""
        if self.algorithm == "all":
            return n_features
        return default_subset_size(n_features) if self.subset_size is None else self.subset_size

    def faults(self, n_features: int | None) -> Iterator[Fault]:
        """What cannot be.

        Parameters
        ----------
        n_features : int or None
            Number of features, d; None where it is not known.

        Yields
        ------
        Fault
            Every one.
        """
        if n_features is not None and n_features < 1:
            yield Fault("/features", "at least one feature is needed")
        for name, value, allowed in (
            ("algorithm", self.algorithm, get_args(Algorithm)),
            ("classifier", self.classifier, get_args(ClassifierName)),
        ):
            if value not in allowed:
                yield Fault(f"/{name}", f"must be one of {', '.join(allowed)}, not {value!r}")
        most = math.inf if n_features is None else max(1, n_features)
        if self.subset_size is not None and not 1 <= self.subset_size <= most:
            features = "number of features" if n_features is None else f"{n_features} features"
            yield Fault("/subset_size", f"must be between 1 and the {features}, not {self.subset_size}")
        for name, positive in (("step", self.step), ("cap", self.cap)):
            if not 0 < positive < LARGEST_STEP:
                yield Fault(f"/{name}", f"must be above 0 and below {LARGEST_STEP:g}, not {positive}")
        if not 0 <= self.epsilon <= 1 or (self.algorithm == "ofs" and self.epsilon == 0):
            yield Fault("/epsilon", f"must lie in [0, 1], and above 0 for ofs, not {self.epsilon}")
        if not all(np.isfinite(b) and b > 0 for b in self.prior):
            yield Fault("/prior", f"must be finite and above 0, not {self.prior}")

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        a0, b0 = document["prior"]
        return cls(**{**document, "prior": (a0, b0)})
