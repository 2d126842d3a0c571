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
    OperatingDocument,
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
    """A search to start: a cohort and optional settings."""

    cohort_id: Annotated[str, Field(max_length=64)]

    def settings(self) -> SearchSettings:
        """Return the settings alone."""
        return SearchSettings.model_validate(self.model_dump(exclude={"cohort_id"}, exclude_unset=True))


class ContinuationRequest(BaseModel):
    """More time for a search that has ended."""

    model_config = ConfigDict(extra="forbid")

    time_s: Annotated[float, Field(ge=1, le=7 * 86_400, description="Time until the new model, in seconds.")]
    evaluations: Annotated[
        int,
        Field(
            ge=0,
            le=10_000,
            description="Maximum number of further configurations. 0 builds a model from the existing evaluations "
            "again; the time is then used for the intervals of patients' risks.",
        ),
    ] = 100


class EvaluationCounts(BaseModel):
    """Number of evaluations made, and their budget."""

    succeeded: int
    failed: int = Field(description="Number of evaluations without a score. `account` counts them by reason.")
    budget: int


class Progress(BaseModel):
    """Progress of a search."""

    evaluations: EvaluationCounts
    elapsed_s: float = Field(description="Time spent on the search, in seconds of its budget.")
    eta_s: float | None = Field(
        description="Time until the budget is spent, in seconds. Null unless the search is running."
    )
    best_score: float | None = Field(description="Best score so far, in the metric's own direction.")


class FailureCounts(BaseModel):
    """Number of evaluations without a score, by reason."""

    timeout: int
    memory: int
    crashed: int
    invalid: int
    raced_out: int
    cancelled: int = Field(
        description="Evaluations that were undecided when the time budget was spent or the search was cancelled."
    )


class StepDocument(BaseModel):
    """One stage of a pipeline."""

    algorithm: str
    parameters: dict[str, float | int | str | bool]


ConfigurationDocument = dict[StageName, StepDocument]


class StartDocument(BaseModel):
    """Contribution of earlier cohorts to the start of a search."""

    n_cohorts: int = Field(description="Number of earlier cohorts of the same mode and metric.")
    trust: float = Field(
        description="Weight of the earlier cohorts in the prior, in [0, 1), by their similarity. The default prior "
        "has the rest."
    )
    portfolio: list[ConfigurationDocument] = Field(
        description="Configurations to evaluate after the simple pipeline; in a search that has ended, those that "
        "were evaluated."
    )


class SearchDocument(BaseModel):
    """A search."""

    id: str
    cohort_id: str
    model_id: str | None
    continues: str | None = Field(
        description="Identifier of the search that this one continues. Null if there is none or it was deleted."
    )
    status: SearchStatus
    phase: PhaseName | None
    progress: Progress
    account: FailureCounts
    settings: SearchSettings
    start: StartDocument | None = Field(
        description="Null before the search begins, and if it does not learn from earlier cohorts."
    )
    warnings: list[str]
    error: Problem | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class SettingDocument(BaseModel):
    """One value of a hyperparameter on a path."""

    value: float
    score: float = Field(description="Mean over the folds, in the metric's own direction.")


class PathDocument(BaseModel):
    """Scores of several values of one hyperparameter, from the same fits."""

    hyperparameter: str = Field(description="Hyperparameter of the prediction algorithm, such as `trees`.")
    bound: float = Field(description="Largest requested value. The configuration has the chosen one.")
    settings: list[SettingDocument] = Field(description="Values and scores, ascending by value.")


class EvaluationDocument(BaseModel):
    """The evaluation of a configuration."""

    id: str
    configuration: ConfigurationDocument
    status: Status
    score: float | None = Field(description="Mean over the folds, in the metric's own direction.")
    fold_scores: list[float] = Field(
        description="Scores by fold. A configuration that was raced out has those of its completed folds."
    )
    duration_s: float = Field(description="Wall-clock time of all folds together, in seconds.")
    reason: str | None = Field(
        description="Reason for a missing score. If there is a score, notes on the fits: a learner's warnings, "
        "columns left out of a fold, or patients not used."
    )
    n_patients: int | None = Field(description="Number of patients used. A large cohort is explored on a sample.")
    path: PathDocument | None = Field(
        description="Scores of other values of one hyperparameter from the same fits. Null if there is no such "
        "hyperparameter."
    )
    out_of_bag: bool = Field(
        description="Whether each patient's risk is out of bag, from the trees of one forest that did not use the "
        "patient. If not, it is out of fold."
    )


class Member(BaseModel):
    """One pipeline of the ensemble."""

    weight: float
    configuration: ConfigurationDocument
    score: float


class Baseline(BaseModel):
    """The simple pipeline, evaluated on the same folds."""

    configuration: ConfigurationDocument
    score: ScoreDocument
    performance: PerformanceDocument | None = Field(
        None, description="Null for event times, and in searches that ended before this field existed."
    )
    overall: OverallDocument | None = Field(None, description="Null for outcomes without event times.")


