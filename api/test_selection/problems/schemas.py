"""Documents of test-selection problems."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from api.catalogues.schemas import PricesDocument, TestsOfCatalogue
from api.collecting import FaultCollector
from api.diagnosis.names import MAX_NAME
from api.problems import Problem

# Values that `autoprog.csmd` checks are taken as they come, so that one response names the faults of all
# parts; the schemas show what is valid.
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_COST = {"type": "number", "minimum": 0}
_TRADE_OFF: dict[str, Any] = {"anyOf": [_COST, {"type": "array", "items": _COST}], "default": 1}
_STEP = {
    "type": "object",
    "required": ["algorithm"],
    "properties": {"algorithm": {"type": "string"}, "parameters": {"type": "object"}},
}

Number = float | Literal["inf"]


class DiagnosticTestRequest(BaseModel):
    """A test that can be ordered for a patient."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[Any, WithJsonSchema(_NAME)]
    cost: Annotated[Any, WithJsonSchema(_COST)] = Field(
        description="Cost of the test, at least 0, in money, time or harm."
    )
    features: Annotated[Any, WithJsonSchema({"type": "array", "items": _NAME})] = Field(
        None, description="Features of the cohort that the test measures. Only with `cohort_id`."
    )


_CASCADE: JsonDict = {
    "name": "diabetes",
    "structure": "cascade",
    "algorithm": "ts",
    "tests": [{"name": "history", "cost": 1}, {"name": "glucose", "cost": 17.61}, {"name": "insulin", "cost": 22.78}],
    "trade_off": 0.01,
}
_TRAINED: JsonDict = {
    "name": "chest pain",
    "structure": "cascade",
    "cohort_id": "0123",
    "tests": [
        {"name": "history", "cost": 1, "features": ["age", "sex", "cp"]},
        {"name": "exercise ECG", "cost": 87.3, "features": ["thalach", "exang"]},
    ],
    "trade_off": 0.001,
}


class ProblemRequest(FaultCollector, TestsOfCatalogue):
    """Tests to choose from. With `cohort_id`, a classifier is trained for each arm, and rounds take measurements."""

    model_config = ConfigDict(json_schema_extra={"examples": [_CASCADE, _TRAINED]})

    name: Annotated[Any, WithJsonSchema(_NAME)]
    structure: Annotated[Any, WithJsonSchema({"enum": ["cascade", "subset"]})] = Field(
        description="`cascade`: tests in the given order, as many as needed. `subset`: tests in any combination, at "
        "most 10."
    )
    algorithm: Annotated[Any, WithJsonSchema({"enum": ["ts", "kl_ucb", "ucb1"], "default": "ts"})] = "ts"
    a: Annotated[Any, WithJsonSchema({"type": "number", "minimum": 0})] = Field(
        None, description="Weight of log log t in the index, for `kl_ucb`. The default is 0."
    )
    alpha: Annotated[Any, WithJsonSchema({"type": "number", "exclusiveMinimum": 0.5})] = Field(
        None, description="Width of the index, for `ucb1`. The default is 0.51."
    )
    tests: list[DiagnosticTestRequest] | None = Field(None, description="The tests, unless they come from a catalogue.")
    trade_off: Annotated[Any, WithJsonSchema(_TRADE_OFF)] = Field(
        1.0, description="lambda: errors that a unit of cost is worth; one number for all arms, or one per arm."
    )
    seed: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0, "default": 0})] = 0
    cohort_id: Annotated[str, Field(max_length=64)] | None = None
    configuration: Annotated[Any, WithJsonSchema({"type": "object", "additionalProperties": _STEP})] = Field(
        None,
        description="Stages of every arm's pipeline, as `GET /v1/space` names them. The default is median imputation "
        "and a logistic regression, with default hyperparameters.",
    )
    folds: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 2})] = Field(
        None, description="Number of folds of the out-of-sample predictions. The default is 10."
    )
    threshold: Annotated[Any, WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})] = Field(
        None, description="Risk from which the prediction is 1. The default is 0.5."
    )


