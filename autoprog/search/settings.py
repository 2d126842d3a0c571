"""Settings of a search: validated once, at the edge, and passed everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from autoprog.ensemble import EnsembleName
from autoprog.evaluation import METRICS, THRESHOLDS, make_metric
from autoprog.interpreter import Condition, Operator, Prior, PriorRule
from autoprog.optimizer import Acquisition, Aim, Counts, Decompositions, OptimizerOptions, Outputs, Preset, Start, Stop
from autoprog.space import STAGES, Reduction, Space, StageName

_FROZEN = ConfigDict(extra="forbid", frozen=True)

MetricName = Literal[
    "auc_roc",
    "auc_prc",
    "brier",
    "log_loss",
    "net_benefit",
    "uno_c",
    "c_index",
    "time_dependent_auc",
    "integrated_brier",
]
# The bound also rejects half a surrogate pair, which JSON can spell but no response could encode.
Text = Annotated[str, Field(max_length=1000)]
Window = Annotated[int, Field(ge=1, le=100)]
Threshold = Annotated[float, Field(gt=0, lt=1)]


def _in_order(thresholds: tuple[float, float]) -> tuple[float, float]:
    low, high = thresholds
    if low > high:
        raise ValueError(f"the lower threshold, {low}, is above the higher, {high}")
    return thresholds


Thresholds = Annotated[tuple[Threshold, Threshold], AfterValidator(_in_order)]


def _read_algorithms(space: object) -> object:
    """Replace `table_1` by its algorithms' names, by stage."""
    if space != "table_1":
        return space
    return {
        stage: [a.name for a in algorithms] for stage, algorithms in zip(STAGES, Space.table_1().stages, strict=True)
    }


_NAMES_BY_STAGE = {
    "type": "object",
    "propertyNames": {"enum": list(STAGES)},
    "additionalProperties": {"type": "array", "items": {"type": "string", "maxLength": 1000}},
}
NamedAlgorithms = Annotated[
    dict[StageName, list[Text]],
    BeforeValidator(_read_algorithms),
    WithJsonSchema({"anyOf": [{"const": "table_1"}, _NAMES_BY_STAGE]}, mode="validation"),
]


MAX_EVALUATIONS = 10_000
"""Evaluations of one search, including those of the searches that it continues."""

MAX_EVALUATION_S = 60.0
"""Longest default limit of one evaluation during exploration, in processor seconds."""


class Budget(BaseModel):
    """Limits of a search; it stops at the first one reached. The clock starts when the search is first started."""

    model_config = _FROZEN

    evaluations: Annotated[int, Field(ge=1, le=MAX_EVALUATIONS, description="configurations, failed ones too")] = 100
    time_s: Annotated[
        float, Field(ge=1, le=7 * 86_400, description="seconds to the delivered model, with what delivering it takes")
    ] = 600.0


class EvaluationLimits(BaseModel):
    """Hard limits of one evaluation."""

    model_config = _FROZEN

    evaluation_s: (
        Annotated[
            float,
            Field(
                ge=1,
                le=86_400,
                description="processor seconds of all folds together; of a refit on all patients too",
            ),
        ]
        | None
    ) = Field(
        None,
        description="default: 60 s, or a quarter of the time budget where that is more; while configurations are "
        "looked for a tenth of the time budget, from 1 to 60 s, and of the opening a quarter",
    )
    memory_mb: Annotated[
        int, Field(ge=64, le=1_048_576, description="MiB that a fit may allocate beyond the loaded libraries")
    ] = 4096


