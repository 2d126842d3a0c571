"""The statistics that one finished search leaves to later ones: numbers about pipelines, none about a patient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from autoprog.cohort import Mode
from autoprog.metalearning.meta_features.vector import MetaFeatures
from autoprog.space import Configuration


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