class DiagnosticTestDocument(BaseModel):
    """A test that can be ordered."""

    name: str
    cost: float
    features: list[str]


class ArmDocument(BaseModel):
    """An arm (a group of tests), with its cost and rounds."""

    id: str
    tests: list[str]
    cost: float = Field(description="Total cost of its tests, in their unit.")
    scaled_cost: float = Field(description="Cost times the trade-off, in errors.")
    chosen: int = Field(description="Number of rounds in which the arm was chosen.")
    feedback: int = Field(description="Number of these rounds with feedback.")


class DisagreementDocument(BaseModel):
    """How often two arms disagree, estimated without the truth."""

    first: str
    second: str
    observations: int
    estimate: float | None
    lower: float = Field(description="Lower end of a 95 % interval that holds at all times at once.")
    upper: float


class WeakDominanceDocument(BaseModel):
    """Evidence for weak dominance of the arm that the estimates choose."""

    arm: str
    is_fallback: bool = Field(description="Whether it is the last arm because no arm is in both selection sets.")
    margin: float | None = Field(description="Estimate of xi, if the arm is the best one.")
    lower: float | None
    upper: float | None
    verdict: Literal["supported", "refuted", "open", "unknown", "vacuous"] = Field(
        description="`unknown` means that other arms cost the same: no round can tell which of them is the best."
    )
    says: str


class StrongDominanceDocument(BaseModel):
    """Evidence for strong dominance."""

    rounds: int
    reversals: int
    share: float | None
    lower: float
    upper: float
    says: str


class CostDocument(BaseModel):
    """Cost of the tests in the rounds measured so far."""

    total: float
    mean_per_patient: float | None = Field(description="Mean over the closed rounds.")


class TrainingDocument(BaseModel):
    """The training data of the arms' classifiers, and their out-of-sample errors."""

    n_patients: int
    features: list[str]
    errors: dict[str, float] = Field(description="Share of wrong out-of-sample predictions, by arm id.")
    notes: list[str]


class ProblemSummary(BaseModel):
    """A problem in a list."""

    id: str
    name: str
    structure: Literal["cascade", "subset"]
    algorithm: Literal["ts", "kl_ucb", "ucb1"]
    a: float | None = Field(description="Weight of log log t, for `kl_ucb`.")
    alpha: float | None = Field(description="Width of the index, for `ucb1`.")
    tests: list[DiagnosticTestDocument]
    catalogue_id: str | None = Field(description="Catalogue that the tests were taken from.")
    prices: PricesDocument | None = Field(description="Prices of the catalogue's tests, which are their costs here.")
    trade_off: float | list[float]
    ties: Literal["more_tests", "fewer_tests"] = Field(
        description="Which of two subsets of equal cost comes first. `fewer_tests` occurs only in old problems."
    )
    seed: int
    cohort_id: str | None
    patients_erased: int = Field(0, description="Number of patients of its cohort who were erased since.")
    takes: Literal["predictions", "measurements"] = Field(description="Content of feedback.")
    status: Literal["ready", "training", "failed"]
    job_id: str | None = Field(description="Job that trains the classifiers.")
    error: Problem | None
    n_rounds: int = Field(description="Number of rounds opened so far, which is the number of the last one.")
    n_feedback: int = Field(description="Number of rounds closed so far.")
    created_at: datetime


class ProblemDocument(ProblemSummary):
    """A problem and the estimates from its feedback."""

    configuration: dict[str, Any] | None
    folds: int | None
    threshold: float | None
    training: TrainingDocument | None
    arms: list[ArmDocument]
    disagreements: list[DisagreementDocument] = Field(
        description="Disagreements of the first 1,000 pairs of arms. `.../disagreements` lists all."
    )
    n_pairs: int
    weak_dominance: WeakDominanceDocument
    strong_dominance: StrongDominanceDocument
    cost: CostDocument
    warnings: list[str]
