"""Documents of searches with event times."""

from __future__ import annotations

from pydantic import BaseModel, Field

from api.searches.score_schemas import Bounds, InstabilityDocument, Interval, NetBenefitDocument


class OverallDocument(BaseModel):
    """Measures of whole risk curves: out of fold; those sensitive to calibration, recalibrated by other patients."""

    uno_c: float | None = Field(None, description="Uno's concordance until `until`; null with competing causes")
    wolbers_c: float | None = Field(None, description="Wolbers's until `until`, with competing causes alone")
    c_index: float = Field(description="Harrell's, by the risk until the last horizon")
    time_dependent_auc: float = Field(description="mean over the horizons")
    integrated_brier: float = Field(
        description="by the trapezoid rule over the times of the search, from `since` to `until`, divided by their span"
    )
    since: float = Field(description="first of the times of the search")
    until: float = Field(description="the last one, which is the last horizon: tau")


class DCalibrationDocument(BaseModel):
    """Whether the survival predicted at each patient's own time is uniform, up to the last horizon."""

    statistic: float = Field(description="0 or more; lower is better")
    p_value: float = Field(description="small speaks against the model; with censoring it is too large")
    proportions: list[float] = Field(description="share of patients by tenth of survival; a tenth each is ideal")


class HorizonPerformanceDocument(BaseModel):
    """Performance of the risks until a horizon."""

    horizon: float
    auc: float = Field(description="cumulative cases against dynamic controls")
    brier: float = Field(description="with weights of inverse probability of censoring")
    brier_skill: float = Field(description="1 - Brier / Brier of giving everyone the incidence")
    observed: Interval = Field(description="incidence by the horizon, Aalen-Johansen")
    expected_observed: Interval = Field(description="expected over observed incidence; 1 is ideal")
    slope: Interval | None = Field(
        description="calibration slope on the scale of cloglog, by pseudo-values; 1 is ideal"
    )
    intercept: Interval = Field(description="0 is ideal; above 0, risks are too low on the whole")
    ici: float = Field(description="integrated calibration index, against pseudo-values")
    e50: float
    e90: float
    intervals: dict[str, Bounds] | None = Field(
        None,
        description="of `auc`, `brier`, `brier_skill`, `ici`, `e50` and `e90`, of level 0.95; null in searches "
        "that ended before they were told",
    )


class HorizonCurveDocument(BaseModel):
    """Observed incidence by risk, smoothed over pseudo-values."""

    risk: list[float] = Field(description="ascending, a number a risk in the other lists too")
    observed: list[float]
    lower: list[float]
    upper: list[float]


class CalibrationGroupsDocument(BaseModel):
    """Groups of patients by risk, ascending."""

    n: list[int]
    risk: list[float] = Field(description="mean of the group")
    observed: list[float | None] = Field(description="Aalen-Johansen")
    lower: list[float | None]
    upper: list[float | None]


class PatientsByRiskDocument(BaseModel):
    """Number of patients by risk."""

    edges: list[float]
    patients: list[int] = Field(description="between one edge and the next")


class CauseDocument(BaseModel):
    """Performance of the risks of a cause that competes with the event of interest."""

    cause: str = Field(description="its value in the file")
    n_events: int = Field(description="patients whom it took until the horizon")
    performance: HorizonPerformanceDocument | None = Field(
        description="as of the event of interest: whoever another cause has taken is without it"
    )
    reason: str | None = Field(description="why it could not be measured")


class HorizonDocument(BaseModel):
    """The model at one horizon: out of fold, recalibrated by other patients."""

    horizon: float
    performance: HorizonPerformanceDocument
    baseline: HorizonPerformanceDocument | None = Field(description="the simple pipeline's")
    calibration_curve: HorizonCurveDocument
    calibration_groups: CalibrationGroupsDocument
    net_benefit: NetBenefitDocument
    gain_over_baseline: dict[str, Interval] | None = Field(
        None,
        description="`auc` and `brier` of the ensemble less the simple pipeline's, paired; null without the latter",
    )
    risk_distribution: PatientsByRiskDocument
    causes: list[CauseDocument] | None = Field(
        None,
        description="the causes that compete with the event of interest, recalibrated with it; null where there is "
        "none, and in searches that ended before it was told",
    )
    instability: InstabilityDocument | None = Field(None, description="null where patients' risks have no intervals")
