"""Searches as clients ask for them and as the API shows them."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from api.problems import Problem
from autoprog.ensemble import EnsembleName, Scale
from autoprog.evaluation import Status
from autoprog.search import SearchSettings
from autoprog.space import StageName
from autoprog.storage.tables import SearchStatus

# Spelt out, as `autoprog.search.ports` would bring the learning libraries into a process that only serves.
PhaseName = Literal["search", "ensemble", "validation", "rules"]


class SearchRequest(SearchSettings):
    """A search to start: a cohort, and settings that are all optional."""

    cohort_id: Annotated[str, Field(max_length=64)]

    def settings(self) -> SearchSettings:
        """The settings alone."""
        return SearchSettings.model_validate(self.model_dump(exclude={"cohort_id"}))

    def fingerprint(self) -> str:
        """SHA-256 of the request, defaults filled in."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class EvaluationCounts(BaseModel):
    """How much of the evaluation budget is spent."""

    succeeded: int
    failed: int = Field(description="without a score; `account` tells why")
    budget: int


class Progress(BaseModel):
    """How far a search has come."""

    evaluations: EvaluationCounts
    elapsed_s: float
    eta_s: float | None = Field(description="seconds until the budget is spent; null unless running")
    best_score: float | None = Field(description="in the metric's own direction")


class Account(BaseModel):
    """Evaluations without a score, by reason."""

    timeout: int
    memory: int
    crashed: int
    invalid: int
    raced_out: int
    cancelled: int = Field(description="undecided when the time budget was spent or the search was cancelled")


class SearchDocument(BaseModel):
    """A search."""

    id: str
    cohort_id: str
    model_id: str | None
    status: SearchStatus
    phase: PhaseName | None
    progress: Progress
    account: Account
    settings: SearchSettings
    warnings: list[str]
    error: Problem | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class StepDocument(BaseModel):
    """One stage of a pipeline."""

    algorithm: str
    parameters: dict[str, float | int | str | bool]


ConfigurationDocument = dict[StageName, StepDocument]


class EvaluationDocument(BaseModel):
    """What is known of one configuration."""

    id: str
    configuration: ConfigurationDocument
    status: Status
    score: float | None = Field(description="mean over folds, in the metric's own direction")
    fold_scores: list[float] = Field(description="of one that was raced out, those before it was")
    duration_s: float = Field(description="of its folds together")
    reason: str | None = Field(
        description="why there is no score; or what to know of one: a learner's warnings, columns left out of a fold, "
        "patients that a fit did not use"
    )
    n_patients: int | None = Field(description="that it was evaluated on; a large cohort is explored on a sample")


class Interval(BaseModel):
    """A figure with its interval."""

    estimate: float
    lower: float
    upper: float


class ScoreDocument(Interval):
    """A score, and how far it can be trusted."""

    level: float
    method: str


class Member(BaseModel):
    """One pipeline of the ensemble."""

    weight: float
    configuration: ConfigurationDocument
    score: float


class PerformanceDocument(BaseModel):
    """Every measure of a set of risks: out of fold, recalibrated by other patients."""

    auc_roc: float
    auc_prc: float = Field(description="average precision")
    brier: float
    brier_skill: float = Field(description="1 - Brier / Brier of the event rate; 0 is no better than the event rate")
    log_loss: float
    slope: float | None = Field(description="calibration slope, 1 is ideal; null where it has no finite estimate")
    intercept: float = Field(description="calibration intercept, 0 is ideal")
    expected_observed: float = Field(description="expected over observed events, 1 is ideal")
    ici: float | None = Field(
        description="integrated calibration index: mean distance of the risks from a smooth calibration curve; above 0 "
        "by chance too, so compare models on the same patients; null where the risks separate the outcomes"
    )
    e50: float | None = Field(description="median of that distance")
    e90: float | None = Field(description="90th percentile of that distance")
    net_benefit: float = Field(description="mean over `thresholds`, in true positives a patient")
    thresholds: tuple[float, float]
    smoothing: str | None = Field(description="how the calibration curve was smoothed")


