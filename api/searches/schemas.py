"""Documents of searches."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.problems import Problem
from api.searches.event_schemas import DCalibrationDocument, HorizonDocument, OverallDocument
from api.searches.score_schemas import (
    CalibrationDocument,
    InstabilityDocument,
    Interval,
    NetBenefitDocument,
    PerformanceDocument,
    ScoreDocument,
)
from autoprog.ensemble import EnsembleName, Scale
from autoprog.evaluation import Status
from autoprog.search import SearchSettings
from autoprog.space import StageName
from autoprog.storage.tables import SearchStatus

# Spelt out, because `autoprog.search.ports` would load the learning libraries into a process that only serves.
PhaseName = Literal["meta_features", "search", "ensemble", "validation", "rules"]


class SearchRequest(SearchSettings):
    """A search to start: a cohort, and settings that are all optional."""

    cohort_id: Annotated[str, Field(max_length=64)]

    def settings(self) -> SearchSettings:
        """Return the settings alone."""
        return SearchSettings.model_validate(self.model_dump(exclude={"cohort_id"}, exclude_unset=True))


class ContinuationRequest(BaseModel):
    """More time for a search that has ended."""

    model_config = ConfigDict(extra="forbid")

    time_s: Annotated[float, Field(ge=1, le=7 * 86_400, description="seconds to the new model")]
    evaluations: Annotated[
        int,
        Field(
            ge=0,
            le=10_000,
            description="further configurations, at most; 0 to deliver what was evaluated again: the time is then for "
            "the intervals of patients' risks",
        ),
    ] = 100


class EvaluationCounts(BaseModel):
    """How much of the evaluation budget is spent."""

    succeeded: int
    failed: int = Field(description="without a score; `account` tells why")
    budget: int


class Progress(BaseModel):
    """Progress of a search."""

    evaluations: EvaluationCounts
    elapsed_s: float = Field(description="seconds of the budget that are spent: those in which it was worked on")
    eta_s: float | None = Field(description="seconds until the budget is spent; null unless running")
    best_score: float | None = Field(description="in the metric's own direction")


class FailureCounts(BaseModel):
    """Evaluations without a score, by reason."""

    timeout: int
    memory: int
    crashed: int
    invalid: int
    raced_out: int
    cancelled: int = Field(description="undecided when the time budget was spent or the search was cancelled")


class StepDocument(BaseModel):
    """One stage of a pipeline."""

    algorithm: str
    parameters: dict[str, float | int | str | bool]


ConfigurationDocument = dict[StageName, StepDocument]


class StartDocument(BaseModel):
    """What earlier cohorts contributed to the start of a search."""

    n_cohorts: int = Field(description="earlier cohorts of the same mode and metric")
    trust: float = Field(description="how much of the prior is theirs, by their likeness; the rest is the default's")
    portfolio: list[ConfigurationDocument] = Field(
        description="to be evaluated after the simple pipeline; of a search that has ended, what of it was"
    )


class SearchDocument(BaseModel):
    """A search."""

    id: str
    cohort_id: str
    model_id: str | None
    continues: str | None = Field(
        description="identifier of the search that this one continues; null if there is none, or it was deleted"
    )
    status: SearchStatus
    phase: PhaseName | None
    progress: Progress
    account: FailureCounts
    settings: SearchSettings
    start: StartDocument | None = Field(description="null before it began, and where it was not to learn from others")
    warnings: list[str]
    error: Problem | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class SettingDocument(BaseModel):
    """One value of a hyperparameter along a path."""

    value: float
    score: float = Field(description="mean over folds, in the metric's own direction")


class PathDocument(BaseModel):
    """Scores of several values of one hyperparameter, from the same fits."""

    hyperparameter: str = Field(description="of the prediction algorithm, as `trees`")
    bound: float = Field(description="the largest value that was asked for; the configuration has the chosen one")
    settings: list[SettingDocument] = Field(description="ascending")


class EvaluationDocument(BaseModel):
    """The evaluation of a configuration."""

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
    path: PathDocument | None = Field(
        description="scores of other values of one hyperparameter by the same fits; null where there is no such one"
    )
    out_of_bag: bool = Field(
        description="whether risks are by the trees of one forest that have not seen the patient; else by folds"
    )


class Member(BaseModel):
    """One pipeline of the ensemble."""

    weight: float
    configuration: ConfigurationDocument
    score: float


class Baseline(BaseModel):
    """The simple pipeline, on the same folds."""

    configuration: ConfigurationDocument
    score: ScoreDocument
    performance: PerformanceDocument | None = Field(
        None, description="null for event times, and in searches that ended before it was told"
    )
    overall: OverallDocument | None = Field(None, description="null for an outcome without a time")


class CalibrationCurveDocument(BaseModel):
    """Observed frequency of the outcome by risk, smoothed."""

    risks: list[float] = Field(description="ascending, a number a risk in the other lists too")
    observed: list[float] = Field(description="ideal is the risk itself")
    lower: list[float] = Field(description="pointwise interval")
    upper: list[float]
    level: float = Field(description="of the interval")
    method: str = Field(description="how the curve was smoothed")


class RiskDistributionDocument(BaseModel):
    """Number of patients by risk."""

    edges: list[float]
    with_outcome: list[int] = Field(description="patients between one edge and the next")
    without_outcome: list[int]


class IntervalDocument(BaseModel):
    """Level and method of the intervals of patients' risks."""

    level: float
    method: str = Field(description="how they were estimated, or why there are none")


