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
    """A possible diagnosis: a disease, or an earlier patient."""

    name: Name
    group: Annotated[Any, WithJsonSchema(_NAME)] = Field(
        None,
        description="Group of objects that need the same response. If no object has a group, each is its own group.",
    )
    prior: Annotated[Any, WithJsonSchema(_POSITIVE)] = Field(
        None, description="Probability or count. If no object has a prior, all are equally likely."
    )


class DiagnosisQuery(_Strict):
    """A finding that can be asked for."""

    name: Name
    cost: Annotated[Any, WithJsonSchema(_POSITIVE | {"default": 1})] = None
    false_positive_rate: Annotated[Any, WithJsonSchema(_RATE | {"default": 0})] = Field(
        None, description="Probability of the answer yes if the response is 0."
    )
    false_negative_rate: Annotated[Any, WithJsonSchema(_RATE | {"default": 0})] = Field(
        None, description="Probability of the answer no if the response is 1."
    )


class ModelChoices(_Strict):
    """Options for choosing the next question."""

    name: Annotated[Any, WithJsonSchema(_NAME)] = Field(description="Name of the model.", examples=["jaundice"])
    algorithm: Algorithm = Field(
        None, description="Rule that chooses the next question. The default follows from the groups and the base."
    )
    exponential_cost_base: Annotated[Any, WithJsonSchema(_BASE)] = Field(
        1,
        description='lambda, at least 1: 1 minimises the expected cost, larger values avoid long sessions, "inf" '
        "minimises the longest session.",
    )
    stop: Annotated[Any, WithJsonSchema({"enum": ["object", "group"]})] = Field(
        None, description="Target to identify. The default follows from the algorithm."
    )
    ties: Annotated[Any, WithJsonSchema({"enum": ["first", "random"], "default": "first"})] = "first"
    seed: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0, "default": 0})] = 0
    max_objects: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1, "default": 1})] = Field(
        1,
        description="Maximum number of objects present at once. If it is above 1, each prior is the probability that "
        "the object is present, and they need not sum to 1; if one is 1 or more, they are counts.",
    )
    max_errors: Annotated[Any, WithJsonSchema({"type": ["integer", "null"], "minimum": 0, "default": None})] = Field(
        None,
        description="Maximum number of wrong answers; a wrong answer stays wrong if the question is repeated. With "
        "it, a model with error rates has a tree and an exponential cost. Null: any number of answers may be wrong, "
        "and there is no tree.",
    )


_EXAMPLE: JsonDict = {
    "name": "toy",
    "objects": [
        {"name": "hepatitis", "group": "ward"},
        {"name": "haemolysis", "group": "ward"},
        {"name": "Gilbert", "group": "ward"},
        {"name": "gallstone", "group": "surgery"},
    ],
    "queries": [{"name": "pain"}, {"name": "dark urine", "cost": 1}, {"name": "fever"}],
    "responses": [[0, 1, 1], [1, 1, 0], [0, 1, 0], [1, 0, 0]],
    "algorithm": "ggbs",
}


class DiagnosisModelRequest(ModelChoices):
    """A model whose responses are part of the request: at most 10^6."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    objects: list[DiagnosisObject]
    queries: list[DiagnosisQuery]
    responses: Annotated[
        Any,
        WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"enum": [0, 1, None]}}}),
    ] = Field(
        description="One row per object and one column per query. Null is an unknown response, allowed only for a "
        "query with an error rate."
    )


class CohortModelRequest(ModelChoices):
    """A model whose objects are the distinct patients of a cohort, weighted by their frequency."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "chest pain", "cohort_id": "0123", "thresholds": {"age": [40, 60]}}]},
    )

    cohort_id: Annotated[str, Field(max_length=64)]
    group: str | None = Field(None, description="Feature whose level is identified. The default is the outcome.")
    findings: list[str] | None = Field(None, description="Features that can be asked for. The default is all.")
    thresholds: dict[str, list[FiniteFloat]] = Field(
        default_factory=dict,
        description="Thresholds of numeric findings. An omitted one is cut where it is most informative on the group.",
    )
    false_positive_rate: FiniteFloat = Field(0, description="False-positive rate of every query.")
    false_negative_rate: FiniteFloat = Field(
        0, description="False-negative rate of every query. With missing cells, one of the two rates must be above 0."
    )


