"""The prognostic model: a weighted ensemble of fitted pipelines, its risk strata and its rules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import (
    Feature,
    Outcome,
    TimeToEvent,
    Visits,
    WindowSchema,
    encode_patients,
    encode_visits,
    outcome_from_json,
)
from autoprog.ensemble import Scale, average
from autoprog.errors import ArtifactError
from autoprog.evaluation import risks_of
from autoprog.interpreter import RuleSet, matching, rule_sets_from, rules_document, stratum_indices
from autoprog.model.archive import pack, unpack
from autoprog.model.manifest import (
    FORMAT,
    MANIFEST,
    features_of,
    intervals_of,
    member_name,
    members_of,
    read_manifest,
    windows_of,
)
from autoprog.model.members import Member, ModelMetadata
from autoprog.model.patient_risk import HorizonRisk, PatientRisk
from autoprog.space import scaled_to_leave_room
from autoprog.validation import IDENTITY, INTERVAL_LEVEL, PatientIntervals, Recalibration

_WEIGHT_TOLERANCE = 1e-9
_REACH = 10.0
_BEFORE_INTERVALS = "none was estimated when this model was made"


Table = NDArray[np.float64] | Mapping[int, NDArray[np.float64]]
"""Patients as a model takes them; of visits, what each length of window shows."""


@dataclass(frozen=True, eq=False)
class _Answer:
    """What the members say of some patients.

    Attributes
    ----------
    X : ndarray, shape = (n_patients, n_features)
        The patients as they are taken; of visits, the longest window.
    p : ndarray, shape = (t, n_patients) or (t, n_patients, n_horizons)
        The members' risks.
    averaged : ndarray, shape = (n_patients,) or (n_patients, n_horizons)
        Their weighted mean.
    risks : ndarray of the same shape
        Recalibrated.
    causes : ndarray, shape = (n_patients, n_causes, n_horizons), or None
        Of every cause; None where the outcome has no time.
    """

    X: NDArray[np.float64]
    p: NDArray[np.float64]
    averaged: NDArray[np.float64]
    risks: NDArray[np.float64]
    causes: NDArray[np.float64] | None = None


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
    """

    features: tuple[Feature, ...]
    outcome: Outcome
    members: tuple[Member, ...]
    rule_sets: tuple[RuleSet, ...]
    metadata: ModelMetadata
    recalibration: Recalibration = IDENTITY
    scale: Scale = "risk"
    intervals: tuple[PatientIntervals, ...] = ()
    interval_method: str = _BEFORE_INTERVALS
    windows: WindowSchema | None = None

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
            Recalibrated weighted mean of the members' risks, in [0, 1].
        """
        return self._answer(X).risks

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
        return self._answer(X, times).risks

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
        answer = self._answer(X)
        if answer.causes is None:
            msg = "the outcome has no time, and no causes"
            raise ValueError(msg)
        return answer.causes

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
        answer = self._answer(X)
        return answer.risks, self._intervals(answer)

    def _answer(self, X: Table, times: Sequence[float] | None = None) -> _Answer:
        tables = {w: np.clip(x, *self._bounds) for w, x in (X.items() if isinstance(X, Mapping) else [(None, X)])}
        longest = tables[max(tables, key=lambda w: w or 0)]
        rows = [tables[m.window if isinstance(X, Mapping) else None] for m in self.members]
        if not self.horizons:
            # XGBoost answers in float32.
            p = np.array([risks_of(m.estimator, x) for m, x in zip(self.members, rows, strict=True)], dtype=np.float64)
            averaged = np.clip(average(self._weights, p, self.scale), 0.0, 1.0)
            return _Answer(longest, p, averaged, self.recalibration.apply(averaged))
        t = np.array(self.horizons if times is None else times)
        F = np.array([m.estimator.cumulative_incidence(x, t) for m, x in zip(self.members, rows, strict=True)])
        p = F[:, :, 0]
        averaged = np.clip(average(self._weights, p, self.scale), 0.0, 1.0)
        risks = self.recalibration.apply(averaged)
        causes = scaled_to_leave_room(average(self._weights, F, "risk"), risks)
        return _Answer(longest, p, averaged, risks, causes)

    def _intervals(self, answer: _Answer) -> NDArray[np.float64] | None:
        if not self.intervals:
            return None
        X, w = answer.X, self._weights
        if not self.horizons:
            return self.intervals[0].bounds(X, answer.p, w, answer.averaged, self.recalibration)
        of_horizons = [
            each.bounds(X, answer.p[:, :, k], w, answer.averaged[:, k], self.recalibration)
            for k, each in enumerate(self.intervals)
        ]
        return np.stack(of_horizons, axis=1)

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
        X, warnings = self._encoded(patients)
        answer = self._answer(X)
        intervals = self._intervals(answer)
        rules = self._matching(answer.X)
        if not self.horizons:
            names = self._strata(0, answer.risks)
            bounds = [None] * len(rules) if intervals is None else [_ends(each) for each in intervals]
            rows = zip(answer.risks.tolist(), names, rules, warnings, bounds, strict=True)
            return [PatientRisk(*row) for row in rows]
        strata = [self._strata(k, answer.risks[:, k]) for k in range(len(self.horizons))]
        return [
            _at_one_horizon(self._at_horizons(i, answer, strata, intervals), rules[i], warnings[i])
            for i in range(len(rules))
        ]

    def _encoded(self, patients: Sequence[Mapping[str, object]]) -> tuple[Table, tuple[tuple[str, ...], ...]]:
        if self.windows is None or not isinstance(self.outcome, Visits):
            encoded = encode_patients(self.features, patients)
            return encoded.X, encoded.warnings
        lengths = sorted({member.window or 1 for member in self.members})
        tables = {w: encode_visits(self.windows, self.outcome.visit_time, patients, w) for w in lengths}
        return {w: table.X for w, table in tables.items()}, tables[lengths[-1]].warnings

    def _matching(self, X: NDArray[np.float64]) -> list[tuple[int, ...]]:
        """Places of the rules that each patient satisfies, horizons one after another."""
        rules = [rule for rule_set in self.rule_sets for rule in rule_set.rules]
        matches = [matching(rule, self.features, X) for rule in rules]
        return [tuple(k for k, matched in enumerate(matches) if matched[i]) for i in range(len(X))]

    def _strata(self, k: int, risks: NDArray[np.float64]) -> list[str]:
        strata = self.rule_sets[k].strata
        return [strata[place].name for place in stratum_indices(strata, risks)]

    def _at_horizons(
        self,
        i: int,
        answer: _Answer,
        strata: Sequence[Sequence[str]],
        intervals: NDArray[np.float64] | None,
    ) -> tuple[HorizonRisk, ...]:
        event, F = self.time_to_event, answer.causes
        assert event is not None  # noqa: S101  asked for by models with horizons alone
        assert F is not None  # noqa: S101  as above
        return tuple(
            HorizonRisk(
                horizon=horizon,
                risk=float(answer.risks[i, k]),
                stratum=strata[k][i],
                causes=dict(zip(event.causes, F[i, :, k].tolist(), strict=True)),
                interval=None if intervals is None else _ends(intervals[i, k]),
            )
            for k, horizon in enumerate(event.horizons)
        )

    def to_bytes(self) -> bytes:
        """The model as one file; the same bytes for the same model."""
        manifest = {
            "format": FORMAT,
            "features": [asdict(feature) for feature in self.features],
            "outcome": asdict(self.outcome),
            "weights": [member.weight for member in self.members],
            "windows": None if self.windows is None else asdict(self.windows),
            "member_windows": [member.window for member in self.members],
            "rules": rules_document(self.rule_sets, self.horizons),
            "metadata": asdict(self.metadata),
            "recalibration": self.recalibration.to_json(),
            "scale": self.scale,
            "intervals": [each.to_json() for each in self.intervals],
            "interval_method": self.interval_method,
        }
        files = {MANIFEST: json.dumps(manifest, indent=1, allow_nan=False).encode()}
        files |= {member_name(index): member.artifact for index, member in enumerate(self.members)}
        return pack(files, compress=False)

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
        files = unpack(content)
        manifest = read_manifest(files)
        try:
            model = cls(
                features_of(manifest["features"]),
                outcome_from_json(manifest["outcome"]),
                members_of(manifest, files),
                rule_sets_from(manifest["rules"]),
                ModelMetadata(**manifest["metadata"]),
                Recalibration(**manifest["recalibration"]),
                # What the formats before did not have.
                manifest.get("scale", "risk"),
                intervals_of(manifest),
                manifest.get("interval_method", _BEFORE_INTERVALS),
                windows_of(manifest),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"the model's file is incomplete or damaged: {error}") from error
        answers = "cumulative_incidence" if model.horizons else "predict_proba"
        if not all(hasattr(member.estimator, answers) for member in model.members):
            raise ArtifactError("a member of the model's file is no fitted pipeline for its outcome")
        return model

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return np.array([member.weight for member in self.members])

    @cached_property
    def _bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Between which values every feature is taken as it is."""
        lower = np.full(len(self.features), -np.inf)
        upper = np.full(len(self.features), np.inf)
        for j, feature in enumerate(self.features):
            if feature.minimum is not None and feature.maximum is not None:
                reach = _REACH * (feature.maximum - feature.minimum)
                lower[j], upper[j] = feature.minimum - reach, feature.maximum + reach
        return lower, upper


def _ends(interval: NDArray[np.float64]) -> tuple[float, float]:
    return float(interval[0]), float(interval[1])


def _at_one_horizon(
    horizons: tuple[HorizonRisk, ...], rules: tuple[int, ...], warnings: tuple[str, ...]
) -> PatientRisk:
    """A patient's risks; one horizon alone is the risk as well."""
    if len(horizons) > 1:
        return PatientRisk(None, None, rules, warnings, horizons=horizons)
    (only,) = horizons
    return PatientRisk(only.risk, only.stratum, rules, warnings, only.interval, horizons)
