"""The prognostic model: a weighted ensemble of fitted pipelines, its risk strata and its rules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Binary, Cohort, Feature, encode_patients
from autoprog.ensemble import Scale, average
from autoprog.errors import ArtifactError
from autoprog.interpreter import RuleSet, matching, stratum_indices
from autoprog.model.archive import pack, unpack
from autoprog.model.serialization import load_estimator
from autoprog.validation import IDENTITY, Recalibration

FORMAT = 2

_FORMATS = (1, FORMAT)

_MANIFEST = "manifest.json"
_LIBRARIES = ("autoprog", "lightgbm", "numpy", "scikit-learn", "scipy", "skops", "xgboost", "xgboost-cpu")
_WEIGHT_TOLERANCE = 1e-9
_REACH = 10.0


@dataclass(frozen=True)
class Member:
    """One fitted pipeline of the ensemble.

    Attributes
    ----------
    weight : float
        Its share of the ensemble's risk, in (0, 1].
    artifact : bytes
        The fitted pipeline, as `dump_estimator` writes it.
    """

    weight: float
    artifact: bytes

    @cached_property
    def estimator(self) -> Any:  # noqa: ANN401  scikit-learn has no common type of classifiers
        """The fitted pipeline; read on first use, which raises ArtifactError where it cannot be read."""
        return load_estimator(self.artifact)


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """Where a model comes from.

    Attributes
    ----------
    cohort : str
        Name of the cohort that it was fitted on.
    n_patients : int
        Patients of that cohort.
    event_rate : float
        Share of them with the outcome, in (0, 1).
    versions : mapping
        Library -> version that fitted it.
    """

    cohort: str
    n_patients: int
    event_rate: float
    versions: Mapping[str, str]

    @classmethod
    def of(cls, cohort: Cohort) -> Self:
        """Metadata of a model that this process fits on a cohort."""
        return cls(cohort.name, cohort.n_patients, cohort.event_rate, _installed_versions())


@dataclass(frozen=True, slots=True)
class PatientRisk:
    """What a model says of one patient.

    Attributes
    ----------
    risk : float
        Probability of the outcome, in [0, 1].
    stratum : str
        Name of the risk stratum.
    rules : tuple of int
        Indices of the model's rules whose conditions the patient satisfies.
    warnings : tuple of str
        What is unusual about the patient's values.
    """

    risk: float
    stratum: str
    rules: tuple[int, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As the API shows it; a binary outcome has no horizons, and no interval is estimated."""
        return {
            "risk": self.risk,
            "horizons": [],
            "interval": None,
            "stratum": self.stratum,
            "rules": list(self.rules),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, eq=False)
class PrognosticModel:
    """A fitted model that predicts.

    Attributes
    ----------
    features : tuple of Feature, length n_features
        What a patient is described by, in the order of the columns of `X`.
    outcome : Binary
        What is predicted.
    members : tuple of Member
        Fitted pipelines; their weights sum to 1.
    rules : RuleSet
        Risk strata, and the rules that describe them.
    metadata : ModelMetadata
        Where it comes from.
    recalibration : Recalibration
        From the members' weighted mean to the risk.
    scale : {"risk", "log_odds"}
        What the weighted mean is of.
    """

    features: tuple[Feature, ...]
    outcome: Binary
    members: tuple[Member, ...]
    rules: RuleSet
    metadata: ModelMetadata
    recalibration: Recalibration = IDENTITY
    scale: Scale = "risk"

    def __post_init__(self) -> None:
        total = sum(member.weight for member in self.members)
        if abs(total - 1) > _WEIGHT_TOLERANCE or any(member.weight <= 0 for member in self.members):
            msg = f"the weights of the members must be positive and sum to 1, not to {total:g}"
            raise ValueError(msg)

    def risks(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability of the outcome.

        Parameters
        ----------
        X : ndarray, shape = (n_patients, n_features)
            Numbers and codes of levels, NaN for missing, as `encode_patients` makes them. A number further outside the
            training range than ten times that range counts as lying there: beyond it powers of it overflow.

        Returns
        -------
        ndarray, shape = (n_patients,)
            Recalibrated weighted mean of the members' risks, in [0, 1].
        """
        bounded = np.clip(X, *self._bounds)
        weights = np.array([member.weight for member in self.members])
        # XGBoost answers in float32.
        p = np.array([m.estimator.predict_proba(bounded)[:, 1] for m in self.members], dtype=np.float64)
        return self.recalibration.apply(np.clip(average(weights, p, self.scale), 0.0, 1.0))

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
        encoded = encode_patients(self.features, patients)
        risks = self.risks(encoded.X)
        strata = stratum_indices(self.rules.strata, risks)
        matches = [matching(rule, self.features, encoded.X) for rule in self.rules.rules]
        return [
            PatientRisk(
                float(risks[i]),
                self.rules.strata[strata[i]].name,
                tuple(index for index, matched in enumerate(matches) if matched[i]),
                encoded.warnings[i],
            )
            for i in range(len(risks))
        ]

    def to_bytes(self) -> bytes:
        """The model as one file; the same bytes for the same model."""
        manifest = {
            "format": FORMAT,
            "features": [asdict(feature) for feature in self.features],
            "outcome": asdict(self.outcome),
            "weights": [member.weight for member in self.members],
            "rules": self.rules.to_json(),
            "metadata": asdict(self.metadata),
            "recalibration": self.recalibration.to_json(),
            "scale": self.scale,
        }
        files = {_MANIFEST: json.dumps(manifest, indent=1, allow_nan=False).encode()}
        files |= {_member_name(index): member.artifact for index, member in enumerate(self.members)}
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
        manifest = _manifest_of(files)
        try:
            model = cls(
                tuple(Feature(**{**f, "levels": tuple(f["levels"])}) for f in manifest["features"]),
                Binary(**manifest["outcome"]),
                tuple(Member(weight, files[_member_name(i)]) for i, weight in enumerate(manifest["weights"])),
                RuleSet.from_json(manifest["rules"]),
                ModelMetadata(**manifest["metadata"]),
                Recalibration(**manifest["recalibration"]),
                manifest.get("scale", "risk"),  # the first format had no other
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"the model's file is incomplete or damaged: {error}") from error
        if not all(hasattr(member.estimator, "predict_proba") for member in model.members):
            raise ArtifactError("a member of the model's file is no fitted classifier")
        return model

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


def _manifest_of(files: Mapping[str, bytes]) -> Mapping[str, Any]:
    try:
        manifest: Mapping[str, Any] = json.loads(files[_MANIFEST])
        written = manifest["format"]
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError("this is no file of a prognostic model: it has no manifest") from error
    if written not in _FORMATS:
        raise ArtifactError(f"the model's file has format {written!r}; this version reads formats {_FORMATS}")
    return manifest


def _member_name(index: int) -> str:
    return f"members/{index}.skops"


def _installed_versions() -> dict[str, str]:
    versions = {}
    for library in _LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:  # xgboost comes by either of two names
            continue
    return versions
