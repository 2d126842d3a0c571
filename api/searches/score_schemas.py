"""Figures with intervals, and decision curves, as several documents show them."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Interval(BaseModel):
    """A figure with its interval."""

    estimate: float
    lower: float
    upper: float


class Bounds(BaseModel):
    """The ends of the interval of a figure that stands elsewhere, of level 0.95."""

    lower: float
    upper: float


class BoundsDocument(BaseModel):
    """The ends of intervals of level 0.95 along a curve, pointwise."""

    lower: list[float]
    upper: list[float]


class ScoreDocument(Interval):
    """A score, and how far it can be trusted."""

    level: float
    method: str
    resamples: int | None = Field(
        None, description="of the patients that the interval, and a correction, rest on; null where they rest on none"
    )


class NetBenefitDocument(BaseModel):
    """Decision curves: net benefit of treating where a risk reaches a threshold, in true positives a patient."""

    thresholds: list[float] = Field(description="ascending, a number a threshold in the other lists too")
    model: list[float | None] = Field(
        description="null, here and below, where none of those to be treated is followed to the horizon"
    )
    baseline: list[float | None] | None = Field(description="the simple pipeline's")
    model_interval: BoundsDocument | None = Field(None, description="null for event times, as the next two are")
    baseline_interval: BoundsDocument | None = None
    gain_interval: BoundsDocument | None = Field(
        None, description="of the model's net benefit less the simple pipeline's, paired"
    )
    treat_all: list[float | None]
    treat_none: list[float] = Field(description="0 throughout")
    range: tuple[float, float] = Field(description="the setting `thresholds`")