class DiagnosisModelSpec(ModelChoices):
    """The part `spec` of an upload: everything except the responses."""

    objects: list[DiagnosisObject] | None = Field(
        None, description="Objects in the file's order, if the file does not name them."
    )
    queries: list[DiagnosisQuery] | None = Field(
        None, description="Query columns, in order. The default is all columns without another role."
    )
    object_column: str | None = Field(
        None, description="Column of the objects' names. The default is `object`, if there is such a column."
    )
    group_column: str | None = Field(
        None, description="Column of the objects' groups. The default is `group`, if there is such a column."
    )
    prior_column: str | None = Field(
        None, description="Column of the objects' priors or counts. The default is `prior`, if there is such a column."
    )


CHOICES_OF_COHORT = CohortModelRequest.model_fields.keys() - ModelChoices.model_fields.keys()
"""Keys without which a cohort would be read otherwise than intended."""

ROLES_OF_UPLOAD = DiagnosisModelSpec.model_fields.keys() - ModelChoices.model_fields.keys()
"""Keys without which a file would be read otherwise than intended."""


class TreeState(BaseModel):
    """Status and size of a model's tree."""

    status: Literal["none"] | JobStatus
    job_id: str | None = Field(description="Job that builds the tree. Null if it was built with the model.")
    error: Problem | None
    n_nodes: int | None
    n_leaves: int | None
    depth: int | None = Field(description="Largest number of questions asked.")
    n_ambiguous: int | None = Field(description="Number of leaves whose objects no question can tell apart.")


class DiagnosisModelDocument(BaseModel):
    """A diagnosis model."""

    id: str
    name: str
    cohort_id: str | None
    patients_erased: int = Field(0, description="Number of patients of its cohort who were erased since.")
    n_objects: int
    n_queries: int
    n_groups: int
    algorithm: str
    exponential_cost_base: float | Literal["inf"]
    stop: Literal["object", "group"]
    ties: Literal["first", "random"]
    seed: int
    max_objects: int = Field(1, description="Maximum number of objects present at once.")
    max_errors: int | None = Field(
        None, description="Maximum number of wrong answers. Null: the error rates set no limit."
    )
    noisy: bool = Field(description="Whether answers may be wrong. If so, sessions weigh them and there is no tree.")
    unidentifiable: list[list[str]] = Field(
        description="Sets of objects that no question can tell apart although they should be identified."
    )
    n_unidentifiable: int = Field(description="Number of such sets. If there are many, only the first are listed.")
    entropy_bound: float | None = Field(
        description="Lower bound of the expected cost of any tree. Null if there is no tree."
    )
    exponential_bound: float | None = Field(description="Lower bound of the exponential cost of any tree.")
    expected_cost: float | None = Field(description="Expected cost of the tree. Null until the tree is built.")
    exponential_cost: float | None = Field(
        description="Exponential cost of the tree: log_lambda of the mean of lambda^cost."
    )
    worst_case: float | None
    tree: TreeState
    thresholds: dict[str, list[float]] = Field(
        description="Thresholds of a cohort's numeric findings. The answer is yes above the threshold."
    )
    warnings: list[str]
    sha256: str
    created_at: datetime


class _TreeNode(BaseModel):
    node: int
    depth: int = Field(description="Number of questions asked before this node.")
    probability: float


class TreeQuestion(_TreeNode):
    """A node with a question."""

    query: str
    no: int = Field(description="Number of the node that follows the answer no.")
    yes: int


class TreeLeaf(_TreeNode):
    """A node without a question."""

    objects: list[str] = Field(description="Objects that agree with all answers.")
    group: str | None = Field(description="Identified group. Null if the leaf is ambiguous.")
    groups: dict[str, float] = Field(description="Probability of each remaining group.")


class TreeDocument(BaseModel):
    """A tree, or the part below one node."""

    model_id: str
    node: int = Field(description="Root of this part. 0 is the root of the whole tree.")
    depth: int = Field(description="Number of levels shown below the root of this part.")
    complete: bool = Field(description="Whether nothing lies below the shown nodes.")
    n_nodes: int = Field(description="Number of nodes of the whole tree. The costs are of the whole tree too.")
    expected_cost: float
    exponential_cost: float
    worst_case: float
    nodes: list[TreeQuestion | TreeLeaf] = Field(
        description="Nodes in the order of their numbers, the root first. Questions refer to their children by number."
    )


class OptimumDocument(BaseModel):
    """The optimal tree of a small model, and the cost of the model's own tree."""

    model_id: str
    objective: Literal["expected", "exponential", "worst_case"] = Field(
        description="Cost that is minimal for this tree."
    )
    cost: float
    grown_cost: float | None = Field(
        description="The same cost of the model's own tree. Null until that tree is built."
    )
    nodes: list[TreeQuestion | TreeLeaf]