class OptimizerSettings(BaseModel):
    """Optimizer preset and the choices that the method leaves open; null leaves a choice to the preset."""

    model_config = _FROZEN

    preset: Preset = "default"
    subspaces: Annotated[int, Field(ge=2, le=41, description="M, the most subspaces of a decomposition")] | None = None
    concentration: Annotated[float, Field(gt=0, le=1000, description="gamma, symmetric Dirichlet parameter")] | None = (
        None
    )
    similarity: (
        Annotated[float, Field(gt=0, lt=1, description="rho, correlation of two algorithms of one subspace")] | None
    ) = None
    acquisition: Acquisition | None = Field(
        None, description="expected improvement of the score, or the upper confidence bounds of its components"
    )
    beta: (
        Annotated[float, Field(ge=0, le=1000, description="exploration weight of the upper confidence bound")] | None
    ) = None
    family_strength: (
        Annotated[float, Field(ge=0, le=100, description="log odds that an algorithm stays with its family")] | None
    ) = None
    decompositions: Decompositions | None = Field(
        None,
        description="what is averaged over: Gibbs samples, draws from the prior, or such draws by their likelihood",
    )
    averaged: (
        Annotated[int, Field(ge=1, le=50, description="decompositions that expected improvement is averaged over")]
        | None
    ) = None
    effects: bool | None = Field(None, description="whether every algorithm has an effect of its own")
    cost_aware: bool | None = Field(None, description="whether a young search prefers what is predicted to be quick")
    local_after: (
        Annotated[int, Field(ge=1, le=10_000, description="evaluations after which only the best are changed")] | None
    ) = None
    outputs: Outputs | None = Field(None, description="scores cut off below, as they are, or their ranks")
    aim: Aim | None = Field(
        None, description="whether a proposal is to be better alone, or worth more beside the pipelines before it"
    )
    stop: Stop | None = Field(
        None, description="end where expected improvement, or regret, is below the standard error of a score"
    )

    ascent: bool | None = Field(
        None, description="whether bounds of components are maximised by ascent from their best candidates"
    )
    full_batches: bool | None = Field(
        None, description="whether a batch of bounds is filled up where subspaces give too few prediction algorithms"
    )
    counts: Counts | None = Field(
        None, description="whether algorithms of all stages draw another to their subspace, or of its own alone"
    )
    gated: bool | None = Field(
        None, description="whether a subspace says something of pipelines that use none of its algorithms: false if so"
    )

    def options(self, start: Start | None = None) -> OptimizerOptions:
        """Options of the preset, overridden by what earlier cohorts taught and then by the client's choices."""
        asked = {name: value for name, value in self.model_dump(exclude={"preset"}).items() if value is not None}
        return OptimizerOptions.of(self.preset, {**(start or Start()).constants, **asked})


class Strata(BaseModel):
    """Risk strata: at or above `high` is high, at or above `medium` is medium, below is low."""

    model_config = _FROZEN

    high: Annotated[float, Field(gt=0, lt=1)]
    medium: Annotated[float, Field(gt=0, lt=1)]


class ConditionSettings(BaseModel):
    """A condition on one feature."""

    model_config = _FROZEN

    feature: Text
    operator: Operator = Field(description="= for binary and categorical features, >= and < for the others")
    value: bool | float | Text = Field(description="a number in the feature's unit, or a level")


class PriorRuleSettings(BaseModel):
    """A clinician's expectation: patients who satisfy all conditions are in the stratum with this probability."""

    model_config = _FROZEN

    conditions: Annotated[list[ConditionSettings], Field(min_length=1, max_length=4)]
    stratum: Literal["high", "medium", "low"]
    probability: Annotated[float, Field(gt=0, lt=1, description="of a matching patient to be in the stratum")]
    strength: Annotated[
        float, Field(gt=0, le=100_000, description="how many patients' observations the expectation weighs")
    ] = 10.0

    def stated(self) -> PriorRule:
        """Convert to the interpreter's rule."""
        conditions = tuple(Condition(c.feature, c.operator, c.value) for c in self.conditions)
        return PriorRule(conditions, self.stratum, Prior(self.probability, self.strength))


