"""The prognostic model: a weighted ensemble of fitted pipelines, its risk strata, its rules and its file.

Missing values of features that training patients lacked, too, are left to the members, who learnt what that means.
Those of other features are drawn many times given the known ones. Intervals are by draws of all missing values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

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
    outcome_to_json,
)
from autoprog.ensemble import Scale, average
from autoprog.errors import ArtifactError
from autoprog.evaluation import compute_logit, predict_risks
from autoprog.interpreter import RuleSet, matching, rule_sets_from, rules_document, stratum_indices
from autoprog.model.contributions import Contribution, Contributions, find_columns, list_contributions, remove_each
from autoprog.model.manifest import (
    FORMAT,
    MANIFEST,
    member_name,
    read_distribution,
    read_features,
    read_intervals,
    read_manifest,
    read_members,
    read_windows,
)
from autoprog.model.members import Member, ModelMetadata
from autoprog.model.serialization import keeps_patients, pack, unpack
from autoprog.validation import (
    IDENTITY,
    INTERVAL_LEVEL,
    FeatureDistribution,
    PatientIntervals,
    Recalibration,
    mixture_bounds,
    shares_of_variance,
    with_competing,
)

_REACH = 10.0

Table = NDArray[np.float64] | Mapping[int, NDArray[np.float64]]
"""Input of a model; for visits, one table per window length."""

ClipBounds = tuple[NDArray[np.float64], NDArray[np.float64]]

N_DRAWS = 32
"""Draws of a patient's missing values."""

_ROWS_AT_ONCE = 200_000

BEFORE_INTERVALS = "none was estimated when this model was made"
"""Interval method of models whose formats had no intervals."""


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
        """Features that describe a patient or a visit."""
        return self.features if self.windows is None else self.windows.features

    @property
    def time_to_event(self) -> TimeToEvent | None:
        """Event with follow-up; None for an outcome without a time."""
        outcome = self.outcome.of if isinstance(self.outcome, Visits) else self.outcome
        return outcome if isinstance(outcome, TimeToEvent) else None

    @property
    def horizons(self) -> tuple[float, ...]:
        """Times until which risks are given, ascending; empty for an outcome without a time."""
        return self.time_to_event.horizons if self.time_to_event else ()

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
            Numbers and codes of levels, NaN for missing, from `encode_patients`; for visits, one per window length.
            Values further outside the training range than ten times its width are clipped.

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
        """Change of the risk by knowing each finding: with all known findings, minus with all others.

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
    def from_bytes(cls, content: bytes) -> Self:
        """Read a model.

        Parameters
        ----------
        content : bytes
            Result of `to_bytes`. First check its digest if others can write to its place.

        Returns
        -------
        PrognosticModel
            Ready to predict.

        Raises
        ------
        ArtifactError
            If the file is damaged, incomplete, too large, of a newer format, or holds a type that is not allowed.
        """
        return read_model(cls, content)


@dataclass(frozen=True, eq=False)
class EnsemblePrediction:
    """Risks of some patients by a model's members."""

    # The patients, (n, n_features), clipped, with missing values as NaN; for visits, the longest window.
    X: NDArray[np.float64]
    # Recalibrated weighted mean, (n,) or (n, n_horizons).
    risks: NDArray[np.float64]
    # Risks of every cause, (n, n_causes, n_horizons); None if the outcome has no time.
    causes: NDArray[np.float64] | None = None
    # Ends of the intervals, (n, 2) or (n, n_horizons, 2); None if not requested, or the model has none.
    bounds: NDArray[np.float64] | None = None
    # Share of the variance of the log odds at the last horizon that knowing a missing value would remove, in [0, 1],
    # (n, n_features); 0 for a known value; None as `bounds`.
    widening: NDArray[np.float64] | None = None


