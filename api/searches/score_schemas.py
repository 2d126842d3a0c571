"""Measures, calibration and decision curves with their intervals, shared by several documents."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Interval(BaseModel):
    """An estimate with its interval."""

    estimate: float
    lower: float
    upper: float


class Bounds(BaseModel):
    """The interval, of level 0.95, of an estimate that is given elsewhere."""

    lower: float
    upper: float


class BoundsDocument(BaseModel):
    """Pointwise intervals of level 0.95 along a curve."""

    lower: list[float]
    upper: list[float]


class ScoreDocument(Interval):
    """A score with its interval."""

    level: float
    method: str
    resamples: int | None = Field(
        None, description="of the patients that the interval, and a correction, rest on; null where they rest on none"
    )


class PartialBoundsDocument(BaseModel):
    """Pointwise intervals of level 0.95 along a curve with gaps."""

    lower: list[float | None] = Field(description="null where the curve has no value")
    upper: list[float | None]


class NetBenefitDocument(BaseModel):
    """Decision curves: net benefit of treating where a risk reaches a threshold, in true positives per patient."""

    thresholds: list[float] = Field(description="ascending, a number a threshold in the other lists too")
    model: list[float | None] = Field(
        description="null, here and below, where none of those to be treated is followed to the horizon"
    )
    baseline: list[float | None] | None = Field(description="the simple pipeline's")
    model_interval: PartialBoundsDocument | None = Field(
        None, description="null, as the next two, in searches of event times that ended before it was told"
    )
    baseline_interval: PartialBoundsDocument | None = None
    gain_interval: PartialBoundsDocument | None = Field(
        None, description="of the model's net benefit less the simple pipeline's, paired"
    )
    treat_all: list[float | None]
    treat_none: list[float] = Field(description="0 throughout")
    range: tuple[float, float] = Field(description="the setting `thresholds`")


class PerformanceDocument(BaseModel):
    """All performance measures of a set of risks: out of fold, recalibrated by other patients."""

    auc_roc: float
    auc_prc: float = Field(description="average precision")
    brier: float
    brier_skill: float = Field(description="1 - Brier / Brier of the event rate; 0 is no better than the event rate")
    log_loss: float
    slope: float | None = Field(description="calibration slope, 1 is ideal; null where it has no finite estimate")
    intercept: float = Field(description="calibration intercept, 0 is ideal")
    expected_observed: float = Field(description="expected over observed events, 1 is ideal")
    ici: float | None = Field(
        description="integrated calibration index: mean distance of the risks from a smooth calibration curve; above 0 "
        "by chance too, so compare models on the same patients; null where the risks separate the outcomes"
    )
    e50: float | None = Field(description="median of that distance")
    e90: float | None = Field(description="90th percentile of that distance")
    net_benefit: float = Field(description="mean over `thresholds`, in true positives a patient")
    thresholds: tuple[float, float]
    smoothing: str | None = Field(description="how the calibration curve was smoothed")
    intervals: dict[str, Bounds] | None = Field(
        None,
        description="of every measure that has a value, of level 0.95, by patients or by groups; null in searches "
        "that ended before they were told",
    )


class RawCalibrationDocument(BaseModel):
    """Calibration of the out-of-fold risks before they are recalibrated."""

    slope: Interval | None = Field(description="1 is ideal; null where it has no finite estimate")
    intercept: Interval
    expected_observed: float
    expected_observed_interval: Bounds
    level: float


class CalibrationDocument(BaseModel):
    """Whether the risks agree with the observed outcomes; for event times, until the last horizon."""

    raw: RawCalibrationDocument | None = Field(
        None, description="before recalibration; null for event times, and in searches that ended before it was told"
    )
    slope: Interval | None = Field(
        description="of the delivered model among other patients; 1 is ideal; below 1, risks are too extreme, "
        "above 1 too moderate"
    )
    intercept: Interval = Field(description="0 is ideal; above 0, risks are too low on the whole")
    expected_observed: float = Field(description="expected over observed events; 1 is ideal")
    expected_observed_interval: Bounds | None = Field(
        None, description="null in searches that ended before it was told"
    )
    level: float = Field(description="of the intervals")


class InstabilityDocument(BaseModel):
    """Instability: how far the risks move when the ensemble is refitted to bootstrap samples.

    The refits keep the members and their weights. They repeat neither the search nor the choice of the ensemble.
    """

    n_refits: int
    mape: float = Field(
        description="mean absolute prediction error: mean distance of the refits' risks from the model's, of patients "
        "that a refit has not seen; 0 is ideal"
    )
    mape_90: float = Field(description="its 90th percentile over patients")
    points: list[tuple[float, float]] = Field(description="the model's risk and a refit's, of some patients and refits")
    risks: list[float] = Field(description="at which the curves are told")
    curves: list[list[float]] = Field(description="smooth calibration curve of each of the first refits")