class SubgroupDocument(BaseModel):
    """Performance in a subgroup of the patients: out of fold, recalibrated by other patients.

    For event times, until the last horizon: cumulative cases against dynamic controls, Brier score with weights of
    inverse probability of censoring, mean risk over the Aalen-Johansen estimate.
    """

    feature: str
    label: str
    n: int | None = Field(description="patients; null, as `events` is, where there are fewer than 10")
    events: int | None
    auc_roc: Interval | None = Field(
        description="null, as the other measures are, below 10 patients with or without the outcome; of event times "
        "there is `auc` in its place"
    )
    auc: Interval | None = Field(None, description="cumulative cases against dynamic controls; of event times alone")
    brier: Interval | None
    expected_observed: Interval | None = Field(description="expected over observed events; 1 is ideal")


class EnsembleDocument(BaseModel):
    """The members and the performance of the delivered model."""

    members: list[Member] = Field(description="weights sum to 1, largest first")
    rule: EnsembleName = Field("model_averaging", description="by which members and weights were chosen")
    scale: Scale = Field("risk", description="whether the members' risks are averaged, or their log odds")
    score: ScoreDocument
    baseline: Baseline | None = Field(description="null where the simple pipeline could not be evaluated")
    calibration: CalibrationDocument
    overall: OverallDocument | None = Field(None, description="null for an outcome without a time")
    d_calibration: DCalibrationDocument | None = Field(
        None, description="null for an outcome without a time and with competing causes"
    )
    horizons: list[HorizonDocument] = Field([], description="ascending; empty for an outcome without a time")
    performance: PerformanceDocument | None = Field(
        None, description="null, as the next ones are, for event times and in searches that ended before it was told"
    )
    gain_over_baseline: dict[str, Interval] | None = Field(
        None,
        description="`auc_roc`, `brier` and `net_benefit` of the ensemble less the simple pipeline's, on the "
        "same patients, so that the interval is that of the difference; null for event times, which tell it by horizon",
    )
    net_benefit: NetBenefitDocument | None = None
    calibration_curve: CalibrationCurveDocument | None = Field(
        None, description="null where the risks separate the outcomes, and in searches that ended before it was told"
    )
    risk_distribution: RiskDistributionDocument | None = Field(
        None, description="null in searches that ended before it was told"
    )
    interval: IntervalDocument | None = Field(
        None, description="of the intervals of patients' risks; null in searches that ended before it was told"
    )
    instability: InstabilityDocument | None = Field(
        None, description="null where there are no intervals, and of event times, where each horizon has its own"
    )
    subgroups: list[SubgroupDocument] = Field([], description="by the features that the setting `subgroups` names")


class StratumDocument(BaseModel):
    """A band of predicted risk."""

    name: str
    lower: float
    upper: float
    fraction: float = Field(description="share of the cohort's patients, or visits, in it")
    horizon: float | None = Field(None, description="null for an outcome without a time")


class ConditionDocument(BaseModel):
    """A statement about one feature."""

    feature: str
    operator: Literal[">=", "<", "="]
    value: float | str


class Probability(BaseModel):
    """Posterior of the share of matching patients, or visits, that the model places in the stratum."""

    mean: float
    lower: float
    upper: float


class EventRate(BaseModel):
    """Share of matching patients, or visits, that had the outcome, by the horizon where there is one."""

    estimate: float | None = Field(description="null where none was followed to the horizon and some were lost before")
    lower: float | None
    upper: float | None
    n: int = Field(description="matching patients, however many visits of theirs match")


class HeldOutDocument(BaseModel):
    """A rule among patients who were not used to find it."""

    n: int = Field(description="matching patients, however many visits of theirs match")
    in_stratum: int = Field(description="those of them in the stratum by the model, of visits at a matching one")
    p_value: float = Field(
        description="Fisher's exact test, one-sided, against the base rate; visits of a patient, and patients of a "
        "group, count as the fewer independent ones that they are worth"
    )
    adjusted_p_value: float = Field(description="smallest false-discovery rate at which the rule is kept")


class PriorDocument(BaseModel):
    """A clinician's prior for a rule."""

    probability: float
    strength: float = Field(description="in patients")


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
    held_out: HeldOutDocument | None = Field(
        None, description="null where fewer than 5 of the patients held out match, and in rules that were never checked"
    )
    prior: PriorDocument | None = Field(None, description="of a rule that a clinician brought; null for one mined")


class FidelityDocument(BaseModel):
    """How well the rules alone reproduce the model's strata, among patients who were not used to find them."""

    kappa: float = Field(description="Cohen's kappa of the strata by rules and by the model: 1 is agreement, 0 chance")
    lower: float
    upper: float
    agreement: float = Field(description="share of patients, or of their visits, whom rules and model place alike")
    n: int = Field(description="patients held out")
    default: str = Field(description="stratum of those whom no rule matches")


class HorizonRulesDocument(BaseModel):
    """How to read the rules of one horizon."""

    horizon: float
    note: str
    fidelity: FidelityDocument | None


class RulesDocument(BaseModel):
    """The risk strata and the rules that describe them."""

    strata: list[StratumDocument]
    rules: list[RuleDocument]
    note: str
    fidelity: FidelityDocument | None = Field(
        None,
        description="null where there is one stratum, for event times, which have one a horizon, and in searches that "
        "ended before it was told",
    )
    horizons: list[HorizonRulesDocument] = Field([], description="ascending; empty for an outcome without a time")


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
