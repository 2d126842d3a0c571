"""The prognostic model: a weighted ensemble of fitted pipelines, its risk strata and its rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature, Outcome, TimeToEvent, Visits, WindowSchema
from autoprog.ensemble import Scale
from autoprog.interpreter import RuleSet
from autoprog.model.answer import ClipBounds, Table, build_prediction, compute_clip_bounds
from autoprog.model.file import BEFORE_INTERVALS, read_model, write_model
from autoprog.model.members import Member, ModelMetadata
from autoprog.model.patient_risk import PatientRisk
from autoprog.model.predictions import predictions
from autoprog.validation import IDENTITY, INTERVAL_LEVEL, FeatureDistribution, PatientIntervals, Recalibration

_WEIGHT_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class PrognosticModel:
    """A fitted model that predicts.

    Attributes
    ----------
    features : tuple of Feature, length n_features
        The columns of `X`, in order.
    outcome : Binary, TimeToEvent or Visits
        What is predicted.
    members : tuple of Member
        Fitted pipelines; their weights sum to 1.
    rule_sets : tuple of RuleSet
        Risk strata, and the rules that describe them: for every horizon, where the outcome has a time; else one.
    metadata : ModelMetadata
        Where it comes from.
    recalibration : Recalibration
        From the members' weighted mean to the risk.
    scale : {"risk", "log_odds"}
        What the weighted mean is of.
    intervals : tuple of PatientIntervals
        How uncertain the risks are, for every horizon or for the one outcome; empty where that could not be estimated.
    interval_method : str
        How the intervals were estimated, or why they were not.
    windows : WindowSchema or None
        What `X` is made of, where the rows are visits.
    competing : tuple of Recalibration
        Of the risks of the causes that compete with the event of interest, as `with_competing` takes them; empty where
        none does, and in models of earlier versions.
    distribution : FeatureDistribution or None
        What missing values may be, given the known ones; None in models of earlier versions.
    """

    features: tuple[Feature, ...]
    outcome: Outcome
    members: tuple[Member, ...]
    rule_sets: tuple[RuleSet, ...]
    metadata: ModelMetadata
    recalibration: Recalibration = IDENTITY
    scale: Scale = "risk"
    intervals: tuple[PatientIntervals, ...] = ()
    interval_method: str = BEFORE_INTERVALS
    windows: WindowSchema | None = None
    competing: tuple[Recalibration, ...] = ()
    distribution: FeatureDistribution | None = None

    def __post_init__(self) -> None:
        total = sum(member.weight for member in self.members)
        if abs(total - 1) > _WEIGHT_TOLERANCE or any(member.weight <= 0 for member in self.members):
            msg = f"the weights of the members must be positive and sum to 1, not to {total:g}"
            raise ValueError(msg)

    @property
    def inputs(self) -> tuple[Feature, ...]:
        """What a patient, or a visit of one, is described by."""
        return self.features if self.windows is None else self.windows.features

    @property
    def time_to_event(self) -> TimeToEvent | None:
        """The event that is followed up for; None for an outcome without a time."""
        outcome = self.outcome.of if isinstance(self.outcome, Visits) else self.outcome
        return outcome if isinstance(outcome, TimeToEvent) else None

    @property
    def horizons(self) -> tuple[float, ...]:
        """Times at which risks are given, ascending; empty for an outcome without a time."""
        return self.time_to_event.horizons if self.time_to_event else ()

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Of the members, shape = (t,)."""
        return np.array([member.weight for member in self.members])

    @cached_property
    def clip_bounds(self) -> ClipBounds:
        """Between which values every feature is taken as it is."""
        return compute_clip_bounds(self.features)

    def risks(self, X: Table) -> NDArray[np.float64]:
        """Probability of the outcome, or of the event of interest until each horizon.

        Parameters
        ----------
        X : ndarray, shape = (n_patients, n_features), or mapping of int to such
            Numbers and codes of levels, NaN for missing, as `encode_patients` makes them; of visits, for every window
            of a member what that window shows. A number further outside the training range than ten times that range
            counts as lying there: beyond it powers of it overflow.

        Returns
        -------
        ndarray, shape = (n_patients,) or (n_patients, n_horizons)
            Recalibrated weighted mean of the members' risks, in [0, 1]; of a patient with missing values its mean over
            what they may be, given the known ones.
        """
        return build_prediction(self, X).risks

    def risks_until(self, X: Table, times: Sequence[float]) -> NDArray[np.float64]:
        """Probability of the event of interest until each of some times.

        Parameters
        ----------
        X : ndarray or mapping of int to ndarray
            As `risks` takes it.
        times : sequence of float
            Ascending, up to the last horizon.

        Returns
        -------
        ndarray, shape = (n_patients, n_times)
            At a horizon as `risks` gives it.

        Raises
        ------
        ValueError
            If the outcome has no time.
        """
        if not self.horizons:
            msg = "the outcome has no time"
            raise ValueError(msg)
        return build_prediction(self, X, times).risks

    def causes(self, X: Table) -> NDArray[np.float64]:
        """Probability of each cause until each horizon.

        Parameters
        ----------
        X : ndarray or mapping of int to ndarray
            As `risks` takes it.

        Returns
        -------
        ndarray, shape = (n_patients, n_causes, n_horizons)
            The event of interest first, as `risks` gives it; the sum over causes is at most 1.

        Raises
        ------
        ValueError
            If the outcome has no time.
        """
        causes = build_prediction(self, X).causes
        if causes is None:
            msg = "the outcome has no time, and no causes"
            raise ValueError(msg)
        return causes

    def risks_with_intervals(self, X: Table) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Probability of the outcome, and how uncertain it is.

        Parameters
        ----------
        X : ndarray or mapping of int to ndarray
            As `risks` takes it.

        Returns
        -------
        risks : ndarray, shape = (n_patients,) or (n_patients, n_horizons)
            As `risks` gives them.
        intervals : ndarray, shape = (n_patients, 2) or (n_patients, n_horizons, 2), or None
            Lower and upper end, of level `INTERVAL_LEVEL`; None where the model has none.
        """
        answer = build_prediction(self, X, bounds=True)
        return answer.risks, answer.bounds

    @property
    def interval_document(self) -> dict[str, Any]:
        """Level of the intervals and how they were estimated, or why they were not; as the API shows it."""
        return {"level": INTERVAL_LEVEL, "method": self.interval_method}

    def predict(self, patients: Sequence[Mapping[str, object]]) -> list[PatientRisk]:
        """Risks of patients as a client describes them.

        Parameters
        ----------
        patients : sequence of mapping
            Name of a feature -> value or None, in any order; every feature must be there.

        Returns
        -------
        list of PatientRisk
            One a patient, in order.

        Raises
        ------
        InvalidInputError
            With all faults of all patients.
        """
        return predictions(self, patients)

    def to_bytes(self) -> bytes:
        """The model as one file; the same bytes for the same model."""
        return write_model(self)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read a model.

        Parameters
        ----------
        content : bytes
            As `to_bytes` wrote it. Check its digest first where others can write to its place.

        Returns
        -------
        PrognosticModel
            Ready to predict.

        Raises
        ------
        ArtifactError
            If the file is damaged or incomplete, too large, of a newer format, or holds a type that is not allowed.
        """
        return read_model(cls, content)
