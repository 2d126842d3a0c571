"""Figures with intervals, and decision curves, as several documents show them."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Interval(BaseModel):
    """A figure with its interval."""

    estimate: float
    lower: float
    upper: float


class ScoreDocument(Interval):
    """A score, and how far it can be trusted."""

    level: float
    method: str


class NetBenefitDocument(BaseModel):
    """Decision curves: net benefit of treating where a risk reaches a threshold, in true positives a patient."""

    thresholds: list[float] = Field(description="ascending, a number a threshold in the other lists too")
    model: list[float | None] = Field(
        description="null, here and below, where none of those to be treated is followed to the horizon"
    )
    baseline: list[float | None] | None = Field(description="the simple pipeline's")
    treat_all: list[float | None]
    treat_none: list[float] = Field(description="0 throughout")
    range: tuple[float, float] = Field(description="the setting `thresholds`")
