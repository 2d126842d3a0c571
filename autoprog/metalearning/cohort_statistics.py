"""The statistics that a finished search leaves to later ones: numbers about pipelines, none about a patient."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Mode
from autoprog.evaluation import History
from autoprog.metalearning.meta_features.computation import MetaFeatures
from autoprog.space import Configuration

if TYPE_CHECKING:
    from autoprog.optimizer.surrogate_state import SurrogateState


@dataclass(frozen=True, slots=True)
class AlgorithmGain:
    """Gain of a prediction algorithm over the simple pipeline of the same cohort.

    Attributes
    ----------
    algorithm : str
        Name in the stage `prediction`.
    best : float
        Posterior mean of its best evaluated pipeline less the simple pipeline's, in units of the score; more is better.
    sd : float
        Posterior standard deviation of `best`.
    n : int
        Number of its pipelines with a score, at least 1.
    """

    algorithm: str
    best: float
    sd: float
    n: int


@dataclass(frozen=True, slots=True)
class TriedConfiguration:
    """A pipeline that did well; `gain` is its posterior mean score less the simple pipeline's, more is better."""

    configuration: Configuration
    gain: float


@dataclass(frozen=True, slots=True)
class CohortStatistics:
    """The transferable statistics of one search.

    Attributes
    ----------
    cohort_id : str
        The cohort; its statistics are deleted with it.
    meta_features : MetaFeatures
        The cohort's meta-features.
    mode : str
        Mode of the outcome.
    metric : str
        `Metric.identity` of the optimised metric. Statistics of another mode or metric are not comparable.
    simple_algorithm : str
        The prediction algorithm of the simple pipeline.
    simple_score : float
        Score of the simple pipeline, in the metric's own direction.
    scale : float
        Size of one standardised unit of the surrogate, in units of the score.
    subspaces : float
        Posterior mean of M, the number of subspaces; at least 2.
    log_concentration : float
        Posterior mean of log gamma.
    log_length, log_variance, log_noise : float
        Logarithms of the kernel's length-scale, its variance and the noise variance, in standardised units.
    offsets : mapping
        Terms of `optimizer/main_effects.py` -> mu in units of the score, more is better. An observed algorithm has its
        main effect less that of the simple pipeline's algorithm in its stage; a hyperparameter has slope and bend.
    algorithms : tuple of AlgorithmGain
        The prediction algorithms that have a score, by name.
    best : tuple of TriedConfiguration
        The 10 best pipelines and the best of each of 10 prediction algorithms, best first.
    elsewhere : mapping
        `Configuration.key` of a pipeline that did well on another cohort -> posterior mean of its score here less the
        simple pipeline's, whether or not it was evaluated here.
    n_evaluations : int
        Evaluations with a score.
    shared : bool
        Whether other owners' searches may use them.
    """

    cohort_id: str
    meta_features: MetaFeatures
    mode: Mode
    metric: str
    simple_algorithm: str
    simple_score: float
    scale: float
    subspaces: float
    log_concentration: float
    log_length: float
    log_variance: float
    log_noise: float
    offsets: Mapping[str, float]
    algorithms: tuple[AlgorithmGain, ...]
    best: tuple[TriedConfiguration, ...]
    n_evaluations: int
    elsewhere: Mapping[str, float] = field(default_factory=dict)
    shared: bool = False

    @property
    def foundation(self) -> tuple[int, int]:
        """Scored prediction algorithms, and evaluations; of two searches on one cohort the greater is kept."""
        return len(self.algorithms), self.n_evaluations

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON, with meta-features by name."""
        return {
            **asdict(self),
            "meta_features": self.meta_features.to_dict(),
            "algorithms": [asdict(gain) for gain in self.algorithms],
            "best": [{"configuration": b.configuration.to_json(), "gain": b.gain} for b in self.best],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> CohortStatistics:
        """Read the document of `to_json`."""
        return cls(
            **{
                **document,
                "meta_features": MetaFeatures.of(document["meta_features"]),
                "algorithms": tuple(AlgorithmGain(**gain) for gain in document["algorithms"]),
                "best": tuple(
                    TriedConfiguration(Configuration.from_json(b["configuration"]), b["gain"]) for b in document["best"]
                ),
            }
        )


MAX_BEST = 10
"""Keep the 10 best configurations overall and the best of each of 10 prediction algorithms."""


class Gains(NamedTuple):
    """Gains over the simple pipeline; the fields are those of `CohortStatistics`."""

    scale: float
    offsets: Mapping[str, float]
    algorithms: tuple[AlgorithmGain, ...]
    best: tuple[TriedConfiguration, ...]
    elsewhere: Mapping[str, float]


def gains_over(
    simple: Configuration,
    belief: SurrogateState,
    history: History,
    references: Mapping[str, Configuration],
    check: Callable[[], None],
) -> Gains:
    """Compute the gains over the simple pipeline, which was observed, from a surrogate state with effects."""
    counts = Counter(e.configuration.prediction.algorithm for e in history.succeeded)
    scale = belief.observations.scale
    algorithms, best = _gains(belief, scale, simple, counts)
    check()
    elsewhere = _gains_elsewhere(belief, scale, simple, references)
    check()
    return Gains(scale, _offsets(belief, scale, simple), algorithms, best, elsewhere)


def _gains(
    belief: SurrogateState, scale: float, simple: Configuration, counts: Mapping[str, int]
) -> tuple[tuple[AlgorithmGain, ...], tuple[TriedConfiguration, ...]]:
    """Compute each prediction algorithm's gain, and collect the best pipelines."""
    succeeded = belief.observations.succeeded
    configurations = [e.configuration for e, s in zip(belief.observations.evaluations, succeeded, strict=True) if s]
    mean, sd = _posterior_gains(belief, configurations, simple)
    names = np.array([c.prediction.algorithm for c in configurations])
    algorithms, best = [], []
    for name in sorted(set(names.tolist())):
        rows = np.flatnonzero(names == name)
        top = int(rows[np.argmax(mean[rows])])
        algorithms.append(AlgorithmGain(name, scale * float(mean[top]), scale * float(sd[top]), counts[name]))
        best.append(TriedConfiguration(configurations[top], scale * float(mean[top])))
    of_algorithms = sorted(best, key=lambda tried: -tried.gain)[:MAX_BEST]
    of_all = [TriedConfiguration(configurations[i], scale * float(mean[i])) for i in np.argsort(-mean)[:MAX_BEST]]
    kept = dict.fromkeys([*of_algorithms, *of_all])
    return tuple(algorithms), tuple(sorted(kept, key=lambda tried: -tried.gain))


