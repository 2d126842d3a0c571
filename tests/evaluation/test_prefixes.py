from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.evaluation import Plan, PrefixMemory, evaluate_fold, prefixes
from autoprog.space import Configuration, Space, Step
from autoprog.space.subsample import SubsampledTransformer
from tests.cohorts import cleveland_cohort, mixed_cohort

SPACE = Space.full()


class Slow(TransformerMixin, BaseEstimator):
    """Counts its fits, and warns."""

    fits: ClassVar[list[float]] = []

    def __init__(self, shift: float = 0.0) -> None:
        self.shift = shift

    def fit(self, X: np.ndarray, y: object = None) -> Self:
        time.sleep(0.05)
        Slow.fits.append(self.shift)
        warnings.warn("did not converge", ConvergenceWarning, stacklevel=2)
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X - self.mean_ + self.shift


def pipeline(folder: Path, shift: float = 0.0, C: float = 1.0, most_bytes: int = 1 << 20) -> Pipeline:
    steps = [("slow", Slow(shift)), ("learner", LogisticRegression(C=C))]
    return Pipeline(steps, memory=PrefixMemory(folder, most_bytes))


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] + rng.normal(size=60) > 0).astype(np.int8)


@pytest.fixture
def keeps_quick_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a stage is worth keeping must not depend on the machine, nor on what this process has fitted before."""
    monkeypatch.setattr(prefixes, "_MIN_S", 0.0)
    monkeypatch.setattr(prefixes, "_last_s", {})


def test_a_stage_is_fitted_once_for_the_same_patients(tmp_path: Path, data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    Slow.fits.clear()
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        first = pipeline(tmp_path).fit(X, y).predict_proba(X)
    with pytest.warns(ConvergenceWarning, match="did not converge"):  # told again with the stage that was kept
        second = pipeline(tmp_path).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(first, second)
    assert len(Slow.fits) == 1
    for learner in (pipeline(tmp_path, C=0.1), pipeline(tmp_path, shift=1.0)):
        with pytest.warns(ConvergenceWarning):
            learner.fit(X, y)
    assert Slow.fits == [0.0, 1.0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_patients_or_outcomes_are_another_stage(tmp_path: Path, data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    Slow.fits.clear()
    poisoned = X.copy()
    poisoned[-1, 0] += 1e-9
    for patients, outcomes in ((X, y), (X[:-1], y[:-1]), (poisoned, y), (X, 1 - y)):
        pipeline(tmp_path).fit(patients, outcomes)
    assert len(Slow.fits) == 4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_was_not_used_for_longest_makes_room(tmp_path: Path, data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    pipeline(tmp_path).fit(X, y)
    (first,) = tmp_path.iterdir()
    bound = int(first.stat().st_size * 3.5)
    for shift in (1.0, 2.0):
        time.sleep(0.02)
        pipeline(tmp_path, shift, most_bytes=bound).fit(X, y)
    time.sleep(0.02)
    pipeline(tmp_path, 0.0, most_bytes=bound).fit(X, y)  # used again
    time.sleep(0.02)
    pipeline(tmp_path, 3.0, most_bytes=bound).fit(X, y)
    assert first.exists()
    assert len(list(tmp_path.iterdir())) == 3
    Slow.fits.clear()
    pipeline(tmp_path, 1.0, most_bytes=bound).fit(X, y)
    assert Slow.fits == [1.0]


@pytest.mark.usefixtures("keeps_quick_stages")
@pytest.mark.parametrize("calibration", ["none", "isotonic"])
def test_scores_do_not_change_and_the_folder_is_used(tmp_path: Path, calibration: str) -> None:
    cohort, plan = cleveland_cohort(), Plan("auc_roc", 3, 1, 0)
    configuration = Configuration(
        SPACE.algorithm("imputation", "mice").default_step(),
        SPACE.algorithm("features", "polynomial").default_step(),
        Step.of("logistic_regression"),
        Step.of(calibration),
    )
    alone = evaluate_fold(configuration, cohort, plan, 1)
    for _ in range(2):
        shared = evaluate_fold(configuration, cohort, plan, 1, PrefixMemory(tmp_path))
        assert shared.score == alone.score
        assert shared.notes == alone.notes
        np.testing.assert_array_equal(shared.risks, alone.risks)
    assert list(tmp_path.iterdir())


def shared_prefix(prediction: str, calibration: str) -> Configuration:
    """The same imputation and features whatever predicts."""
    return Configuration(
        SPACE.algorithm("imputation", "mice").default_step(),
        SPACE.algorithm("features", "polynomial").default_step(),
        SPACE.algorithm("prediction", prediction).default_step(),
        Step.of(calibration),
    )


@pytest.mark.usefixtures("keeps_quick_stages")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("calibration", ["none", "sigmoid"])
@pytest.mark.parametrize("poisoned_first", [False, True])
def test_validation_patients_do_not_leak_through_stages_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calibration: str, poisoned_first: bool
) -> None:
    """All but one validation patient are replaced by nonsense: his risk does not change, and the kept stages serve."""
    cohort, plan = mixed_cohort(), Plan("auc_roc", 4, 1, seed=1)
    fold, shape = plan.fold(cohort, 0), plan.shape(cohort)
    poisoned = fold.test[1:]
    X, y = cohort.X.copy(), cohort.y.copy()
    X[poisoned, 0], X[poisoned, 1:], y[poisoned] = 1e6, np.nan, 1 - y[poisoned]
    nonsense = replace(cohort, X=X, y=y)
    # The same split and caps for both, whatever became of the outcomes that they are made from.
    monkeypatch.setattr(Plan, "fold", lambda *_: fold)
    monkeypatch.setattr(Plan, "shape", lambda *_: shape)
    memory = PrefixMemory(tmp_path)
    cohorts = (nonsense, cohort) if poisoned_first else (cohort, nonsense)

    of_patient, kept = [], []
    for patients in cohorts:
        for prediction in ("logistic_regression", "gaussian_nb"):
            result = evaluate_fold(shared_prefix(prediction, calibration), patients, plan, 0, memory)
            of_patient.append(result.risks[0])
            kept.append({path.name for path in tmp_path.iterdir()})
    assert of_patient[:2] == of_patient[2:]
    assert kept[1]
    assert kept[1] == kept[3]  # the second cohort finds every stage that the first one left
    alone = evaluate_fold(shared_prefix("gaussian_nb", calibration), cohort, plan, 0)
    assert alone.risks[0] == of_patient[1]


@pytest.mark.usefixtures("keeps_quick_stages")
def test_a_fold_never_takes_what_was_fitted_on_its_own_validation_patients(tmp_path: Path) -> None:
    """The other folds are trained on this one's validation patients; what they leave must not serve it."""
    cohort, plan = mixed_cohort(), Plan("auc_roc", 4, 1, seed=1)
    configuration, memory = shared_prefix("gaussian_nb", "none"), PrefixMemory(tmp_path)
    alone = [evaluate_fold(configuration, cohort, plan, number) for number in range(4)]
    for _ in range(2):
        for number, expected in enumerate(alone):
            shared = evaluate_fold(configuration, cohort, plan, number, memory)
            np.testing.assert_array_equal(shared.risks, expected.risks)
    assert list(tmp_path.iterdir())