class CalibrationCurveDocument(BaseModel):
    """Observed frequency of the outcome by risk, smoothed."""

    risks: list[float] = Field(description="Risks, ascending. The other lists have one number per risk.")
    observed: list[float] = Field(description="Observed frequency. The risk itself is ideal.")
    lower: list[float] = Field(description="Lower end of the pointwise interval.")
    upper: list[float]
    level: float = Field(description="Level of the interval.")
    method: str = Field(description="Method of smoothing.")


class RiskDistributionDocument(BaseModel):
    """Number of patients by risk."""

    edges: list[float]
    with_outcome: list[int] = Field(description="Number of patients with the outcome between one edge and the next.")
    without_outcome: list[int]


class IntervalDocument(BaseModel):
    """Level and method of the intervals of patients' risks."""

    level: float
    method: str = Field(description="Method of estimation, or the reason why there are no intervals.")


class SubgroupDocument(BaseModel):
    """Performance in a subgroup of the patients: out of fold, recalibrated on other patients.

    For event times, the measures are until the last horizon: AUC of cumulative cases against dynamic controls, Brier
    score weighted by the inverse probability of censoring, and mean risk over the Aalen-Johansen estimate.
    """

    feature: str
    label: str
    n: int | None = Field(description="Number of patients. Null, like `events`, below 10.")
    events: int | None
    auc_roc: Interval | None = Field(
        description="AUC-ROC. Null, like the other measures, below 10 patients with or without the outcome. For event "
        "times see `auc`."
    )
    auc: Interval | None = Field(
        None, description="AUC of cumulative cases against dynamic controls, for event times only."
    )
    brier: Interval | None
    expected_observed: Interval | None = Field(description="Expected over observed events. 1 is ideal.")


class RunDocument(BaseModel):
    """How the model was made: counts and versions for who writes about it."""

    n_opening: int = Field(description="Number of evaluations of the opening's list.")
    n_proposed: int = Field(description="Number of evaluations that the optimizer proposed.")
    n_finalists: int = Field(description="Number of evaluations on all rows after an exploration of a sample.")
    n_explored_rows: int | None = Field(description="Rows of the sample that was explored. Null: all rows.")
    n_rows: int = Field(description="Number of patients, or visits, that the model was made from.")
    n_groups: int | None = Field(
        description="Number of groups that folds do not split; for visits, of patients. Null without groups."
    )
    software: dict[str, str] = Field(description="Version of Python and of each library at the fit.")


class IncidenceCurveDocument(BaseModel):
    """Incidence of the event of interest over time (Aalen-Johansen), with numbers at risk."""

    times: list[float] = Field(description="Ascending, from 0. The next three lists have one number per time.")
    estimate: list[float | None]
    lower: list[float | None] = Field(description="Pointwise interval. Null where it has no value, and with groups.")
    upper: list[float | None]
    at_risk_times: list[float]
    at_risk: list[int] = Field(description="Number of patients, or visits, at risk at each of `at_risk_times`.")


class PartialShareDocument(BaseModel):
    """A share, or incidence, with its interval of level 0.95 where it has one."""

    estimate: float | None
    lower: float | None
    upper: float | None


class StratumOutcomeDocument(BaseModel):
    """What was observed in a risk stratum, formed by out-of-fold risks."""

    horizon: float | None = Field(description="Null for outcomes without event times.")
    name: str
    lower: float
    upper: float
    risk: float | None = Field(description="Mean predicted risk. Null if nobody is in the stratum.")
    n: int = Field(description="Number of patients, or visits.")
    n_events: int | None = Field(description="Null, like `observed` and `curve`, below 10 patients.")
    observed: PartialShareDocument | None = Field(
        description="Share with the outcome; for event times the incidence by the horizon, null if nobody is followed "
        "that long."
    )
    curve: IncidenceCurveDocument | None = Field(description="For event times, in the strata of the last horizon.")


