"""What one finished search leaves to later ones: numbers about pipelines, nothing about a patient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from autoprog.cohort import Mode
from autoprog.metalearning.meta_features.vector import MetaFeatures
from autoprog.space import Configuration


@dataclass(frozen=True, slots=True)
class AlgorithmGain:
    """How a prediction algorithm did, against the simple model of the same cohort.

    Attributes
    ----------
    algorithm : str
        Its name in the stage `prediction`.
    best : float
        Posterior mean of the best pipeline with it that was evaluated, less the simple pipeline's, in units of the
        score, more is better.
    sd : float
        Posterior standard deviation of `best`.
    n : int
        Pipelines with it that have a score, at least 1.
    """

    algorithm: str
    best: float
    sd: float
    n: int


@dataclass(frozen=True, slots=True)
class TriedConfiguration:
    """A pipeline that did well.

    Attributes
    ----------
    configuration : Configuration
        The pipeline.
    gain : float
        Posterior mean of its score less the simple pipeline's, more is better.
    """

    configuration: Configuration
    gain: float


@dataclass(frozen=True, slots=True)
class CohortStatistics:
    """The transferable statistics of one search.

    Attributes
    ----------
    cohort_id : str
        Whose they are; deleted with it.
    meta_features : MetaFeatures
        What the cohort is like.
    mode : str
        Of its outcome.
    metric : str
        `Metric.identity` of what was optimised. Statistics of another mode or metric cannot be compared.
    simple_algorithm : str
        The prediction algorithm of the simple pipeline.
    simple_score : float
        Of the simple pipeline, in the metric's own direction.
    scale : float
        Units of the score that one standardised unit of the surrogate is.
    subspaces : float
        Posterior mean of M, the number of subspaces; at least 2.
    log_concentration : float
        Posterior mean of log gamma.
    log_length, log_variance, log_noise : float
        Logarithms of the kernel's length-scale, of its variance and of the noise's, fitted by marginal likelihood;
        standardised units.
    offsets : mapping
        mu: key of an algorithm that was observed -> its main effect less that of the simple pipeline's algorithm in the
        same stage; of its hyperparameters, by the other names of `optimizer/main_effects.py`, slope and bend. In units
        of the score, more is better.
    algorithms : tuple of AlgorithmGain
        The prediction algorithms that have a score, by name.
    best : tuple of TriedConfiguration
        Pipelines that did well, the best first: of ten prediction algorithms the best, and the ten best of all.
    elsewhere : mapping
        `Configuration.key` of a pipeline that did well on another cohort -> posterior mean of its score here less the
        simple pipeline's, whether or not it was evaluated here.
    n_evaluations : int
        Evaluations with a score.
    shared : bool
        Whether other owners may learn from them.
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
        """Prediction algorithms with a score, and evaluations: of two searches on one cohort the greater counts."""
        return len(self.algorithms), self.n_evaluations

    def to_json(self) -> dict[str, Any]:
        """As JSON; meta-features by name."""
        return {
            **asdict(self),
            "meta_features": self.meta_features.to_dict(),
            "algorithms": [asdict(gain) for gain in self.algorithms],
            "best": [{"configuration": b.configuration.to_json(), "gain": b.gain} for b in self.best],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> CohortStatistics:
        """The inverse of `to_json`."""
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