class SearchSettings(BaseModel):
    """All settings of a search, with their defaults."""

    model_config = _FROZEN

    @property
    def evaluation_s(self) -> float:
        """Limit of an evaluation on all patients and of a refit, in processor seconds."""
        return self.limits.evaluation_s or max(MAX_EVALUATION_S, self.budget.time_s / 4)

    @property
    def exploration_s(self) -> float:
        """Limit of an evaluation during exploration, in processor seconds."""
        return self.limits.evaluation_s or min(max(self.budget.time_s / 10, 1.0), MAX_EVALUATION_S)

    @property
    def metric_identity(self) -> str:
        """Identity of the metric, which only comparable metrics share; see `Metric.identity`."""
        return make_metric(self.metric, self.thresholds).identity if self.metric in METRICS else self.metric

    @property
    def named_algorithms(self) -> Mapping[StageName, Sequence[str]]:
        """Algorithms that the client named one by one, by stage; empty for `table_1`."""
        return {} if self.space == _read_algorithms("table_1") else self.space

    @property
    def windows(self) -> tuple[int, ...]:
        """Numbers of visits to look back on, ascending and distinct."""
        return tuple(sorted({self.window} if isinstance(self.window, int) else set(self.window)))

    metric: MetricName = Field(
        "auc_roc",
        description="what is optimised, as the mean over the folds: of an outcome without a time one of the first "
        "five; of a time to an event one of the last four, where uno_c is the default, and time_dependent_auc in mode "
        "temporal",
    )
    thresholds: Thresholds = Field(
        THRESHOLDS,
        description="lowest and highest risk at which a patient might be treated: what net_benefit is the mean over, "
        "as the metric and in the report",
    )
    folds: Annotated[int, Field(ge=2, le=50)] | None = Field(
        None, description="of the cross-validation; default 5, of more than 50,000 rows 2, lowered for small classes"
    )
    repeats: Annotated[int, Field(ge=1, le=20)] | None = Field(
        None, description="how often folds are made; default 1, below 500 patients 2"
    )
    racing: bool = Field(
        default=True,
        description="from the second fold on, stop a configuration whose chance to beat the best one is below 5 %",
    )
    missing_indicators: bool = Field(
        default=False, description="give every feature with missing cells a column that says where they are"
    )
    batch_size: Annotated[int, Field(ge=1, le=64)] = Field(
        4,
        description="configurations proposed at once, while the batch before is evaluated",
    )
    warm_start: bool = Field(
        default=True,
        description="begin with what earlier cohorts have taught, the owner's own and those that are shared, when the "
        "search starts",
    )
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(0, description="of folds, pipelines and proposals")
    budget: Budget = Budget()
    limits: EvaluationLimits = EvaluationLimits()
    space: NamedAlgorithms = Field(
        default_factory=dict,
        description="names of the algorithms to keep, stage by stage, as `GET /v1/space` shows them; or `table_1` for "
        "those of the source's Table 1; default: all",
    )
    opening: bool = Field(
        default=True,
        description="begin with a list of strong and diverse pipelines for the cohort's size, before the optimizer "
        "proposes",
    )
    reduction: Reduction = Field(
        "discrete_time",
        description="how classifiers serve a time to an event: by the hazards of intervals, from which whole curves "
        "follow, or by the event until each horizon, with patients weighted by the inverse of the probability of not "
        "being censored",
    )
    window: Window | Annotated[list[Window], Field(min_length=1, max_length=10)] = Field(
        3,
        description="of a cohort of visits: how many of a patient's last visits a prediction looks back on, the "
        "present one included; of several numbers the best is searched for with the rest of the pipeline",
    )
    optimizer: OptimizerSettings = OptimizerSettings()
    ensemble: EnsembleName = Field(
        "blend",
        description="how the model is made of what was evaluated: by log scores (`pseudo_bma`), as the likeliest "
        "average (`linear_pool`), by either as patients with the rarer outcome are few or many (`blend`), by "
        "probability to be the best (`model_averaging`, the source's), by greedy selection with bagging, by a stacked "
        "logistic combination, or the best configuration alone",
    )
    subgroups: list[Text] | None = Field(
        None,
        description="features by whose values the model is measured too; default: sex and age, where there are any",
    )
    strata: Strata | None = Field(None, description="default: the upper and middle thirds of the out-of-fold risks")
    prior_rules: Annotated[list[PriorRuleSettings], Field(max_length=30)] = Field(
        [],
        description="what is known of who is at risk; they move as the patients say and are shown in any case",
    )
