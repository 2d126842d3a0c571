"""Documents of the pipeline space."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from autoprog.cohort import Mode
from autoprog.space import Input, StageName


class NumberDocument(BaseModel):
    """A numeric hyperparameter."""

    name: str
    kind: Literal["float", "integer"]
    range: tuple[int | float, int | float] = Field(description="both ends included")
    scale: Literal["linear", "log"]
    default: int | float


class ChoiceDocument(BaseModel):
    """A hyperparameter with a few unordered values."""

    name: str
    kind: Literal["choice"]
    choices: list[str | bool]
    default: str | bool


class CostDocument(BaseModel):
    """Power law of the seconds that a fit takes with the defaults, on one core."""

    seconds: float = Field(description="of 1,000 patients and 20 columns")
    patients: float = Field(description="exponent of the number of patients")
    columns: float = Field(description="exponent of the number of columns")


class AlgorithmDocument(BaseModel):
    """An algorithm of a stage."""

    name: str
    modes: list[Mode] = Field(description="kinds of outcome that it serves")
    hyperparameters: list[NumberDocument | ChoiceDocument]
    family: str = Field(description="kind of method; algorithms that are expected to behave alike share one")
    takes: list[Input] = Field(
        description="what it can be given: missing cells; negative values (else columns are scaled to [0, 1] before "
        "it); codes of unordered levels (else they are dummies); columns that depend on others linearly (else left "
        "out before it); event times; a weight for every patient"
    )
    cost: CostDocument = Field(
        description="of a fit on n patients, at most `max_patients`, and d columns of the design matrix: about "
        "seconds x (n / 1000)^patients x (d / 20)^columns seconds, an order of magnitude"
    )
    refits: float = Field(
        description="how often it has the stages before it fitted: a pipeline costs the sum of its stages, times the "
        "`refits` of its calibration"
    )
    max_columns: int | None = Field(
        description="widest design matrix that it accepts; wider ones have no pipeline with it. null: no bound"
    )
    max_cells: int | None = Field(
        description="most cells, patients times columns, of the training patients' design matrix that it accepts; "
        "larger ones have no pipeline with it. null: no bound"
    )
    max_patients: int | None = Field(
        description="most patients that a fit uses: of more, a subsample that keeps the share of events. null: all"
    )
    subsample: Literal["fit", "member"] | None = Field(
        description="whether the whole fit uses one subsample, or each member of an ensemble its own; null: neither"
    )
    table_1: bool = Field(
        description="whether it is of the source's Table 1, to which `table_1` as the setting `space` keeps a search"
    )
    path: str | None = Field(
        description="the hyperparameter of which one fit gives every smaller value, so that it bounds what is tried"
    )
    out_of_bag: bool = Field(description="whether one fit to all patients gives every one a risk by trees without him")
    reference: str = Field(description="where the method and the ranges of its hyperparameters come from")


class StageDocument(BaseModel):
    """A stage of the pipeline."""

    name: StageName
    algorithms: list[AlgorithmDocument]


class SpaceDocument(BaseModel):
    """Everything that a search can choose from."""

    stages: list[StageDocument]
    pipelines: int = Field(description="combinations of algorithms; a cohort's size, mode and missing cells mask some")
    dimensions: int = Field(description="hyperparameters of all algorithms, and a choice for each stage")