class Baseline(BaseModel):
    """The simple pipeline, on the same folds."""

    configuration: ConfigurationDocument
    score: ScoreDocument
    performance: PerformanceDocument | None = Field(None, description="null in searches that ended before it was told")


class CalibrationDocument(BaseModel):
    """Whether the risks mean what they say."""

    slope: Interval | None = Field(description="1 is ideal; below 1, risks are too extreme, above 1 too moderate")
    intercept: Interval = Field(description="0 is ideal; above 0, risks are too low on the whole")
    expected_observed: float = Field(description="expected over observed events; 1 is ideal")
    level: float = Field(description="of the intervals")


class NetBenefitDocument(BaseModel):
    """Decision curves: net benefit of treating where a risk reaches a threshold, in true positives a patient."""

    thresholds: list[float] = Field(description="ascending, a number a threshold in the other lists too")
    model: list[float]
    baseline: list[float] | None = Field(description="the simple pipeline's")
    treat_all: list[float]
    treat_none: list[float] = Field(description="0 throughout")
    range: tuple[float, float] = Field(description="the setting `thresholds`")


class SubgroupDocument(BaseModel):
    """How good the model is in a part of the patients: out of fold, recalibrated by other patients."""

    feature: str
    label: str
    n: int | None = Field(description="patients; null, as `events` is, where there are fewer than 10")
    events: int | None
    auc_roc: Interval | None = Field(
        description="null, as the other measures are, below 10 patients with or without the outcome"
    )
    brier: Interval | None
    expected_observed: Interval | None = Field(description="expected over observed events; 1 is ideal")


class EnsembleDocument(BaseModel):
    """What the delivered model consists of, and how good it is."""

    members: list[Member] = Field(description="weights sum to 1, largest first")
    rule: EnsembleName = Field("model_averaging", description="by which members and weights were chosen")
    scale: Scale = Field("risk", description="whether the members' risks are averaged, or their log odds")
    score: ScoreDocument
    baseline: Baseline | None = Field(description="null where the simple pipeline could not be evaluated")
    calibration: CalibrationDocument
    performance: PerformanceDocument | None = Field(None, description="null in searches that ended before it was told")
    net_benefit: NetBenefitDocument | None = Field(None, description="null in searches that ended before it was told")
    subgroups: list[SubgroupDocument] = Field([], description="by the features that the setting `subgroups` names")


class StratumDocument(BaseModel):
    """A band of predicted risk."""

    name: str
    lower: float
    upper: float
    fraction: float = Field(description="share of the cohort's patients in it")


class ConditionDocument(BaseModel):
    """A statement about one feature."""

    feature: str
    operator: Literal[">=", "<", "="]
    value: float | str


class Probability(BaseModel):
    """Posterior of the share of matching patients that the model places in the stratum."""

    mean: float
    lower: float
    upper: float


class EventRate(Interval):
    """Share of matching patients who had the outcome."""

    n: int


class RuleDocument(BaseModel):
    """Patients who satisfy all conditions tend to be placed in the stratum."""

    conditions: list[ConditionDocument]
    horizon: float | None
    stratum: str
    stratum_probability: Probability
    observed_event_rate: EventRate
    support: float
    confidence: float
    lift: float


class RulesDocument(BaseModel):
    """The risk strata and who is in them."""

    strata: list[StratumDocument]
    rules: list[RuleDocument]
    note: str


class Subspace(BaseModel):
    """Algorithms that the surrogate treats as alike."""

    algorithms: list[str]


class CoMembership(BaseModel):
    """How often two algorithms shared a subspace over the sampled decompositions."""

    algorithms: list[str]
    frequencies: list[list[float]] = Field(description="a row and a column an algorithm")


class DecompositionDocument(BaseModel):
    """The most probable decomposition of the pipeline space."""

    subspaces: list[Subspace]
    co_membership: CoMembership
