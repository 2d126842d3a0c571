"""Documents of diagnosis models and their trees."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, WithJsonSchema
from pydantic.config import JsonDict

from api.diagnosis.names import MAX_NAME
from api.problems import Problem
from autoprog.storage.tables import JobStatus

MAX_INLINE_CELLS = 1_000_000
"""Largest number of responses of a model sent as JSON."""

# Values that `autoprog.diagnosis` checks are taken as they come, so that one response names the faults of all parts;
# the schemas show what is valid.
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
_RATE = {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_BASE: dict[str, Any] = {"anyOf": [{"type": "number", "minimum": 1}, {"const": "inf"}], "default": 1}
_ALGORITHM = {"enum": ["gbs", "ggbs", "lambda_gbs", "group_lambda_gbs"]}

Name = Annotated[Any, WithJsonSchema(_NAME)]
Algorithm = Annotated[Any, WithJsonSchema(_ALGORITHM)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class DiagnosisObject(_Strict):
    """A possible diagnosis: a disease, or a patient seen before."""

    name: Name
    group: Annotated[Any, WithJsonSchema(_NAME)] = Field(
        None, description="the response that it calls for; absent on all objects: each is its own group"
    )
    prior: Annotated[Any, WithJsonSchema(_POSITIVE)] = Field(
        None, description="probability or count; absent on all objects: all are equally likely"
    )


class DiagnosisQuery(_Strict):
    """A finding that can be asked for."""

    name: Name
    cost: Annotated[Any, WithJsonSchema(_POSITIVE | {"default": 1})] = None
    false_positive_rate: Annotated[Any, WithJsonSchema(_RATE | {"default": 0})] = Field(
        None, description="probability of the answer yes where the response is 0"
    )
    false_negative_rate: Annotated[Any, WithJsonSchema(_RATE | {"default": 0})] = Field(
        None, description="probability of the answer no where the response is 1"
    )


class ModelChoices(_Strict):
    """How the next question is chosen."""

    name: Annotated[Any, WithJsonSchema(_NAME)] = Field(description="as it is to be called", examples=["jaundice"])
    algorithm: Algorithm = Field(None, description="by default from groups and base")
    exponential_cost_base: Annotated[Any, WithJsonSchema(_BASE)] = Field(
        1, description='lambda: 1 counts questions, more shuns long sessions, "inf" looks at the longest alone'
    )
    stop: Annotated[Any, WithJsonSchema({"enum": ["object", "group"]})] = Field(
        None, description="what is to be identified; by default what the algorithm is for"
    )
    ties: Annotated[Any, WithJsonSchema({"enum": ["first", "random"], "default": "first"})] = "first"
    seed: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0, "default": 0})] = 0
    max_objects: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1, "default": 1})] = Field(
        1,
        description="how many objects may be there at once, each with its prior as probability",
    )
    max_errors: Annotated[Any, WithJsonSchema({"type": ["integer", "null"], "minimum": 0, "default": None})] = Field(
        None,
        description="so many answers may be wrong at most, and stay wrong when asked again; gives queries with error "
        "rates a tree and an exponential cost. Null: any number may be wrong, and there is no tree",
    )


_EXAMPLE: JsonDict = {
    "name": "toy",
    "objects": [
        {"name": "hepatitis", "group": "ward"},
        {"name": "haemolysis", "group": "ward"},
        {"name": "Gilbert", "group": "ward"},
        {"name": "gallstone", "group": "surgery", "prior": None},
    ],
    "queries": [{"name": "pain"}, {"name": "dark urine", "cost": 1}, {"name": "fever"}],
    "responses": [[0, 1, 1], [1, 1, 0], [0, 1, 0], [1, 0, 0]],
    "algorithm": "ggbs",
}


class DiagnosisModelRequest(ModelChoices):
    """A model whose responses are in the request: at most 10^6 cells."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    objects: list[DiagnosisObject]
    queries: list[DiagnosisQuery]
    responses: Annotated[
        Any,
        WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"enum": [0, 1, None]}}}),
    ] = Field(description="a row an object, a column a query; null, where the query has an error rate, is not known")