def _gains_elsewhere(
    belief: SurrogateState, scale: float, simple: Configuration, references: Mapping[str, Configuration]
) -> dict[str, float]:
    """Posterior gain of each reference pipeline, by key."""
    if not references:
        return {}
    points = belief.encoding.encode([*references.values(), simple])
    mean = np.mean([belief.surrogate(labels).marginal(points)[0] for labels in belief.samples], axis=0)
    return dict(zip(references, (scale * (mean[:-1] - mean[-1])).tolist(), strict=True))


def _posterior_gains(
    belief: SurrogateState, configurations: Sequence[Configuration], simple: Configuration
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and sd of true standardised gains less the simple pipeline's, over the sampled decompositions."""
    points = belief.encoding.encode([*configurations, simple])
    means, variances = [], []
    for labels in belief.samples:
        mean, covariance = belief.surrogate(labels).joint(points)
        variance = np.diag(covariance)
        means.append(mean[:-1] - mean[-1])
        variances.append((variance + variance[-1] - 2.0 * covariance[-1])[:-1])
    spread = np.maximum(np.mean(variances, axis=0), 0.0) + np.var(means, axis=0)
    return np.mean(means, axis=0), np.sqrt(spread)


def _offsets(belief: SurrogateState, scale: float, simple: Configuration) -> dict[str, float]:
    """Main effects of hyperparameters, and of observed algorithms less the simple pipeline's in their stage."""
    from autoprog.optimizer.main_effects import main_effects, term_names  # noqa: PLC0415  see `search_statistics.py`

    succeeded = belief.observations.succeeded
    found = main_effects(belief.encoding, belief.points[succeeded], belief.y[succeeded])
    effects = dict(zip(term_names(belief.encoding), found.tolist(), strict=True))
    observed = np.flatnonzero(belief.points[succeeded].used.any(axis=0)).tolist()
    offsets = {}
    for algorithm in (belief.encoding.algorithms[i] for i in observed):
        of_simple = effects[f"{algorithm.stage}/{simple.step(algorithm.stage).algorithm}"]
        offsets[algorithm.key] = scale * (effects[algorithm.key] - of_simple)
        axes = [f"{algorithm.key}/{h.name}" for h in algorithm.hyperparameters]
        offsets |= {term: scale * effects[term] for axis in axes for term in (axis, f"{axis}^2")}
    return offsets
