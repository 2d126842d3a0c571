"""Options of an online feature stream: its algorithm and parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

from autoprog.errors import Fault
from autoprog.feature_streams.family import Family

Algorithm = Literal["thompson", "random", "all", "ofs", "epsilon_greedy"]
ClassifierName = Literal["mlp", "perceptron"]
Likelihood = Literal["bernoulli", "gaussian"]

LARGEST_STEP = 1e100
"""Bound on steps: weights are sums of steps times values, and are squared."""


MIN_SD = 1e-100
"""Bound on the standard deviations of rewards: precisions are their inverse squares."""


def default_subset_size(n_features: int) -> int:
    """A tenth of the features, rounded half up, at least 1."""
    return max(1, (n_features + 5) // 10)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Algorithm and parameters of a stream.

    Attributes
    ----------
    algorithm : {"thompson", "random", "all", "ofs", "epsilon_greedy"}
        How features are chosen; `random` and `all` are baselines.
    classifier : {"mlp", "perceptron"}, of `thompson`, `random` and `all`; the other algorithms are linear
    subset_size : int or None, M; None for `default_subset_size`, or for no limit if there is a family
    step : float, eta, above 0 and below `LARGEST_STEP`
    epsilon : float in [0, 1]
        Share of rounds with random features under `ofs` and `epsilon_greedy`; above 0 for `ofs`, whose weights leave 0
        in no other way.
    cap : float, largest norm of the weights of `ofs`, above 0 and below `LARGEST_STEP`
        The published 0.1 lets every exploring round erase the past; 3.16 is somewhat better.
    truncate : bool
        Whether `epsilon_greedy` keeps only its M largest weights, as in algorithm 4; the source's text keeps all.
    prior : (float, float), of every feature's mean reward under `thompson`
        Both parameters of a Beta distribution, above 0 and below `LARGEST_STEP`, or mean and standard deviation of a
        normal one.
    likelihood : {"bernoulli", "gaussian"}, of the rewards under `thompson`
    noise : float
        Standard deviation of a reward around its mean under `gaussian`, above `MIN_SD` and below `LARGEST_STEP`.
    family : Family or None, the subsets that `thompson` may play; None for all of size M
    seed : int, seeds the initial weights and, with the number of a selection, its draws
    """

    algorithm: Algorithm = "thompson"
    classifier: ClassifierName = "mlp"
    subset_size: int | None = None
    step: float = 0.2
    epsilon: float = 0.2
    cap: float = 0.1
    truncate: bool = False
    prior: tuple[float, float] = (1.0, 1.0)
    likelihood: Likelihood = "bernoulli"
    noise: float = 0.5
    family: Family | None = None
    seed: int = 0

    def resolve_size(self, n_features: int) -> int:
        """M for a stream of this many features."""
        if self.algorithm == "all" or (self.family is not None and self.subset_size is None):
            return n_features
        return default_subset_size(n_features) if self.subset_size is None else self.subset_size

    def faults(self, n_features: int | None) -> Iterator[Fault]:
        """All faults of the options; None if the number of features is unknown."""
        if n_features is not None and n_features < 1:
            yield Fault("/features", "at least one feature is needed")
        for name, value, allowed in (
            ("algorithm", self.algorithm, get_args(Algorithm)),
            ("classifier", self.classifier, get_args(ClassifierName)),
            ("likelihood", self.likelihood, get_args(Likelihood)),
        ):
            if value not in allowed:
                yield Fault(f"/{name}", f"must be one of {', '.join(allowed)}, not {value!r}")
        most = math.inf if n_features is None else max(1, n_features)
        if self.subset_size is not None and not 1 <= self.subset_size <= most:
            features = "number of features" if n_features is None else f"{n_features} features"
            yield Fault("/subset_size", f"must be between 1 and the {features}, not {self.subset_size}")
        for name, number, least in (("step", self.step, 0.0), ("cap", self.cap, 0.0), ("noise", self.noise, MIN_SD)):
            if not least < number < LARGEST_STEP:
                yield Fault(f"/{name}", f"must be above {least:g} and below {LARGEST_STEP:g}, not {number}")
        if not 0 <= self.epsilon <= 1 or (self.algorithm == "ofs" and self.epsilon == 0):
            yield Fault("/epsilon", f"must lie in [0, 1], and above 0 for ofs, not {self.epsilon}")
        yield from self._prior_faults()
        if self.family is not None and self.algorithm != "thompson":
            yield Fault("/algorithm", f"only thompson keeps to groups, subsets and costs, not {self.algorithm}")

    def _prior_faults(self) -> Iterator[Fault]:
        first, second = self.prior
        if self.likelihood != "gaussian":
            if not all(0 < b < LARGEST_STEP for b in self.prior):
                yield Fault("/prior", f"must be two numbers above 0 and below {LARGEST_STEP:g}, not {self.prior}")
        elif not (abs(first) < LARGEST_STEP and MIN_SD < second < LARGEST_STEP):
            bounds = f"a mean below {LARGEST_STEP:g} in size, a standard deviation from {MIN_SD:g} to {LARGEST_STEP:g}"
            yield Fault("/prior", f"must be {bounds}, not {self.prior}")

    def to_json(self) -> dict[str, Any]:
        """Write the options as a JSON object."""
        return asdict(self) | {"family": None if self.family is None else self.family.to_json()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        a0, b0 = document["prior"]
        given = document.get("family")
        family = None if given is None else Family.from_json(given)
        return cls(**{**document, "prior": (a0, b0), "family": family})