class CohortModelRequest(ModelChoices):
    """A model whose objects are the distinct patients of a cohort, weighted by their frequency."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "chest pain", "cohort_id": "0123", "thresholds": {"age": [40, 60]}}]},
    )

    cohort_id: Annotated[str, Field(max_length=64)]
    group: str | None = Field(None, description="feature whose level is to be identified; by default the outcome")
    findings: list[str] | None = Field(None, description="features that can be asked for; by default all")
    thresholds: dict[str, list[FiniteFloat]] = Field(
        default_factory=dict, description="where numeric findings are cut; of those left out it is learnt"
    )
    false_positive_rate: FiniteFloat = Field(0, description="of every query")
    false_negative_rate: FiniteFloat = Field(0, description="of every query; missing cells need one of the two")


class DiagnosisModelSpec(ModelChoices):
    """The part `spec` of an upload: everything but the responses."""

    objects: list[DiagnosisObject] | None = Field(None, description="in the file's order, where the file names none")
    queries: list[DiagnosisQuery] | None = Field(
        None, description="columns that are queries, in order; by default all that have no other role"
    )
    object_column: str | None = Field(None, description="column of the objects' names; by default `object` if there")
    group_column: str | None = Field(None, description="column of their groups; by default `group` if there")
    prior_column: str | None = Field(None, description="column of their priors or counts; by default `prior` if there")


CHOICES_OF_COHORT = CohortModelRequest.model_fields.keys() - ModelChoices.model_fields.keys()
"""Keys without which a cohort would be read otherwise than intended."""

ROLES_OF_UPLOAD = DiagnosisModelSpec.model_fields.keys() - ModelChoices.model_fields.keys()
"""Keys without which a file would be read otherwise than intended."""


class TreeState(BaseModel):
    """Whether the tree is built."""

    status: Literal["none"] | JobStatus
    job_id: str | None = Field(description="the job that builds it; null where it was built with the model")
    error: Problem | None
    n_nodes: int | None
    n_leaves: int | None
    depth: int | None = Field(description="most questions asked")
    n_ambiguous: int | None = Field(description="leaves whose objects no question tells apart")


class DiagnosisModelDocument(BaseModel):
    """A diagnosis model."""

    id: str
    name: str
    cohort_id: str | None
    n_objects: int
    n_queries: int
    n_groups: int
    algorithm: str
    exponential_cost_base: float | Literal["inf"]
    stop: Literal["object", "group"]
    ties: Literal["first", "random"]
    seed: int
    max_objects: int = Field(1, description="how many objects may be there at once")
    max_errors: int | None = Field(None, description="how many answers may be wrong; null: as many as error rates say")
    noisy: bool = Field(description="whether answers may be wrong: sessions weigh them, and there is no tree")
    unidentifiable: list[list[str]] = Field(description="objects that no question tells apart, though they should be")
    n_unidentifiable: int = Field(description="how many such sets there are; of many the first are listed")
    entropy_bound: float | None = Field(description="no tree's expected cost is less; null where there is no tree")
    exponential_bound: float | None = Field(description="no tree's exponential cost is less")
    expected_cost: float | None = Field(description="of the tree, null until that is built")
    exponential_cost: float | None = Field(description="log_lambda of the mean of lambda^cost")
    worst_case: float | None
    tree: TreeState
    thresholds: dict[str, list[float]] = Field(description="numeric findings of a cohort: yes means above")
    warnings: list[str]
    sha256: str
    created_at: datetime


class _TreeNode(BaseModel):
    node: int
    depth: int = Field(description="questions before it")
    probability: float


class TreeQuestion(_TreeNode):
    """A node that asks a question."""

    query: str
    no: int = Field(description="the node that follows the answer no")
    yes: int


class TreeLeaf(_TreeNode):
    """A node that asks nothing more."""

    objects: list[str] = Field(description="what agrees with all answers")
    group: str | None = Field(description="what is identified; null where the leaf is ambiguous")
    groups: dict[str, float] = Field(description="the probability of all that is left")


class TreeDocument(BaseModel):
    """A tree, or the part of it below one node."""

    model_id: str
    node: int = Field(description="root of this part; 0 is the root of all")
    depth: int = Field(description="levels below it that are shown")
    complete: bool = Field(description="whether nothing lies below what is shown")
    n_nodes: int = Field(description="of the whole tree, as the costs are")
    expected_cost: float
    exponential_cost: float
    worst_case: float
    nodes: list[TreeQuestion | TreeLeaf] = Field(
        description="by number, the root first; children are found by their numbers"
    )


class OptimumDocument(BaseModel):
    """The best tree of a small model, and the cost of the one that was grown."""

    model_id: str
    objective: Literal["expected", "exponential", "worst_case"] = Field(description="the cost that no tree is below")
    cost: float
    grown_cost: float | None = Field(description="the same cost of the model's own tree; null until that is built")
    nodes: list[TreeQuestion | TreeLeaf]
