"""Documents of searches with event times."""

from __future__ import annotations

from pydantic import BaseModel, Field

from api.searches.score_schemas import (
    Bounds,
    InstabilityDocument,
    Interval,
    NetBenefitDocument,
    OperatingDocument,
)


class OverallDocument(BaseModel):
    """Measures of whole risk curves, out of fold. Those sensitive to calibration are recalibrated on other patients."""

    uno_c: float | None = Field(None, description="Uno's concordance until `until`. Null with competing causes.")
    wolbers_c: float | None = Field(
        None, description="Wolbers's concordance until `until`. Null without competing causes."
    )
    c_index: float = Field(description="Harrell's concordance of the risk until the last horizon.")
    time_dependent_auc: float = Field(description="Mean time-dependent AUC over the horizons.")
    integrated_brier: float = Field(
        description="Brier score integrated over the times of the search by the trapezoid rule, from `since` to "
        "`until`, divided by their span."
    )
    since: float = Field(description="First time of the search.")
    until: float = Field(description="Last time of the search, which is the last horizon: tau.")
    intervals: dict[str, Bounds] | None = Field(
        None, description="Intervals, of level 0.95, of an ensemble's corrected measures. Else null."
    )
    uncorrected: dict[str, float] | None = Field(
        None,
        description="Values, by measure, before the correction for choosing the ensemble's weights by the same "
        "patients. Null for a model that was not so chosen.",
    )


class DCalibrationDocument(BaseModel):
    """Whether the survival predicted at each patient's own time is uniform, up to the last horizon."""

    statistic: float = Field(description="Test statistic, at least 0. Lower is better.")
    p_value: float = Field(
        description="p-value. A small one is evidence against the model; with censoring it is too large."
    )
    proportions: list[float] = Field(
        description="Share of patients by tenth of predicted survival. One tenth each is ideal."
    )


class HorizonPerformanceDocument(BaseModel):
    """Performance of the risks until a horizon."""

    horizon: float
    auc: float = Field(description="AUC of cumulative cases against dynamic controls.")
    brier: float = Field(description="Brier score, weighted by the inverse probability of censoring.")
    brier_skill: float = Field(
        description="1 - Brier / Brier of predicting the incidence for everyone. 0 is no better than the incidence."
    )
    observed: Interval = Field(description="Observed incidence by the horizon (Aalen-Johansen).")
    expected_observed: Interval = Field(description="Expected over observed incidence. 1 is ideal.")
    slope: Interval | None = Field(
        description="Calibration slope on the cloglog scale, from pseudo-values. 1 is ideal."
    )
    intercept: Interval = Field(description="Calibration intercept. 0 is ideal; above 0, risks are too low overall.")
    ici: float = Field(description="Integrated calibration index, against pseudo-values.")
    e50: float
    e90: float
    intervals: dict[str, Bounds] | None = Field(
        None,
        description="Intervals, of level 0.95, of `auc`, `brier`, `brier_skill`, `ici`, `e50` and `e90`. Null in "
        "searches that ended before this field existed.",
    )
    uncorrected: dict[str, float] | None = Field(
        None,
        description="Values, by measure, before the correction for choosing the ensemble's weights by the same "
        "patients. Null for a model that was not so chosen.",
    )


class HorizonCurveDocument(BaseModel):
    """Observed incidence by risk, smoothed over pseudo-values."""

    risk: list[float] = Field(description="Risks, ascending. The other lists have one number per risk.")
    observed: list[float]
    lower: list[float]
    upper: list[float]


class CalibrationGroupsDocument(BaseModel):
    """Groups of patients by risk, ascending."""

    n: list[int]
    risk: list[float] = Field(description="Mean risk of the group.")
    observed: list[float | None] = Field(description="Observed incidence (Aalen-Johansen).")
    lower: list[float | None]
    upper: list[float | None]


class PatientsByRiskDocument(BaseModel):
    """Number of patients by risk."""

    edges: list[float]
    patients: list[int] = Field(description="Number of patients between one edge and the next.")


class CauseDocument(BaseModel):
    """Performance of the risks of a competing cause."""

    cause: str = Field(description="Value of the cause in the file.")
    n_events: int = Field(description="Number of patients with this cause until the horizon.")
    performance: HorizonPerformanceDocument | None = Field(
        description="Performance as for the event of interest. Patients with another cause count as free of this one."
    )
    calibration_curve: HorizonCurveDocument | None = Field(
        None, description="Null without a performance, and in searches that ended before this field existed."
    )
    reason: str | None = Field(description="Reason why the performance could not be measured.")


class HorizonDocument(BaseModel):
    """The model at one horizon: out of fold, recalibrated on other patients."""

    horizon: float
    performance: HorizonPerformanceDocument
    baseline: HorizonPerformanceDocument | None = Field(description="Performance of the simple pipeline.")
    calibration_curve: HorizonCurveDocument
    calibration_groups: CalibrationGroupsDocument
    net_benefit: NetBenefitDocument
    gain_over_baseline: dict[str, Interval] | None = Field(
        None,
        description="Paired difference in `auc` and `brier`, ensemble minus simple pipeline. Null without a simple "
        "pipeline.",
    )
    risk_distribution: PatientsByRiskDocument
    causes: list[CauseDocument] | None = Field(
        None,
        description="Competing causes, recalibrated with the event of interest. Null if there are none, and in "
        "searches that ended before this field existed.",
    )
    operating: OperatingDocument | None = Field(
        None, description="Null in searches that ended before this field existed."
    )
    instability: InstabilityDocument | None = Field(None, description="Null if patients' risks have no intervals.")
