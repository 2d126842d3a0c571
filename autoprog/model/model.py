"""The prognostic model: a weighted ensemble of fitted pipelines, its risk strata and its rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature, Outcome, TimeToEvent, WindowSchema
from autoprog.ensemble import Scale
from autoprog.interpreter import RuleSet
from autoprog.model.contributions import Contributions, find_columns, remove_each
from autoprog.model.members import Member, ModelMetadata
from autoprog.model.model_file import BEFORE_INTERVALS, read_model, write_model
from autoprog.model.patient_risk import PatientRisk, predictions
from autoprog.model.prediction import ClipBounds, Table, build_prediction, compute_clip_bounds
from autoprog.validation import IDENTITY, INTERVAL_LEVEL, FeatureDistribution, PatientIntervals, Recalibration

_WEIGHT_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class PrognosticModel:
    """A fitted model that predicts.

    Attributes
    ----------
    features : tuple of Feature, length n_features
        Columns of `X`, in order.
    outcome : Binary, TimeToEvent or Visits
        Predicted outcome.
    members : tuple of Member
        Fitted pipelines; their weights sum to 1.
    rule_sets : tuple of RuleSet
        Risk strata with the rules that describe them, one per horizon if the outcome has a time.
    metadata : ModelMetadata
        Origin.
    recalibration : Recalibration
        Map from the members' weighted mean to the risk.
    scale : {"risk", "log_odds"}
        Scale of the weighted mean.
    intervals : tuple of PatientIntervals
        Uncertainty of the risks, per horizon or for the one outcome; empty if it could not be estimated.
    interval_method : str
        How the intervals were estimated, or why they were not.
    windows : WindowSchema or None
        Schema of `X`, if the rows are visits.
    competing : tuple of Recalibration
        Maps of the competing causes' risks; empty without such causes, and in models of earlier versions.
    distribution : FeatureDistribution or None
        Distribution of missing values given known ones; None in models of earlier versions.
    window : int or None
        Visits of the windows that `features`, `rule_sets`, `intervals` and `distribution` describe, at least those of
        every member; None if rows are patients, and in models of earlier versions.
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
    window: int | None = None

    def __post_init__(self) -> None:
        total = sum(member.weight for member in self.members)
        if abs(total - 1) > _WEIGHT_TOLERANCE or any(member.weight <= 0 for member in self.members):
            msg = f"the weights of the members must be positive and sum to 1, not to {total:g}"
            raise ValueError(msg)

    @property
    def inputs(self) -> tuple[Feature, ...]:
        """Features that describe a patient or a visit."""
        return self.features if self.windows is None else self.windows.features

    @property
    def window_lengths(self) -> tuple[int, ...]:
        """Lengths of the windows that predictions need, ascending; empty if rows are patients."""
        # The longest is that which `features`, rules, intervals and distribution describe.
        if self.windows is None:
            return ()
        lengths = {member.window or 1 for member in self.members}
        return tuple(sorted(lengths if self.window is None else lengths | {self.window}))

    @property
    def time_to_event(self) -> TimeToEvent | None:
        """Event with follow-up; None for an outcome without a time."""
        return self.outcome.target.time_to_event

    @property
    def horizons(self) -> tuple[float, ...]:
        """Times until which risks are given, ascending; empty for an outcome without a time."""
        return self.outcome.target.horizons

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Weights of the members, shape = (t,)."""
        return np.array([member.weight for member in self.members])

    @cached_property
    def clip_bounds(self) -> ClipBounds:
        """Bounds to which features are clipped."""
        return compute_clip_bounds(self.features)

    def risks(self, X: Table) -> NDArray[np.float64]:
        """Probability of the outcome, or of the event of interest until each horizon.

        Parameters
        ----------
        X : ndarray, shape = (n_patients, n_features), or mapping of int to such
            Numbers and codes of levels, NaN for missing, from `encode_patients`; for visits, one for each of
            `window_lengths`. Values further outside the training range than ten times its width are clipped.

        Returns
        -------
        ndarray, shape = (n_patients,) or (n_patients, n_horizons)
            Recalibrated weighted mean of the members' risks, in [0, 1].
        """
        # Values are clipped because powers of them could overflow.
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
            As `risks` returns, at a horizon.

        Raises
        ------
        ValueError
            If the outcome has no time.
        """
        self.outcome.target.require_times()
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
            The event of interest first; the sum over causes is at most 1.

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
        """Probability of the outcome, with its interval.

        Parameters
        ----------
        X : ndarray or mapping of int to ndarray
            As `risks` takes it.

        Returns
        -------
        risks : ndarray, shape = (n_patients,) or (n_patients, n_horizons)
            As `risks` returns.
        intervals : ndarray, shape = (n_patients, 2) or (n_patients, n_horizons, 2), or None
            Lower and upper end, of level `INTERVAL_LEVEL`; None if the model has none.
        """
        answer = build_prediction(self, X, bounds=True)
        return answer.risks, answer.bounds

    @property
    def interval_document(self) -> dict[str, Any]:
        """JSON document for the API: level of the intervals and how they were estimated, or why they were not."""
        return {"level": INTERVAL_LEVEL, "method": self.interval_method}

    def contributions(self, X: Table) -> Contributions:
        """Risk given all known findings minus the risk without this one, for each finding.

        Parameters
        ----------
        X : ndarray or mapping of int to ndarray
            As `risks` takes it.

        Returns
        -------
        Contributions
            Of every input of the model; NaN where it is unknown. Without a finding the risk is averaged over its
            distribution given the patient's other findings. For visits, a finding is a feature at all visits of the
            window. Contributions do not add up to the risk, and are no effects of treatments.

        References
        ----------
        Covert, Lundberg & Lee 2021, Journal of Machine Learning Research 22:209 (removal of one feature, with its
        conditional distribution).
        """
        groups = find_columns(self.features, self.windows)
        names = tuple(feature.name for feature in self.inputs)

        def predict(
            tables: Mapping[int, NDArray[np.float64]], removed: NDArray[np.bool_]
        ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
            found = build_prediction(self, tables, removed=removed)
            return found.risks, found.causes

        return remove_each(X if isinstance(X, Mapping) else {0: X}, groups, names, predict)

    def predict(self, patients: Sequence[Mapping[str, object]], *, explain: bool = False) -> list[PatientRisk]:
        """Predict the risks of patients described by name.

        Parameters
        ----------
        patients : sequence of mapping
            Name of each feature -> value or None, in any order; no feature may be absent.
        explain : bool
            Whether to add the contributions of the patients' findings.

        Returns
        -------
        list of PatientRisk
            One per patient, in order.

        Raises
        ------
        InvalidInputError
            With all faults of all patients.
        """
        return predictions(self, patients, explain=explain)

    def to_bytes(self) -> bytes:
        """Write the model as one file; the same bytes for the same model."""
        return write_model(self)

    @classmethod
    def from_bytes(cls, content: bytes, *, lazily: bool = False) -> Self:
        """Read a model.

        Parameters
        ----------
        content : bytes
            Result of `to_bytes`. First check its digest if others can write to its place.
        lazily : bool
            Read the fitted pipelines at the first prediction, which then raises what is wrong with them.

        Returns
        -------
        PrognosticModel
            Ready to predict.

        Raises
        ------
        ArtifactError
            If the file is damaged, incomplete, too large, of a newer format, or holds a type that is not allowed.
        """
        return read_model(cls, content, lazily=lazily)
