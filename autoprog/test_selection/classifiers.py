"""One classifier an arm, trained on a cohort: measurements in place of predictions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort, Feature, encode_patients
from autoprog.cohort.messages import pointer
from autoprog.errors import ArtifactError, Fault, InvalidInputError
from autoprog.evaluation import CrossValidation, Plan, cross_validate, fit_pipeline
from autoprog.model import dump_estimator, load_estimator
from autoprog.model.archive import pack, unpack
from autoprog.space import Configuration
from autoprog.test_selection.arms import Arms, DiagnosticTest, arms_from_json, arms_to_json
from autoprog.test_selection.groups import SIMPLE, feature_faults, read_features, restricted

FOLDS = 10
THRESHOLD = 0.5
FORMAT = 1

_MANIFEST = "manifest.json"

Evaluate = Callable[[Configuration, Cohort, Plan], CrossValidation]


@dataclass(frozen=True, eq=False)
class ArmClassifier:
    """The fitted pipeline of one arm.

    Attributes
    ----------
    features : tuple of Feature
        What it reads, in the order of its columns.
    artifact : bytes
        As `dump_estimator` writes it.
    """

    features: tuple[Feature, ...]
    artifact: bytes

    @cached_property
    def estimator(self) -> Any:  # noqa: ANN401  scikit-learn has no common type of classifiers
        """The fitted pipeline; read on first use, which raises ArtifactError where it cannot be read."""
        return load_estimator(self.artifact)


@dataclass(frozen=True)
class Reading:
    """What the arms that are known say of one patient.

    Attributes
    ----------
    risks : mapping
        Arm id -> probability of the outcome, of every arm that the played one reveals.
    predictions : mapping
        Arm id -> 0 or 1: whether the risk is at least the threshold.
    warnings : tuple of str
        What is unusual about the measurements.
    """

    risks: Mapping[str, float]
    predictions: Mapping[str, int]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ArmClassifiers:
    """The classifiers of all arms.

    Attributes
    ----------
    arms : Arms
        Whose tests name the features they measure.
    classifiers : tuple of ArmClassifier, length n
        In the order of the arms.
    threshold : float
        Risk from which on the prediction is 1.
    """

    arms: Arms
    classifiers: tuple[ArmClassifier, ...]
    threshold: float

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """All features that any test measures."""
        everything = max(self.classifiers, key=lambda c: len(c.features))
        return everything.features

    def read(self, arm: int, measurements: Mapping[str, object], *, impute: bool = True) -> Reading:
        """Predictions of all arms that the tests of one make known.

        Parameters
        ----------
        arm : int
            The arm that was played, from 0.
        measurements : mapping
            Feature -> value, or None where a test was done without giving it. All features of the arm must be there;
            those of other tests may be, and are not read.
        impute : bool
            Whether a None is imputed by the arm's pipeline, or refused.

        Returns
        -------
        Reading
            For `check_predictions`, and to act on.

        Raises
        ------
        InvalidInputError
            With every fault: a feature of the arm that is absent, a name that no test measures, a value that is none of
            its feature's kind, a None where it is refused.
        """
        wanted = {feature.name for feature in self.classifiers[arm].features}
        faults = [
            Fault(
                pointer("measurements", name),
                f"missing: arm {self.arms.arms[arm].id} needs it; send null if it is unknown",
            )
            for name in sorted(wanted - measurements.keys())
        ]
        if not impute:
            empty = sorted(name for name in wanted & measurements.keys() if measurements[name] is None)
            faults += [Fault(pointer("measurements", name), "is unknown, and is not to be imputed") for name in empty]
        row, unusual, wrong = self._encoded(measurements, wanted)
        if faults + wrong:
            raise InvalidInputError(faults + wrong)
        place = {feature.name: j for j, feature in enumerate(self.features)}
        risks: dict[str, float] = {}
        for index in self.arms.revealed(arm):
            classifier = self.classifiers[index]
            x = row[[place[feature.name] for feature in classifier.features]][None]
            risks[self.arms.arms[index].id] = float(classifier.estimator.predict_proba(x)[0, 1])
        predictions = {name: int(risk >= self.threshold) for name, risk in risks.items()}
        return Reading(risks, predictions, unusual)

    def check(self, measurements: Mapping[str, object]) -> None:
        """Refuse measurements that cannot be, of an arm that is not complete yet; raises InvalidInputError with all."""
        _, _, faults = self._encoded(measurements, set())
        if faults:
            raise InvalidInputError(faults)

    def _encoded(
        self, measurements: Mapping[str, object], wanted: set[str]
    ) -> tuple[NDArray[np.float64], tuple[str, ...], list[Fault]]:
        """A row of all features, warnings of those that are wanted, and what is wrong with any that was sent."""
        patient = {**dict.fromkeys((feature.name for feature in self.features), None), **measurements}
        try:
            encoded = encode_patients(self.features, [patient])
        except InvalidInputError as error:
            here = [Fault(f.pointer.replace("/patients/0", "/measurements", 1), f.detail) for f in error.faults]
            return np.empty(0), (), here
        sent = {name for name in wanted if measurements.get(name) is not None}
        of_arm = [w for w in encoded.warnings[0] if not w.endswith(" was imputed")]
        imputed = [f"{name} was imputed" for name in sorted(wanted - sent)]
        return encoded.X[0], (*of_arm, *imputed), []

    def to_bytes(self) -> bytes:
        """All classifiers as one file; the same bytes for the same classifiers."""
        manifest = {
            "format": FORMAT,
            **arms_to_json(self.arms),
            "threshold": self.threshold,
            "features": [asdict(feature) for feature in self.features],
            "read": [[feature.name for feature in c.features] for c in self.classifiers],
        }
        files = {_MANIFEST: json.dumps(manifest, indent=1, allow_nan=False).encode()}
        files |= {f"arms/{arm.id}.skops": c.artifact for arm, c in zip(self.arms, self.classifiers, strict=True)}
        return pack(files, compress=False)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read classifiers.

        Parameters
        ----------
        content : bytes
            As `to_bytes` wrote it. Check its digest first where others can write to its place.

        Returns
        -------
        ArmClassifiers
            Ready to read measurements.

        Raises
        ------
        ArtifactError
            If the file is damaged, incomplete or of a newer format.
        """
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
    """What training the arms of a problem gives.

    Attributes
    ----------
    classifiers : ArmClassifiers
        Fitted to all patients, for patients to come.
    risks : ndarray, shape = (n_patients, n)
        float32; of each patient by classifiers that were fitted without them.
    truth : ndarray, shape = (n_patients,)
        The outcome.
    notes : tuple of str
        What is worth knowing of the fits.
    """

    classifiers: ArmClassifiers
    risks: NDArray[np.float32]
    truth: NDArray[np.int8]
    notes: tuple[str, ...]

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
    """Train one classifier an arm.

    Parameters
    ----------
    cohort : Cohort
        The patients to learn from; every one has a place in a fold.
    arms : Arms
        Whose tests name features of the cohort.
    configuration : Configuration
        The pipeline of every arm; a logistic regression by default.
    folds : int
        Folds of the out-of-sample predictions, at least 2; fewer where the smaller class has fewer patients, or is
        held by fewer groups.
    threshold : float
        Risk from which on the prediction is 1, in (0, 1).
    seed : int
        Seeds folds and pipelines.
    evaluate : callable (Configuration, Cohort, Plan) -> CrossValidation
        Who cross-validates.

    Returns
    -------
    TrainedArms
        Classifiers and their out-of-sample risks.

    Raises
    ------
    InvalidInputError
        With every fault of tests, folds and threshold.
    ValueError
        Where the pipeline of an arm cannot be fitted.
    """
    if faults := training_faults(cohort, arms.tests, folds=folds, threshold=threshold):
        raise InvalidInputError(faults)
    most, _ = _most_folds(cohort)
    # A score is not asked for; this one is defined on folds with one outcome only, too.
    plan = Plan("brier", min(folds, most), 1, seed)
    classifiers: list[ArmClassifier] = []
    risks = np.empty((cohort.n_patients, len(arms)), dtype=np.float32)
    notes: dict[str, None] = {}
    for index, arm in enumerate(arms):
        seen = restricted(cohort, read_features(arms.tests, arm.tests))
        validation = evaluate(configuration, seen, plan)
        risks[:, index] = validation.risks
        fitted = fit_pipeline(configuration, seen, np.arange(seen.n_patients), plan, seed)
        classifiers.append(ArmClassifier(seen.features, dump_estimator(fitted)))
        if validation.notes:
            notes[validation.notes] = None
    return TrainedArms(ArmClassifiers(arms, tuple(classifiers), threshold), risks, cohort.y, tuple(notes))


def training_faults(
    cohort: Cohort, tests: Sequence[DiagnosticTest], *, folds: int = FOLDS, threshold: float = THRESHOLD
) -> list[Fault]:
    """What keeps `train_arms` from training.

    Parameters
    ----------
    cohort : Cohort
        The patients.
    tests : sequence of DiagnosticTest
        As the client gave them.
    folds, threshold : int, float
        As for `train_arms`.

    Returns
    -------
    list of Fault
        Of features, folds, threshold and cohort.
    """
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
    """The most folds whose training patients hold both outcomes for certain, and why."""
    holders = [np.flatnonzero(cohort.y == outcome) for outcome in (0, 1)]
    if cohort.groups is None:
        most = min(len(rows) for rows in holders)
        return most, f"the {most} patients of the smaller class"
    most = min(len(np.unique(cohort.groups[rows])) for rows in holders)
    return most, f"the {most} groups that hold one of the outcomes"
