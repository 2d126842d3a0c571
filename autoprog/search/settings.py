"""Settings of a search: validated once, at the edge, and passed everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from autoprog.ensemble import EnsembleName
from autoprog.interpreter import Condition, Operator, Prior, PriorRule
from autoprog.optimizer import Acquisition, Aim, Counts, Decompositions, OptimizerOptions, Outputs, Preset, Start, Stop
from autoprog.performance import METRICS, THRESHOLDS, make_metric
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
    """Limits of a search, which ends at the first one reached. The clock starts when the search is first started."""

    model_config = _FROZEN

    evaluations: Annotated[
        int, Field(ge=1, le=MAX_EVALUATIONS, description="Maximum number of configurations, including failed ones.")
    ] = 100
    time_s: Annotated[
        float,
        Field(
            ge=1,
            le=7 * 86_400,
            description="Time until the model is delivered, in seconds, including the time to deliver it.",
        ),
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
                description="Processor seconds of all folds together, and of a refit to all patients.",
            ),
        ]
        | None
    ) = Field(
        None,
        description="Limit of one evaluation. The default is 60 s or a quarter of the time budget, whichever is "
        "longer. During exploration it is a tenth of the time budget, from 1 to 60 s; for the opening a quarter, but "
        "at least 5 s. The simple pipeline has none.",
    )
    memory_mb: Annotated[
        int,
        Field(ge=64, le=1_048_576, description="Memory that a fit may allocate beyond the loaded libraries, in MiB."),
    ] = 4096


class OptimizerSettings(BaseModel):
    """Optimizer preset and the choices that the method leaves open. Null leaves a choice to the preset."""

    model_config = _FROZEN

    preset: Preset = "default"
    subspaces: (
        Annotated[int, Field(ge=2, le=41, description="M, the maximum number of subspaces in a decomposition.")] | None
    ) = None
    concentration: (
        Annotated[float, Field(gt=0, le=1000, description="gamma, the symmetric Dirichlet parameter.")] | None
    ) = None
    similarity: (
        Annotated[float, Field(gt=0, lt=1, description="rho, the correlation of two algorithms in one subspace.")]
        | None
    ) = None
    acquisition: Acquisition | None = Field(
        None,
        description="Expected improvement of the score (`log_ei`), or upper confidence bounds of its components "
        "(`ucb`).",
    )
    beta: (
        Annotated[float, Field(ge=0, le=1000, description="Exploration weight of the upper confidence bound.")] | None
    ) = None
    family_strength: (
        Annotated[float, Field(ge=0, le=100, description="Log odds that an algorithm stays with its family.")] | None
    ) = None
    decompositions: Decompositions | None = Field(
        None,
        description="Decompositions to average over: Gibbs samples (`learnt`), draws from the prior (`random`), or "
        "such draws weighted by likelihood (`weighted`).",
    )
    averaged: (
        Annotated[
            int, Field(ge=1, le=50, description="Number of decompositions over which expected improvement is averaged.")
        ]
        | None
    ) = None
    effects: bool | None = Field(None, description="Whether every algorithm has an effect of its own.")
    cost_aware: bool | None = Field(
        None, description="Whether a search prefers pipelines with a short predicted time in its early phase."
    )
    local_after: (
        Annotated[
            int,
            Field(ge=1, le=10_000, description="Number of evaluations after which only the best pipelines are varied."),
        ]
        | None
    ) = None
    outputs: Outputs | None = Field(
        None, description="Scores as the surrogate sees them: clipped below, unclipped, or as ranks."
    )
    aim: Aim | None = Field(
        None,
        description="Whether a proposal should be better by itself (`pipeline`), or worth more beside the earlier "
        "pipelines (`ensemble`).",
    )
    stop: Stop | None = Field(
        None,
        description="Whether to end the search once the expected improvement, or the regret, is below the standard "
        "error of a score.",
    )

    ascent: bool | None = Field(
        None, description="Whether a gradient ascent refines the best candidate of each component's bound."
    )
    full_batches: bool | None = Field(
        None, description="Whether a `ucb` batch is filled up if its subspaces give too few prediction algorithms."
    )
    counts: Counts | None = Field(
        None,
        description="Which algorithms draw another to their subspace: those of all stages (`shared`), or of its own "
        "stage (`stage`).",
    )
    gated: bool | None = Field(
        None, description="Whether a subspace concerns only pipelines that use one of its algorithms."
    )

    def options(self, start: Start | None = None) -> OptimizerOptions:
        """Options of the preset, overridden by what earlier cohorts taught and then by the client's choices."""
        asked = {name: value for name, value in self.model_dump(exclude={"preset"}).items() if value is not None}
        return OptimizerOptions.of(self.preset, {**(start or Start()).constants, **asked})


class Strata(BaseModel):
    """Thresholds of the risk strata: high at or above `high`, medium at or above `medium`, otherwise low."""

    model_config = _FROZEN

    high: Annotated[float, Field(gt=0, lt=1)]
    medium: Annotated[float, Field(gt=0, lt=1)]