def build_prediction(
    model: PrognosticModel,
    X: Table,
    times: Sequence[float] | None = None,
    *,
    bounds: bool = False,
    removed: NDArray[np.bool_] | None = None,
) -> EnsemblePrediction:
    """Predict risks until the given times or, by default, the horizons; intervals are for the horizons alone."""
    # `removed` marks cells, shape = (n, n_features), that were taken from a patient: they are drawn in any case.
    tables = X if isinstance(X, Mapping) else {0: X}
    tables = {w: np.clip(x, *model.clip_bounds) for w, x in tables.items()}
    longest = tables[max(tables)]
    bounds = bounds and bool(model.intervals)
    drawn = _cells_to_draw(model, longest, removed)
    over_draws = np.isnan(longest).any(axis=1) if bounds and model.distribution is not None else drawn.any(axis=1)
    if not over_draws.any():
        return _answer_as_they_are(model, tables, longest, times, bounds=bounds)
    parts = []
    if not over_draws.all():
        rest = {w: x[~over_draws] for w, x in tables.items()}
        answer = _answer_as_they_are(model, rest, longest[~over_draws], times, bounds=bounds)
        parts.append((np.flatnonzero(~over_draws), answer))
    rows = np.flatnonzero(over_draws)
    for chunk in np.array_split(rows, -(-len(rows) * N_DRAWS // _ROWS_AT_ONCE)):
        some = {w: x[chunk] for w, x in tables.items()}
        parts.append((chunk, _answer_over_draws(model, some, longest[chunk], drawn[chunk], times, bounds=bounds)))
    return _in_order(parts, longest)


def _cells_to_draw(
    model: PrognosticModel, longest: NDArray[np.float64], removed: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Missing cells over which the risk is averaged, shape = (n, n_features).

    The members learnt what it means to lack a feature that training patients lacked, and were validated with such
    patients. Of other features they know nothing: there, the risk is averaged over what the value might be.
    """
    if model.distribution is None:
        return np.zeros(longest.shape, dtype=bool)
    drawn: NDArray[np.bool_] = np.isnan(longest) & ~model.distribution.learnt_gaps
    return drawn if removed is None else drawn | removed


class _Told(NamedTuple):
    """Predictions for patients as they are; `centre` and `spread` are of the log odds, if requested."""

    risks: NDArray[np.float64]
    causes: NDArray[np.float64] | None
    centre: NDArray[np.float64] | None
    spread: NDArray[np.float64] | None


def _told(
    model: PrognosticModel, tables: Mapping[int, NDArray[np.float64]], times: Sequence[float] | None, *, spread: bool
) -> _Told:
    longest = tables[max(tables)]
    rows = [tables.get(m.window or 0, longest) for m in model.members]
    if not model.horizons:
        # XGBoost answers in float32.
        p = np.array(
            [predict_risks(m.estimator, x) for m, x in zip(model.members, rows, strict=True)], dtype=np.float64
        )
        averaged = np.clip(average(model.weights, p, model.scale), 0.0, 1.0)
        causes, risks = None, model.recalibration.apply(averaged)
    else:
        t = np.array(model.horizons if times is None else times)
        F = np.array([m.estimator.cumulative_incidence(x, t) for m, x in zip(model.members, rows, strict=True)])
        p = F[:, :, 0]
        averaged = np.clip(average(model.weights, p, model.scale), 0.0, 1.0)
        risks = model.recalibration.apply(averaged)
        causes = with_competing(average(model.weights, F, "risk"), risks, model.competing)
    if not spread:
        return _Told(risks, causes, None, None)
    arguments = (model.weights, averaged, model.recalibration)
    if not model.horizons:
        found = model.intervals[0].spread(longest, p, *arguments)
    else:
        found = np.column_stack(
            [
                each.spread(longest, p[:, :, k], model.weights, averaged[:, k], model.recalibration)
                for k, each in enumerate(model.intervals)
            ]
        )
    # The centre is the risk itself: only the spread uses the clipped average.
    return _Told(risks, causes, compute_logit(risks), found)


def _answer_as_they_are(
    model: PrognosticModel,
    tables: Mapping[int, NDArray[np.float64]],
    longest: NDArray[np.float64],
    times: Sequence[float] | None,
    *,
    bounds: bool,
) -> EnsemblePrediction:
    """Predict with missing values left to the members' imputations."""
    told = _told(model, tables, times, spread=bounds)
    if told.centre is None or told.spread is None:
        return EnsemblePrediction(longest, told.risks, told.causes)
    ends = mixture_bounds(told.centre[None], told.spread[None])
    return EnsemblePrediction(longest, told.risks, told.causes, _around(ends, told.risks), np.zeros_like(longest))


def _answer_over_draws(
    model: PrognosticModel,
    tables: Mapping[int, NDArray[np.float64]],
    longest: NDArray[np.float64],
    drawn: NDArray[np.bool_],
    times: Sequence[float] | None,
    *,
    bounds: bool,
) -> EnsemblePrediction:
    """Average the risk over draws of some missing cells; intervals are by draws of all, moved to this risk.

    A shorter window lacks what its visits do not show.
    """
    assert model.distribution is not None  # noqa: S101  called only for a model with a distribution
    completed = model.distribution.completed(longest, N_DRAWS)
    unknown = np.isnan(longest)
    all_drawn = bool((unknown == drawn).all())
    if not (bounds and all_drawn):
        risks, causes = _partly_drawn(model, tables, completed, drawn, times)
    if not bounds:
        return EnsemblePrediction(longest, risks, causes)
    averaged, of_causes, centre, spread = _over_draws(model, tables, completed, unknown, times, spread=True)
    assert centre is not None  # noqa: S101  asked for
    assert spread is not None  # noqa: S101  asked for
    last = (centre, spread) if centre.ndim == 2 else (centre[:, :, -1], spread[:, :, -1])
    shares = np.where(unknown, shares_of_variance(completed, *last), 0.0)
    if all_drawn:
        risks, causes = averaged, of_causes
    else:
        centre = centre + compute_logit(risks) - compute_logit(averaged)
    return EnsemblePrediction(longest, risks, causes, _around(mixture_bounds(centre, spread), risks), shares)


def _partly_drawn(
    model: PrognosticModel,
    tables: Mapping[int, NDArray[np.float64]],
    completed: NDArray[np.float64],
    drawn: NDArray[np.bool_],
    times: Sequence[float] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Risks and risks of every cause, averaged over draws of the marked cells."""
    risks, causes, _, _ = _told(model, tables, times, spread=False)
    rows = drawn.any(axis=1)
    if rows.any():
        some = {w: x[rows] for w, x in tables.items()}
        mean, of_causes, _, _ = _over_draws(model, some, completed[:, rows], drawn[rows], times, spread=False)
        risks[rows] = mean
        if causes is not None and of_causes is not None:
            causes[rows] = of_causes
    return risks, causes


def _over_draws(
    model: PrognosticModel,
    tables: Mapping[int, NDArray[np.float64]],
    completed: NDArray[np.float64],
    drawn: NDArray[np.bool_],
    times: Sequence[float] | None,
    *,
    spread: bool,
) -> _Told:
    """Predict with the marked cells drawn: mean risks, and centre and spread by draw, shape = (n_draws, n, ...)."""
    n, m = drawn.shape
    flat = {w: np.where(drawn & np.isnan(x), completed, x).reshape(-1, m) for w, x in tables.items()}
    told = _told(model, flat, times, spread=spread)
    risks, causes, centre, spreads = (
        None if each is None else each.reshape(N_DRAWS, n, *each.shape[1:]) for each in told
    )
    assert risks is not None  # noqa: S101  always set
    return _Told(risks.mean(axis=0), None if causes is None else causes.mean(axis=0), centre, spreads)


def _around(ends: NDArray[np.float64], risks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Widen intervals to hold the risk: a mean over skewed draws may lie beyond nine in ten of them."""
    return np.stack([np.minimum(ends[..., 0], risks), np.maximum(ends[..., 1], risks)], axis=-1)


def _in_order(
    parts: Sequence[tuple[NDArray[np.intp], EnsemblePrediction]], longest: NDArray[np.float64]
) -> EnsemblePrediction:
    """Combine predictions for parts of the patients."""

    def whole(name: str) -> NDArray[np.float64] | None:
        found = [(rows, getattr(answer, name)) for rows, answer in parts]
        if any(part is None for _, part in found):
            return None
        told = np.empty((len(longest), *found[0][1].shape[1:]))
        for rows, part in found:
            told[rows] = part
        return told

    risks = whole("risks")
    assert risks is not None  # noqa: S101  always set
    return EnsemblePrediction(longest, risks, whole("causes"), whole("bounds"), whole("widening"))


def compute_clip_bounds(features: Sequence[Feature]) -> ClipBounds:
    """Bounds for clipping: the training range extended by ten times its width; infinite if a feature is no number."""
    lower = np.full(len(features), -np.inf)
    upper = np.full(len(features), np.inf)
    for j, feature in enumerate(features):
        if feature.minimum is not None and feature.maximum is not None:
            reach = _REACH * (feature.maximum - feature.minimum)
            lower[j], upper[j] = feature.minimum - reach, feature.maximum + reach
    return lower, upper


def model_keeps_patients(content: bytes) -> bool:
    """Whether a model's file holds rows of training patients. Raises ArtifactError."""
    files = unpack(content)
    members = read_members(read_manifest(files), files)
    return any(keeps_patients(member.artifact) for member in members)


Model = TypeVar("Model", bound="PrognosticModel")


def write_model(model: PrognosticModel) -> bytes:
    """Write a model; the same bytes for the same model."""
    manifest = {
        "format": FORMAT,
        "features": [feature.to_json() for feature in model.features],
        "outcome": outcome_to_json(model.outcome),
        "weights": [member.weight for member in model.members],
        "windows": None if model.windows is None else asdict(model.windows),
        "member_windows": [member.window for member in model.members],
        "rules": rules_document(model.rule_sets, model.horizons),
        "metadata": asdict(model.metadata),
        "recalibration": model.recalibration.to_json(),
        "competing": [each.to_json() for each in model.competing],
        "distribution": None if model.distribution is None else model.distribution.to_json(),
        "scale": model.scale,
        "intervals": [each.to_json() for each in model.intervals],
        "interval_method": model.interval_method,
    }
    files = {MANIFEST: json.dumps(manifest, indent=1, allow_nan=False).encode()}
    files |= {member_name(index): member.artifact for index, member in enumerate(model.members)}
    return pack(files, compress=False)


def read_model(kind: type[Model], content: bytes) -> Model:
    """Read a model of this class; raises ArtifactError if the file holds none."""
    files = unpack(content)
    manifest = read_manifest(files)
    try:
        model = kind(
            read_features(manifest["features"]),
            outcome_from_json(manifest["outcome"]),
            read_members(manifest, files),
            rule_sets_from(manifest["rules"]),
            ModelMetadata(**manifest["metadata"]),
            Recalibration(**manifest["recalibration"]),
            # Earlier formats lack the following.
            manifest.get("scale", "risk"),
            read_intervals(manifest),
            manifest.get("interval_method", BEFORE_INTERVALS),
            read_windows(manifest),
            tuple(Recalibration(**each) for each in manifest.get("competing", ())),
            read_distribution(manifest),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"the model's file is incomplete or damaged: {error}") from error
    answers = "cumulative_incidence" if model.horizons else "predict_proba"
    if not all(hasattr(member.estimator, answers) for member in model.members):
        raise ArtifactError("a member of the model's file is no fitted pipeline for its outcome")
    return model


Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class HorizonRisk:
    """Risk of one patient until a horizon.

    Attributes
    ----------
    horizon : float
        In the unit of the cohort's times.
    risk : float
        Probability of the event of interest until then, in [0, 1].
    stratum : str
        Name of the risk stratum at this horizon.
    causes : mapping of str to float
        Probability of each cause until then, by its value in the file, the event of interest first; sums to at most 1.
    interval : tuple of (float, float) or None
        In [0, 1], around the risk; None if the model has none.
    """

    horizon: float
    risk: float
    stratum: str
    causes: Mapping[str, float]
    interval: Bounds | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {
            "horizon": self.horizon,
            "risk": self.risk,
            "interval": None if self.interval is None else list(self.interval),
            "stratum": self.stratum,
            "causes": dict(self.causes),
        }


@dataclass(frozen=True, slots=True)
class WideningValue:
    """The missing value that widens an interval most."""

    feature: str  # name of the missing feature
    variance_share: float  # share of the log odds' variance that knowing it would remove, in [0, 1]

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {"feature": self.feature, "variance_share": self.variance_share}


@dataclass(frozen=True, slots=True)
class PatientRisk:
    """Prediction for one patient.

    Attributes
    ----------
    risk, stratum : float or None, str or None
        Probability of the outcome, in [0, 1], and name of its risk stratum; None if there are several horizons.
    rules : tuple of int
        Indices of the model's rules that apply to the patient.
    warnings : tuple of str
        Unusual values of the patient.
    interval : tuple of (float, float) or None
        In [0, 1], around the risk; None if the model has none.
    horizons : tuple of HorizonRisk
        Ascending; empty if the outcome has no time.
    widened_most_by : WideningValue or None
        At the last horizon; None if nothing is missing, or the model has no intervals.
    contributions : tuple of Contribution or None
        Of the known findings, the largest first; None if not asked for.
    """

    risk: float | None
    stratum: str | None
    rules: tuple[int, ...]
    warnings: tuple[str, ...]
    interval: Bounds | None = None
    horizons: tuple[HorizonRisk, ...] = ()
    widened_most_by: WideningValue | None = None
    contributions: tuple[Contribution, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {
            "risk": self.risk,
            "horizons": [horizon.to_json() for horizon in self.horizons],
            "interval": None if self.interval is None else list(self.interval),
            "widened_most_by": None if self.widened_most_by is None else self.widened_most_by.to_json(),
            "stratum": self.stratum,
            "rules": list(self.rules),
            "warnings": list(self.warnings),
            "contributions": None if self.contributions is None else [each.to_json() for each in self.contributions],
        }


def predictions(
    model: PrognosticModel, patients: Sequence[Mapping[str, object]], *, explain: bool = False
) -> list[PatientRisk]:
    """Predict for patients, see `PrognosticModel.predict`; raises InvalidInputError with all faults of all of them."""
    X, warnings = _encoded(model, patients)
    risks = _predict_encoded(model, X, warnings)
    if not explain:
        return risks
    causes = model.time_to_event.causes if model.time_to_event else ()
    found = list_contributions(model.contributions(X), causes, model.horizons)
    return [replace(risk, contributions=each) for risk, each in zip(risks, found, strict=True)]


def _predict_encoded(model: PrognosticModel, X: Table, warnings: Sequence[tuple[str, ...]]) -> list[PatientRisk]:
    answer = build_prediction(model, X, bounds=True)
    bounds = answer.bounds
    rules, widest = _matching(model, answer.X), _widening(model, answer)
    if not model.horizons:
        names = _strata(model, 0, answer.risks)
        intervals = [None] * len(rules) if bounds is None else [_ends(each) for each in bounds]
        rows = zip(answer.risks.tolist(), names, rules, warnings, intervals, strict=True)
        return [PatientRisk(*row, widened_most_by=value) for row, value in zip(rows, widest, strict=True)]
    strata = [_strata(model, k, answer.risks[:, k]) for k in range(len(model.horizons))]
    return [
        _at_one_horizon(_at_horizons(model, i, answer, strata, bounds), rules[i], warnings[i], widest[i])
        for i in range(len(rules))
    ]


def _encoded(
    model: PrognosticModel, patients: Sequence[Mapping[str, object]]
) -> tuple[Table, tuple[tuple[str, ...], ...]]:
    if model.windows is None or not isinstance(model.outcome, Visits):
        encoded = encode_patients(model.features, patients)
        return encoded.X, encoded.warnings
    lengths = sorted({member.window or 1 for member in model.members})
    tables = {w: encode_visits(model.windows, model.outcome.visit_time, patients, w) for w in lengths}
    return {w: table.X for w, table in tables.items()}, tables[lengths[-1]].warnings


def _matching(model: PrognosticModel, X: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """Indices of the rules that each patient satisfies, horizon by horizon."""
    rules = [rule for rule_set in model.rule_sets for rule in rule_set.rules]
    matches = [matching(rule, model.features, X) for rule in rules]
    return [tuple(k for k, matched in enumerate(matches) if matched[i]) for i in range(len(X))]


def _widening(model: PrognosticModel, answer: EnsemblePrediction) -> list[WideningValue | None]:
    """Missing value of each patient that widens the interval most; for visits, the feature behind it."""
    if answer.widening is None:
        return [None] * len(answer.X)
    of_visits = () if model.windows is None else model.windows.features
    names = [_source(feature.name, [f.name for f in of_visits]) for feature in model.features]
    places = answer.widening.argmax(axis=1)
    shares = answer.widening[np.arange(len(places)), places]
    return [
        WideningValue(names[place], float(share)) if share > 0 else None
        for place, share in zip(places, shares, strict=True)
    ]


def _source(column: str, names: Sequence[str]) -> str:
    return next((name for name in names if column.startswith(f"{name} (")), column)


def _strata(model: PrognosticModel, k: int, risks: NDArray[np.float64]) -> list[str]:
    strata = model.rule_sets[k].strata
    return [strata[place].name for place in stratum_indices(strata, risks)]


def _at_horizons(
    model: PrognosticModel,
    i: int,
    answer: EnsemblePrediction,
    strata: Sequence[Sequence[str]],
    bounds: NDArray[np.float64] | None,
) -> tuple[HorizonRisk, ...]:
    event, F = model.time_to_event, answer.causes
    assert event is not None  # noqa: S101  called only for models with horizons
    assert F is not None  # noqa: S101  as above
    return tuple(
        HorizonRisk(
            horizon=horizon,
            risk=float(answer.risks[i, k]),
            stratum=strata[k][i],
            causes=dict(zip(event.causes, F[i, :, k].tolist(), strict=True)),
            interval=None if bounds is None else _ends(bounds[i, k]),
        )
        for k, horizon in enumerate(event.horizons)
    )


def _at_one_horizon(
    horizons: tuple[HorizonRisk, ...],
    rules: tuple[int, ...],
    warnings: tuple[str, ...],
    widest: WideningValue | None,
) -> PatientRisk:
    """Assemble a patient's risks; the risk of a single horizon is also the overall risk."""
    if len(horizons) > 1:
        return PatientRisk(None, None, rules, warnings, horizons=horizons, widened_most_by=widest)
    (only,) = horizons
    return PatientRisk(only.risk, only.stratum, rules, warnings, only.interval, horizons, widest)


def _ends(interval: NDArray[np.float64]) -> tuple[float, float]:
    return float(interval[0]), float(interval[1])


_WEIGHT_TOLERANCE = 1e-9
