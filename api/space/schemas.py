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
    range: tuple[int | float, int | float] = Field(description="Lowest and highest value, both included.")
    scale: Literal["linear", "log"]
    default: int | float


class ChoiceDocument(BaseModel):
    """A hyperparameter with a few unordered values."""

    name: str
    kind: Literal["choice"]
    choices: list[str | bool]
    default: str | bool


class CostDocument(BaseModel):
    """Power law of the seconds of a fit with the default hyperparameters, on one core."""

    seconds: float = Field(description="Seconds for 1,000 patients and 20 columns.")
    patients: float = Field(description="Exponent of the number of patients.")
    columns: float = Field(description="Exponent of the number of columns.")


class AlgorithmDocument(BaseModel):
    """An algorithm of a stage."""

    name: str
    modes: list[Mode] = Field(description="Modes of the cohorts that it serves.")
    hyperparameters: list[NumberDocument | ChoiceDocument]
    family: str = Field(description="Kind of method. Algorithms of one family are expected to behave alike.")
    takes: list[Input] = Field(
        description="Inputs that it accepts: missing cells; negative values (otherwise columns are scaled to [0, 1] "
        "first); codes of unordered levels (otherwise they become dummies); linearly dependent columns (otherwise "
        "they are left out first); event times; a weight for each patient."
    )
    cost: CostDocument = Field(
        description="Cost of a fit on n patients, at most `max_patients`, and d columns of the design matrix: about "
        "seconds x (n / 1000)^patients x (d / 20)^columns seconds, an order of magnitude."
    )
    refits: float = Field(
        description="Cost of fitting the earlier stages for it, in fits to all training patients. A pipeline costs "
        "the sum of its stages, times the `refits` of its calibration."
    )
    max_columns: int | None = Field(
        description="Largest number of columns of the design matrix that it accepts. Wider ones have no pipeline with "
        "it. Null: no limit."
    )
    max_cells: int | None = Field(
        description="Largest number of cells, patients times columns, of the training patients' design matrix that it "
        "accepts. Larger ones have no pipeline with it. Null: no limit."
    )
    max_patients: int | None = Field(
        description="Largest number of patients that a fit uses. Larger cohorts are subsampled with the share of "
        "events kept. Null: all patients."
    )
    subsample: Literal["fit", "member"] | None = Field(
        description="Whether the whole fit uses one subsample, or each member of an ensemble its own. Null: no "
        "subsample."
    )
    table_1: bool = Field(
        description="Whether it is in the source's Table 1. The setting `space` limits a search to these with "
        "`table_1`."
    )
    path: str | None = Field(
        description="Hyperparameter whose smaller values all come with one fit, so that it is an upper bound of what "
        "is tried."
    )
    out_of_bag: bool = Field(
        description="Whether one fit to all patients gives each patient a risk from trees that did not use that "
        "patient."
    )
    reference: str = Field(description="Source of the method and of its hyperparameters' ranges.")


class StageDocument(BaseModel):
    """A stage of the pipeline."""

    name: StageName
    algorithms: list[AlgorithmDocument]


class SpaceDocument(BaseModel):
    """All algorithms that a search can choose from."""

    stages: list[StageDocument]
    pipelines: int = Field(
        description="Number of combinations of algorithms. A cohort's size, mode and missing cells exclude some."
    )
    dimensions: int = Field(description="Number of hyperparameters of all algorithms, plus a choice for each stage.")