class ConditionSettings(BaseModel):
    """A condition on one feature."""

    model_config = _FROZEN

    feature: Text
    operator: Operator = Field(description="`=` for binary and categorical features, `>=` and `<` for the others.")
    value: bool | float | Text = Field(description="A number in the feature's unit, or a level.")


class PriorRuleSettings(BaseModel):
    """A clinician's expectation: patients who satisfy all conditions are in the stratum with this probability."""

    model_config = _FROZEN

    conditions: Annotated[list[ConditionSettings], Field(min_length=1, max_length=4)]
    stratum: Literal["high", "medium", "low"]
    probability: Annotated[
        float, Field(gt=0, lt=1, description="Probability that a matching patient is in the stratum.")
    ]
    strength: Annotated[float, Field(gt=0, le=100_000, description="Weight of the expectation, in patients.")] = 10.0

    def stated(self) -> PriorRule:
        """Convert to the interpreter's rule."""
        conditions = tuple(Condition(c.feature, c.operator, c.value) for c in self.conditions)
        return PriorRule(conditions, self.stratum, Prior(self.probability, self.strength))


class SearchSettings(BaseModel):
    """All settings of a search, with their defaults."""

    model_config = _FROZEN

    @property
    def evaluation_s(self) -> float:
        """Limit of an evaluation on all patients, in processor seconds."""
        return self.limits.evaluation_s or max(MAX_EVALUATION_S, self.budget.time_s / 4)

    @property
    def final_s(self) -> float:
        """Limit of a slowed finalist's evaluation, and of a refit, in processor seconds; the search's end is sooner."""
        return self.limits.evaluation_s or max(MAX_EVALUATION_S, self.budget.time_s)

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
        description="Metric to optimise, as the mean over the folds. The first five are for outcomes without event "
        "times. The last four are for event times; their default is uno_c, or time_dependent_auc in mode temporal.",
    )
    thresholds: Thresholds = Field(
        THRESHOLDS,
        description="Lowest and highest risk at which a patient might be treated. The net benefit is the mean over "
        "this range, as the metric and in the report.",
    )
    folds: Annotated[int, Field(ge=2, le=50)] | None = Field(
        None,
        description="Number of folds of the cross-validation. The default is 5, or 2 above 50,000 rows; it is lowered "
        "for small classes.",
    )
    repeats: Annotated[int, Field(ge=1, le=20)] | None = Field(
        None, description="Number of times that folds are made. The default is 1, or 2 below 500 patients."
    )
    racing: bool = Field(
        default=True,
        description="Whether to stop a configuration, from the second fold on, if its probability of beating the best "
        "one is below 5 %.",
    )
    missing_indicators: bool = Field(
        default=False, description="Whether to add a column for each feature with missing cells that marks them."
    )
    batch_size: Annotated[int, Field(ge=1, le=64)] = Field(
        4,
        description="Number of configurations proposed at once, while the previous batch is evaluated.",
    )
    warm_start: bool = Field(
        default=True,
        description="Whether to start from earlier cohorts: open and shared ones and, unless this cohort is shared, "
        "the owner's own.",
    )
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(0, description="Seed of folds, pipelines and proposals.")
    budget: Budget = Budget()
    limits: EvaluationLimits = EvaluationLimits()
    space: NamedAlgorithms = Field(
        default_factory=dict,
        description="Names of the algorithms to use, by stage, as in `GET /v1/space`; or `table_1` for those of the "
        "source's Table 1. The default is all.",
    )
    opening: bool = Field(
        default=True,
        description="Whether to first evaluate a list of strong and diverse pipelines for the cohort's size, before "
        "the optimizer proposes.",
    )
    reduction: Reduction = Field(
        "discrete_time",
        description="How classifiers learn from event times: by the hazards of intervals, which give whole curves "
        "(`discrete_time`), or by the event until each horizon, with patients weighted by the inverse probability of "
        "censoring (`ipcw`).",
    )
    window: Window | Annotated[list[Window], Field(min_length=1, max_length=10)] = Field(
        3,
        description="For a cohort of visits: number of last visits that a prediction uses, including the present one. "
        "Of several numbers, the search chooses the best with the rest of the pipeline.",
    )
    optimizer: OptimizerSettings = OptimizerSettings()
    ensemble: EnsembleName = Field(
        "blend",
        description="How the model is made from the evaluations: weights by log scores (`pseudo_bma`), the most "
        "likely average (`linear_pool`), a mixture of both that depends on the number of patients with the rarer "
        "outcome (`blend`), weights by the probability of being the best (`model_averaging`, the source's), greedy "
        "selection with bagging (`greedy`), a stacked logistic combination (`stacking`), or the best configuration "
        "alone (`best`).",
    )
    subgroups: list[Text] | None = Field(
        None,
        description="Features by whose values the model is also measured. The default is sex and age, if present.",
    )
    strata: Strata | None = Field(
        None,
        description="Thresholds of the risk strata. The default is the upper and middle thirds of the out-of-fold "
        "risks.",
    )
    prior_rules: Annotated[list[PriorRuleSettings], Field(max_length=30)] = Field(
        [],
        description="Prior knowledge of who is at risk. The data update these rules, and they are always shown.",
    )