class EnsembleDocument(BaseModel):
    """The members and the performance of the delivered model."""

    members: list[Member] = Field(description="Members, the largest weight first. The weights sum to 1.")
    rule: EnsembleName = Field("model_averaging", description="Rule that chose the members and their weights.")
    scale: Scale = Field("risk", description="Scale on which the members are averaged: risks or log odds.")
    score: ScoreDocument
    baseline: Baseline | None = Field(description="Null if the simple pipeline could not be evaluated.")
    calibration: CalibrationDocument
    overall: OverallDocument | None = Field(None, description="Null for outcomes without event times.")
    d_calibration: DCalibrationDocument | None = Field(
        None, description="Null for outcomes without event times, with competing causes, and with groups or visits."
    )
    horizons: list[HorizonDocument] = Field(
        [], description="Performance by horizon, ascending. Empty for outcomes without event times."
    )
    performance: PerformanceDocument | None = Field(
        None,
        description="Null, like the next ones, for event times and in searches that ended before this field existed.",
    )
    gain_over_baseline: dict[str, Interval] | None = Field(
        None,
        description="Paired difference in `auc_roc`, `brier` and `net_benefit`, ensemble minus simple pipeline, on "
        "the same patients. The interval is that of the difference. Null for event times, for which each horizon has "
        "its own.",
    )
    net_benefit: NetBenefitDocument | None = None
    calibration_curve: CalibrationCurveDocument | None = Field(
        None,
        description="Null if the risks separate the outcomes, and in searches that ended before this field existed.",
    )
    risk_distribution: RiskDistributionDocument | None = Field(
        None, description="Null in searches that ended before this field existed."
    )
    operating: OperatingDocument | None = Field(
        None,
        description="Null for event times, for which each horizon has its own, and in searches that ended before this "
        "field existed.",
    )
    strata: list[StratumOutcomeDocument] | None = Field(
        None, description="Null in searches that ended before this field existed."
    )
    interval: IntervalDocument | None = Field(
        None,
        description="Level and method of the intervals of patients' risks. Null in searches that ended before this "
        "field existed.",
    )
    instability: InstabilityDocument | None = Field(
        None, description="Null if there are no intervals, and for event times, for which each horizon has its own."
    )
    subgroups: list[SubgroupDocument] = Field([], description="Performance by the features in the setting `subgroups`.")
    run: RunDocument | None = Field(None, description="Null in searches that ended before this field existed.")


class StratumDocument(BaseModel):
    """A band of predicted risk."""

    name: str
    lower: float
    upper: float
    fraction: float = Field(description="Share of the cohort's patients, or visits, in the band.")
    horizon: float | None = Field(None, description="Null for outcomes without event times.")


class ConditionDocument(BaseModel):
    """A condition on one feature."""

    feature: str
    operator: Literal[">=", "<", "="]
    value: float | str


class Probability(BaseModel):
    """Posterior of the share of matching patients, or visits, that the model places in the stratum."""

    mean: float
    lower: float
    upper: float


class EventRate(BaseModel):
    """Share of matching patients, or visits, that had the outcome, by the horizon if there is one."""

    estimate: float | None = Field(
        description="Event rate, in [0, 1]. Null if nobody was followed to the horizon and some were lost before."
    )
    lower: float | None
    upper: float | None
    n: int = Field(description="Number of matching patients, however many of their visits match.")


class HeldOutDocument(BaseModel):
    """Test of a rule on patients who were not used to find it."""

    n: int = Field(description="Number of matching patients, however many of their visits match.")
    in_stratum: int = Field(
        description="Number of matching patients whom the model places in the stratum; for visits, those with a "
        "matching visit in it."
    )
    p_value: float = Field(
        description="Fisher's exact test, one-sided, against the base rate. Visits of a patient, and patients of a "
        "group, count by their smaller effective number."
    )
    adjusted_p_value: float = Field(description="Smallest false-discovery rate at which the rule is kept.")


class PriorDocument(BaseModel):
    """A clinician's prior for a rule."""

    probability: float
    strength: float = Field(description="Weight of the prior, in patients.")


class RuleDocument(BaseModel):
    """A rule: patients who satisfy all conditions tend to be placed in the stratum."""

    conditions: list[ConditionDocument]
    horizon: float | None
    stratum: str
    stratum_probability: Probability
    observed_event_rate: EventRate
    support: float
    confidence: float
    lift: float
    held_out: HeldOutDocument | None = Field(
        None, description="Null if fewer than 5 of the held-out patients match, and for rules that were never tested."
    )
    prior: PriorDocument | None = Field(None, description="Prior of a clinician's rule. Null for a mined rule.")


class FidelityDocument(BaseModel):
    """Agreement of the rules alone with the model's strata, on patients who were not used to find the rules."""

    kappa: float = Field(
        description="Cohen's kappa of the strata by rules and by the model. 1 is agreement, 0 is chance."
    )
    lower: float
    upper: float
    agreement: float = Field(description="Share of patients, or of their visits, that rules and model place alike.")
    n: int = Field(description="Number of held-out patients.")
    default: str = Field(description="Stratum of patients whom no rule matches.")


class HorizonRulesDocument(BaseModel):
    """The note on the rules of one horizon, and their fidelity."""

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
        description="Null if there is only one stratum, for event times, for which each horizon has its own, and in "
        "searches that ended before this field existed.",
    )
    horizons: list[HorizonRulesDocument] = Field(
        [], description="Notes by horizon, ascending. Empty for outcomes without event times."
    )


class Subspace(BaseModel):
    """Algorithms that the surrogate treats as similar."""

    algorithms: list[str]


class CoMembership(BaseModel):
    """How often two algorithms shared a subspace in the sampled decompositions."""

    algorithms: list[str]
    frequencies: list[list[float]] = Field(description="Square matrix with one row and one column per algorithm.")


class DecompositionDocument(BaseModel):
    """The most probable decomposition of the pipeline space."""

    subspaces: list[Subspace]
    co_membership: CoMembership
