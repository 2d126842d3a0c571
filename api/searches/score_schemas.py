"""Measures, calibration and decision curves with their intervals, shared by several documents."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Interval(BaseModel):
    """An estimate with its interval."""

    estimate: float
    lower: float
    upper: float


class Bounds(BaseModel):
    """Interval, of level 0.95, of an estimate that is given elsewhere."""

    lower: float
    upper: float


class ScoreDocument(Interval):
    """A score with its interval."""

    level: float
    method: str
    resamples: int | None = Field(
        None,
        description="Number of bootstrap resamples behind the interval and the correction. Null if there are none.",
    )


class PartialBoundsDocument(BaseModel):
    """Pointwise intervals of level 0.95 along a curve with gaps."""

    lower: list[float | None] = Field(description="Lower end of the interval. Null where the curve has no value.")
    upper: list[float | None]


class NetBenefitDocument(BaseModel):
    """Decision curves: net benefit of treating patients at or above a risk threshold, in true positives per patient."""

    thresholds: list[float] = Field(description="Thresholds, ascending. The other lists have one number per threshold.")
    model: list[float | None] = Field(
        description="Net benefit of the model. Null, also in the lists below, where none of those to be treated is "
        "followed to the horizon."
    )
    baseline: list[float | None] | None = Field(description="Net benefit of the simple pipeline.")
    model_interval: PartialBoundsDocument | None = Field(
        None, description="Null, like the next two, in searches of event times that ended before this field existed."
    )
    baseline_interval: PartialBoundsDocument | None = None
    gain_interval: PartialBoundsDocument | None = Field(
        None, description="Interval of the paired difference in net benefit, model minus simple pipeline."
    )
    treat_all: list[float | None]
    treat_none: list[float] = Field(description="Net benefit of treating nobody, 0 at every threshold.")
    range: tuple[float, float] = Field(description="Range of thresholds, from the setting `thresholds`.")


class PerformanceDocument(BaseModel):
    """All performance measures of a set of risks: out of fold, recalibrated on other patients."""

    auc_roc: float
    auc_prc: float = Field(description="Average precision.")
    brier: float
    brier_skill: float = Field(description="1 - Brier / Brier of the event rate. 0 is no better than the event rate.")
    log_loss: float
    slope: float | None = Field(description="Calibration slope. 1 is ideal. Null if it has no finite estimate.")
    intercept: float = Field(description="Calibration intercept. 0 is ideal.")
    expected_observed: float = Field(description="Expected over observed events. 1 is ideal.")
    ici: float | None = Field(
        description="Integrated calibration index: mean distance of the risks from a smooth calibration curve. It is "
        "above 0 by chance too, so compare models on the same patients. Null if the risks separate the outcomes."
    )
    e50: float | None = Field(description="Median of that distance.")
    e90: float | None = Field(description="90th percentile of that distance.")
    net_benefit: float = Field(description="Mean net benefit over `thresholds`, in true positives per patient.")
    thresholds: tuple[float, float]
    smoothing: str | None = Field(description="Method of smoothing the calibration curve.")
    intervals: dict[str, Bounds] | None = Field(
        None,
        description="Intervals, of level 0.95, of all measures with a value, by patients or by groups. Null in "
        "searches that ended before this field existed.",
    )
    uncorrected: dict[str, float] | None = Field(
        None,
        description="Values, by measure, before the correction for choosing the ensemble's weights by the same "
        "patients. Null for a model that was not so chosen.",
    )


class RawCalibrationDocument(BaseModel):
    """Calibration of the out-of-fold risks before recalibration."""

    slope: Interval | None = Field(description="Calibration slope. 1 is ideal. Null if it has no finite estimate.")
    intercept: Interval
    expected_observed: float
    expected_observed_interval: Bounds
    level: float


class CalibrationDocument(BaseModel):
    """Agreement of the risks with the observed outcomes; for event times, until the last horizon."""

    raw: RawCalibrationDocument | None = Field(
        None,
        description="Calibration before recalibration. Null for event times, and in searches that ended before this "
        "field existed.",
    )
    slope: Interval | None = Field(
        description="Calibration slope of the delivered model on other patients. 1 is ideal; below 1, risks are too "
        "extreme, above 1 too moderate."
    )
    intercept: Interval = Field(description="Calibration intercept. 0 is ideal; above 0, risks are too low overall.")
    expected_observed: float = Field(description="Expected over observed events. 1 is ideal.")
    expected_observed_interval: Bounds | None = Field(
        None, description="Null in searches that ended before this field existed."
    )
    level: float = Field(description="Level of the intervals.")


class ShareDocument(BaseModel):
    """A share with its interval, of level 0.95."""

    estimate: float
    lower: float
    upper: float


class ThresholdDocument(BaseModel):
    """Decisions at one threshold: a patient is positive if the risk reaches it."""

    threshold: float
    sensitivity: ShareDocument | None = Field(description="Null, like the next ones, if nobody is in the denominator.")
    specificity: ShareDocument | None
    ppv: ShareDocument | None = Field(description="Positive predictive value.")
    npv: ShareDocument | None = Field(description="Negative predictive value.")
    alerts: ShareDocument | None = Field(description="Share of all patients, or visits, at or above the threshold.")


class RocDocument(BaseModel):
    """Receiver operating characteristic, with a pointwise band of level 0.95."""

    false_positive_rate: list[float] = Field(description="Ascending. The other lists have one number per rate.")
    sensitivity: list[float]
    lower: list[float]
    upper: list[float]


class PrecisionRecallDocument(BaseModel):
    """Precision-recall curve, with a pointwise band of level 0.95."""

    sensitivity: list[float] = Field(description="Ascending. The other lists have one number per sensitivity.")
    ppv: list[float]
    lower: list[float]
    upper: list[float]


class OperatingDocument(BaseModel):
    """Decisions by the risks; for event times weighted by the inverse probability of censoring."""

    thresholds: list[ThresholdDocument]
    roc: RocDocument
    precision_recall: PrecisionRecallDocument


class InstabilityDocument(BaseModel):
    """Instability: how much the risks change when the ensemble is refitted to bootstrap samples.

    The refits keep the members and their weights. They do not repeat the search or the choice of the ensemble.
    """

    n_refits: int
    mape: float = Field(
        description="Mean absolute prediction error: mean distance of the refits' risks from the model's, for "
        "patients that a refit did not use. 0 is ideal."
    )
    mape_90: float = Field(description="90th percentile of that error over patients.")
    points: list[tuple[float, float]] = Field(
        description="Pairs of the model's risk and a refit's risk, for some patients and refits."
    )
    risks: list[float] = Field(description="Risks at which the curves are given.")
    curves: list[list[float]] = Field(description="Smooth calibration curve of each of the first refits.")
