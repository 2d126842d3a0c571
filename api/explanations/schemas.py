"""Documents of explanations."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.models.schemas import MeasuredDocument
from api.problems import Problem
from autoprog.storage.tables import JobStatus


class HorizonLosses(BaseModel):
    """Losses of the measures until a horizon."""

    horizon: float | None = Field(description="Null if the outcome has no time.")
    measures: dict[str, MeasuredDocument] = Field(
        description="Loss, when the input is shuffled, of `auc_roc`, `brier` and `net_benefit`, or of `auc` and "
        "`brier` until a horizon. More is worse: the Brier score's loss is its rise."
    )


class ImportanceDocument(BaseModel):
    """Permutation importance of one input."""

    feature: str
    horizons: list[HorizonLosses]


class EffectDocument(BaseModel):
    """How the risk changes with one input: accumulated local effects of numbers, mean risks by level."""

    feature: str
    kind: Literal["numeric", "levels"]
    at: list[float] | list[str] = Field(description="Values of the input, ascending, or its levels.")
    n: list[int] = Field(description="Patients in the interval that ends at each value, or with each level.")
    change: list[list[float]] = Field(description="Risk less the mean risk, by value and horizon.")


class LearningPoint(MeasuredDocument):
    """The score of the ensemble when it is fitted to fewer patients."""

    n_patients: int


class LearningCurve(BaseModel):
    """The search's score by number of patients."""

    metric: str
    points: list[LearningPoint] = Field(description="Ascending; the last is of whole training folds.")


class FindingDocument(BaseModel):
    """Contribution of one finding of a typical patient."""

    feature: str
    value: float | str
    change: list[float] = Field(description="Risk with the finding less risk without it, by horizon.")


class TypicalPatientDocument(BaseModel):
    """A patient of typical values, who is nobody in the cohort."""

    group: Literal["low", "middle", "high"] = Field(description="Fifth of the patients, by risk out of fold.")
    n: int = Field(description="Patients in the fifth.")
    risk: list[float] = Field(description="By horizon.")
    contributions: list[FindingDocument] = Field(description="Of the most important inputs, in their order.")


class TypicalPatientsDocument(BaseModel):
    """Contributions to the risks of typical patients: medians and most frequent levels of fifths by risk."""

    mean_risk: list[float] = Field(description="Mean of all patients' risks out of fold, by horizon.")
    patients: list[TypicalPatientDocument] = Field(description="By ascending risk; none of too few patients.")


class ExplanationResult(BaseModel):
    """Importance, effects and learning curve of the ensemble, out of fold and before its recalibration."""

    n_patients: int
    folds: int
    shuffles: int = Field(description="Shuffles of every input.")
    importance: list[ImportanceDocument] = Field(description="All inputs, the most important first.")
    effects: list[EffectDocument] = Field(description="The most important inputs' effects; none for visits.")
    learning_curve: LearningCurve
    typical: TypicalPatientsDocument | None = Field(
        None, description="Null for visits, and in explanations of earlier versions."
    )


class ExplanationDocument(BaseModel):
    """An explanation. It has a result once the job is finished."""

    search_id: str
    status: JobStatus
    job_id: str
    error: Problem | None
    result: ExplanationResult | None = Field(description="Null until the job has succeeded.")
    created_at: datetime
