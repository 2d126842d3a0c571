"""What a client may ask of a search; validated once, at the edge, and passed everywhere."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from autoprog.space import StageName

_FROZEN = ConfigDict(extra="forbid", frozen=True)

MetricName = Literal["auc_roc", "auc_prc", "brier", "log_loss"]
Preset = Literal["default", "paper", "random"]


class Budget(BaseModel):
    """When a search stops: whichever ends first. The clock starts when the search is first started."""

    model_config = _FROZEN

    evaluations: Annotated[int, Field(ge=1, le=10_000)] = 100
    time_s: Annotated[float, Field(ge=1, le=7 * 86_400)] = 600.0


class EvaluationLimits(BaseModel):
    """Hard limits of one evaluation."""

    model_config = _FROZEN

    evaluation_s: Annotated[float, Field(ge=1, le=86_400)] = 60.0
    memory_mb: Annotated[int, Field(ge=64, le=1_048_576)] = 4096


class OptimizerSettings(BaseModel):
    """Which optimizer, and the choices that the method leaves open."""

    model_config = _FROZEN

    preset: Preset = "default"
    subspaces: Annotated[int, Field(ge=2, le=41, description="M, the most subspaces of a decomposition")] = 8
    concentration: Annotated[float, Field(gt=0, le=1000, description="gamma, symmetric Dirichlet parameter")] = 1.0
    similarity: Annotated[
        float, Field(gt=0, lt=1, description="rho, correlation of two algorithms of one subspace")
    ] = 0.75
    beta: Annotated[float, Field(ge=0, le=1000, description="exploration weight of the upper confidence bound")] = 4.0


class Strata(BaseModel):
    """Risk strata: at or above `high` is high, at or above `medium` is medium, below is low."""

    model_config = _FROZEN

    high: Annotated[float, Field(gt=0, lt=1)]
    medium: Annotated[float, Field(gt=0, lt=1)]


class SearchSettings(BaseModel):
    """All settings of a search, with their defaults."""

    model_config = _FROZEN

    metric: MetricName = "auc_roc"
    folds: Annotated[int, Field(ge=2, le=50)] | None = Field(None, description="default 5, lowered for small classes")
    repeats: Annotated[int, Field(ge=1, le=20)] = 1
    batch_size: Annotated[int, Field(ge=1, le=64)] = 4
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    budget: Budget = Budget()
    limits: EvaluationLimits = EvaluationLimits()
    space: dict[StageName, list[str]] = Field(default_factory=dict)
    optimizer: OptimizerSettings = OptimizerSettings()
    strata: Strata | None = Field(None, description="default: the upper and middle thirds of the out-of-fold risks")