class Quick(Slow):
    """Takes no time, and counts its digests."""

    digests: ClassVar[list[float]] = []

    def fit(self, X: np.ndarray, y: object = None) -> Self:
        self.mean_ = X.mean(axis=0)
        return self

    def __getstate__(self) -> dict[str, object]:
        Quick.digests.append(self.shift)
        return dict(super().__getstate__())


def test_a_kind_of_stage_that_was_quick_is_not_looked_for_again(
    tmp_path: Path, data: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefixes, "_last_s", {})
    monkeypatch.setattr(prefixes, "_MIN_S", 10.0)
    memory = PrefixMemory(tmp_path)
    for shift in (0.0, 1.0, 2.0):
        Pipeline([("quick", Quick(shift)), ("learner", LogisticRegression())], memory=memory).fit(*data)
    assert set(Quick.digests) == {0.0}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrapped", [lambda stage: stage, lambda stage: SubsampledTransformer(stage, 50, 0)])
def test_stages_of_several_parts_are_of_one_kind_if_all_their_parts_are(
    tmp_path: Path,
    data: tuple[np.ndarray, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
    wrapped: Callable[[Pipeline], BaseEstimator],
) -> None:
    monkeypatch.setattr(prefixes, "_last_s", {})
    for part in (Quick(), Slow(), Slow(1.0)):
        stage = wrapped(Pipeline([("scale", StandardScaler()), ("part", part)]))
        fitted = Pipeline([("stage", stage), ("learner", LogisticRegression())], memory=PrefixMemory(tmp_path))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted.fit(*data)
    assert len(prefixes._last_s) == 2
