"""Classifiers of the arms, one each, trained on a cohort: they turn measurements into predictions."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from autoprog.catalogue import DiagnosticTest
from autoprog.cohort import Cohort, Feature
from autoprog.cohort.messages import capped, pointer
from autoprog.cohort.patients import encode_records
from autoprog.csmd.arms import Arms, arms_from_json, arms_to_json
from autoprog.csmd.problem import SIMPLE, feature_faults, read_features, restricted
from autoprog.errors import ArtifactError, Fault, InvalidInputError
from autoprog.evaluation import CrossValidation, Plan, at_setting, cross_validate, fit_pipeline
from autoprog.model import dump_estimator, load_estimator
from autoprog.model.serialization import pack, unpack
from autoprog.space import Configuration

FOLDS = 10
THRESHOLD = 0.5
FORMAT = 1

_MANIFEST = "manifest.json"

Evaluate = Callable[[Configuration, Cohort, Plan], CrossValidation]


@dataclass(frozen=True, eq=False)
class ArmClassifier:
    """The fitted pipeline of one arm."""

    features: tuple[Feature, ...]  # features it reads, in the order of its columns
    artifact: bytes  # as `dump_estimator` writes it

    @cached_property
    def estimator(self) -> Any:  # noqa: ANN401  scikit-learn has no common type of classifiers
        """The fitted pipeline, read on first use; ArtifactError if it cannot be read."""
        return load_estimator(self.artifact)


@dataclass(frozen=True)
class Reading:
    """Risks and predictions for one patient, by arm id, of every arm that the played one reveals."""

    risks: Mapping[str, float]  # probability of the outcome
    predictions: Mapping[str, int]  # 0 or 1: whether the risk is at least the threshold
    warnings: tuple[str, ...]  # unusual measurements


@dataclass(frozen=True, eq=False)
class ArmClassifiers:
    """The classifiers of all arms."""

    arms: Arms  # whose tests name the features they measure
    classifiers: tuple[ArmClassifier, ...]  # in the order of the arms
    threshold: float  # smallest risk whose prediction is 1

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """All features that any test measures."""
        everything = max(self.classifiers, key=lambda c: len(c.features))
        return everything.features

    def read(self, arm: int, measurements: Mapping[str, object], *, impute: bool = True) -> Reading:
        """Predict with all arms that a played arm reveals.

        Parameters
        ----------
        arm : int, the arm that was played, from 0
        measurements : mapping
            Feature -> value, None if the test gave none. The arm's features are needed; those of other tests are not
            used.
        impute : bool, whether the arm's pipeline imputes None and levels unseen in training; otherwise they are refused

        Returns
        -------
        Reading
            Its predictions are what `check_predictions` takes.

        Raises
        ------
        InvalidInputError
            With every fault: an absent feature of the arm, a name that no test measures, an invalid value, an unknown
            one that is not to be imputed.
        """
        features = self.classifiers[arm].features
        record = {feature.name: measurements.get(feature.name) for feature in features}
        encoded, _ = encode_records(features, [record], ["/measurements"])
        row = dict(zip(record, encoded.X[0], strict=True))
        faults = [
            Fault(
                pointer("measurements", name),
                f"missing: arm {self.arms.arms[arm].id} needs it; send null if it is unknown",
            )
            for name in sorted(record.keys() - measurements.keys())
        ]
        faults += self._faults(measurements)
        if not impute:
            faulty = {fault.pointer for fault in faults}
            unknown = [pointer("measurements", name) for name in sorted(row) if np.isnan(row[name])]
            faults += [Fault(place, "is unknown, and is not to be imputed") for place in unknown if place not in faulty]
        if faults:
            raise InvalidInputError(faults)
        risks: dict[str, float] = {}
        for index in self.arms.revealed(arm):
            classifier = self.classifiers[index]
            x = np.array([[row[feature.name] for feature in classifier.features]])
            risks[self.arms.arms[index].id] = float(classifier.estimator.predict_proba(x)[0, 1])
        predictions = {name: int(risk >= self.threshold) for name, risk in risks.items()}
        return Reading(risks, predictions, encoded.warnings[0])

    def check(self, measurements: Mapping[str, object]) -> None:
        """Raise InvalidInputError with all invalid measurements of an arm that may still be incomplete."""
        if faults := self._faults(measurements):
            raise InvalidInputError(faults)

    def _faults(self, measurements: Mapping[str, object]) -> tuple[Fault, ...]:
        """Faults of the measurements of any test; none may be needed."""
        nothing = dict.fromkeys((feature.name for feature in self.features), None)
        _, faults = encode_records(self.features, [{**nothing, **measurements}], ["/measurements"])
        return capped(faults, "/measurements")

    def to_bytes(self) -> bytes:
        """Write all classifiers as one file, with the same bytes for the same classifiers."""
        manifest = {
            "format": FORMAT,
            **arms_to_json(self.arms),
            "threshold": self.threshold,
            "features": [feature.to_json() for feature in self.features],
            "read": [[feature.name for feature in c.features] for c in self.classifiers],
        }
        files = {_MANIFEST: json.dumps(manifest, indent=1, allow_nan=False).encode()}
        files |= {f"arms/{arm.id}.skops": c.artifact for arm, c in zip(self.arms, self.classifiers, strict=True)}
        return pack(files, compress=False)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read what `to_bytes` wrote, or raise ArtifactError; check its digest first where others can write to it."""
        files = unpack(content)
        try:
            manifest = json.loads(files[_MANIFEST])
            if manifest["format"] != FORMAT:
                raise ArtifactError(f"the arms' file has format {manifest['format']!r}; this version reads {FORMAT}")
            arms = arms_from_json(manifest)
            features = {f["name"]: Feature(**{**f, "levels": tuple(f["levels"])}) for f in manifest["features"]}
            classifiers = tuple(
                ArmClassifier(tuple(features[name] for name in names), files[f"arms/{arm.id}.skops"])
                for arm, names in zip(arms, manifest["read"], strict=True)
            )
            return cls(arms, classifiers, float(manifest["threshold"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"the arms' file is incomplete or damaged: {error}") from error


@dataclass(frozen=True, eq=False)
class TrainedArms:
    """Result of training the arms of a problem."""

    classifiers: ArmClassifiers  # fitted to all patients, for future patients
    risks: NDArray[np.float32]  # out-of-sample, shape = (n_patients, n)
    truth: NDArray[np.int8]  # the outcome, shape = (n_patients,)
    notes: tuple[str, ...]  # remarks on the fits

    @property
    def predictions(self) -> NDArray[np.int8]:
        """Out-of-sample predictions, shape = (n_patients, n), as `replay` takes them."""
        return (self.risks >= self.classifiers.threshold).astype(np.int8)


def train_arms(
    cohort: Cohort,
    arms: Arms,
    configuration: Configuration = SIMPLE,
    *,
    folds: int = FOLDS,
    threshold: float = THRESHOLD,
    seed: int = 0,
    evaluate: Evaluate = cross_validate,
) -> TrainedArms:
    """Train one classifier for each arm.

    Parameters
    ----------
    cohort : Cohort
    arms : Arms, whose tests name features of the cohort
    configuration : Configuration
        The pipeline of every arm, a logistic regression by default. Each arm of a learner with a path has the setting
        that its folds chose.
    folds : int
        At least 2; fewer folds are used if the smaller class has fewer patients, or an outcome occurs in fewer groups.
    threshold : float in (0, 1), smallest risk whose prediction is 1
    seed : int, seeds folds and pipelines
    evaluate : callable (Configuration, Cohort, Plan) -> CrossValidation, runs the cross-validation

    Returns
    -------
    TrainedArms
        Classifiers and their out-of-sample risks.

    Raises
    ------
    InvalidInputError
        With every fault of tests, folds and threshold.
    ValueError
        If the pipeline of an arm cannot be fitted.
    """
    if faults := training_faults(cohort, arms.tests, folds=folds, threshold=threshold):
        raise InvalidInputError(faults)
    most, _ = _most_folds(cohort)
    # No score is needed; the Brier score is defined even on folds with one outcome only.
    plan = Plan("brier", min(folds, most), 1, seed)
    classifiers: list[ArmClassifier] = []
    risks = np.empty((cohort.n_patients, len(arms)), dtype=np.float32)
    notes: dict[str, None] = {}
    for index, arm in enumerate(arms):
        seen = restricted(cohort, read_features(arms.tests, arm.tests))
        validation = evaluate(configuration, seen, plan)
        risks[:, index] = validation.risks
        validated = configuration
        if validation.chosen is not None:  # the risks are those of one setting of the learner's path
            validated = at_setting(configuration, seen, validation.chosen.value)
        fitted = fit_pipeline(validated, seen, np.arange(seen.n_patients), plan, seed)
        classifiers.append(ArmClassifier(seen.features, dump_estimator(fitted)))
        if validation.notes:
            notes[validation.notes] = None
    return TrainedArms(ArmClassifiers(arms, tuple(classifiers), threshold), risks, cohort.y, tuple(notes))


def training_faults(
    cohort: Cohort, tests: Sequence[DiagnosticTest], *, folds: int = FOLDS, threshold: float = THRESHOLD
) -> list[Fault]:
    """Faults of tests, folds, threshold and cohort for which `train_arms` would refuse to train."""
    faults = list(feature_faults(cohort, tests))
    if not 0 < threshold < 1:
        faults.append(Fault("/threshold", f"must lie in (0, 1), not {threshold}"))
    if folds < 2:
        faults.append(Fault("/folds", f"out-of-sample predictions take at least 2 folds, not {folds}"))
    most, what = _most_folds(cohort)
    if most < 2:
        faults.append(Fault("/cohort_id", f"out-of-sample predictions take at least 2 folds, more than {what}"))
    return faults


def _most_folds(cohort: Cohort) -> tuple[int, str]:
    """Largest number of folds whose training patients surely include both outcomes, and its reason as text."""
    holders = [np.flatnonzero(cohort.y == outcome) for outcome in (0, 1)]
    if cohort.groups is None:
        most = min(len(rows) for rows in holders)
        return most, f"the {most} patients of the smaller class"
    most = min(len(np.unique(cohort.groups[rows])) for rows in holders)
    return most, f"the {most} groups that hold one of the outcomes"


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """Predictions of every arm for the patients of a table, and their outcomes if known: the input of `replay`."""

    predictions: NDArray[np.int8]  # 0 or 1, one row per patient and one column per arm
    truth: NDArray[np.int8] | None  # the outcome, if known

    def to_bytes(self) -> bytes:
        """Write the table as a compressed file, one bit per value."""
        file = io.BytesIO()
        arrays = {"shape": np.array(self.predictions.shape), "predictions": np.packbits(self.predictions)}
        if self.truth is not None:
            arrays["truth"] = np.packbits(self.truth)
        np.savez_compressed(file, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read what `to_bytes` wrote, or raise ArtifactError; nothing in it is executed."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                rows, n = file["shape"].tolist()
                predictions = np.unpackbits(file["predictions"], count=rows * n).reshape(rows, n).astype(np.int8)
                truth = np.unpackbits(file["truth"], count=rows).astype(np.int8) if "truth" in file else None
                return cls(predictions, truth)
        except (BadZipFile, zlib.error, OSError, ValueError, KeyError, EOFError) as error:
            raise ArtifactError(f"the table of predictions is damaged: {error}") from error
