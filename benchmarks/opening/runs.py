"""Every candidate of the opening on one split of one cohort: risks out of fold, and of patients not yet seen."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.cohort import Cohort
from autoprog.estimator.tables import binary_cohort
from autoprog.evaluation import Plan, at_setting, cross_validate, fit_pipeline
from autoprog.search.planning import plan_for, plan_search
from autoprog.search.settings import SearchSettings
from autoprog.space import Configuration, Space
from benchmarks.opening.candidates import candidates_for

TEST_SHARE, MAX_PATIENTS = 0.3, 12_000

_Risks = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Split:
    """What the candidates say on one split.

    Attributes
    ----------
    names : tuple of str, length k
        Of the candidates that could be fitted.
    y : ndarray, shape = (n,)
        Outcomes of the patients to learn from.
    out_of_fold : ndarray, shape = (k, n)
        Risks of these.
    new_y : ndarray, shape = (m,)
        Outcomes of the others.
    new : ndarray, shape = (k, m)
        Risks of these, by fits to all patients to learn from.
    seconds : ndarray, shape = (k,)
        Processor seconds of cross-validation.
    logistic : ndarray, shape = (m,)
        Risks by the rival: logistic regression whose penalty is chosen by AUC.
    """

    names: tuple[str, ...]
    y: NDArray[np.int8]
    out_of_fold: _Risks
    new_y: NDArray[np.int8]
    new: _Risks
    seconds: NDArray[np.float64]
    logistic: _Risks

    def save(self, path: Path) -> None:
        """Write them to a file, whole or not at all."""
        part = path.with_suffix(".part.npz")
        np.savez_compressed(part, **{**vars(self), "names": np.array(self.names)})
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> Split:
        """Read them again."""
        with np.load(path) as file:
            return cls(**{**file, "names": tuple(map(str, file["names"]))})


def table(name: str, data: Path) -> tuple[pd.DataFrame, NDArray[np.int8]]:
    """Features and outcome of a cohort; `NAME@DAY` is an event by that time, whoever was censored before left out."""
    cohort, _, horizon = name.partition("@")
    manifest = pd.read_csv(data / "datasets.csv").set_index("name")
    frame = pd.read_csv(data / str(manifest.loc[cohort, "file"]))
    if horizon:
        event = (frame["event"] == 1) & (frame["time"] <= float(horizon))
        known = event | (frame["time"] > float(horizon)) | (frame["event"] > 1)
        return frame.drop(columns=["time", "event"])[known], event[known].to_numpy(np.int8)
    outcome = frame.pop(str(manifest.loc[cohort, "outcome_columns"]))
    return frame, (outcome == max(outcome.unique())).to_numpy(np.int8)


def _sample(name: str, data: Path) -> tuple[pd.DataFrame, NDArray[np.int8]]:
    frame, y = table(name, data)
    if len(frame) > MAX_PATIENTS:
        rows, _ = train_test_split(np.arange(len(y)), train_size=MAX_PATIENTS, random_state=0, stratify=y)
        frame, y = frame.iloc[rows], y[rows]
    return frame.reset_index(drop=True), y


def _division(y: NDArray[np.int8], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    learn, new = train_test_split(np.arange(len(y)), test_size=TEST_SHARE, random_state=seed, stratify=y)
    return learn, new


def divide(name: str, seed: int, data: Path) -> tuple[Cohort, Cohort, Plan]:
    """Patients to learn from, the others, and the folds of the former."""
    frame, y = _sample(name, data)
    cohort = binary_cohort(frame, y, 1, all_numeric=False).cohort
    learn, new = _division(y, seed)
    patients = cohort.take(learn)
    settings, _ = plan_search(SearchSettings(), patients)
    assert settings.folds is not None
    return patients, cohort.take(new), replace(plan_for(settings, patients, settings.folds), repeats=1)


def measure(name: str, seed: int, data: Path, kept: Split | None = None) -> Split:
    """Fit every candidate; those of an earlier run are not fitted again."""
    frame, y = _sample(name, data)
    learn, new = _division(y, seed)
    patients, others, plan = divide(name, seed, data)
    told = {} if kept is None else _told(kept)
    for candidate, configuration in _configurations(patients, plan).items():
        if candidate not in told:
            risks = _fitted(configuration, patients, others, plan)
            if risks is not None:
                told[candidate] = risks
    out_of_fold, beyond, seconds = zip(*told.values(), strict=True)
    rival = _logistic(frame, y, learn, new) if kept is None else kept.logistic
    return Split(tuple(told), patients.y, np.array(out_of_fold), others.y, np.array(beyond), np.array(seconds), rival)


def _told(split: Split) -> dict[str, tuple[_Risks, _Risks, float]]:
    parts = zip(split.out_of_fold, split.new, split.seconds, strict=True)
    return dict(zip(split.names, parts, strict=True))


def _configurations(cohort: Cohort, plan: Plan) -> Mapping[str, Configuration]:
    shape = plan.shape(cohort)
    return candidates_for(Space.full().valid_kinds(shape), shape, cohort.n_rows)


def _fitted(
    configuration: Configuration, cohort: Cohort, others: Cohort, plan: Plan
) -> tuple[_Risks, _Risks, float] | None:
    start = time.process_time()
    try:
        validated = cross_validate(configuration, cohort, plan)
        seconds = time.process_time() - start
        if validated.chosen is not None:
            configuration = at_setting(configuration, cohort, validated.chosen.value)
        pipeline = fit_pipeline(configuration, cohort, np.arange(cohort.n_rows), plan, plan.seed)
        return validated.risks, cohort.target.predict_risks(pipeline, others.X).astype(np.float32), seconds
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        print(f"{configuration.prediction.algorithm}: {error}")
        return None


def _logistic(frame: pd.DataFrame, y: NDArray[Any], learn: NDArray[np.intp], new: NDArray[np.intp]) -> _Risks:
    text = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    train = pd.get_dummies(frame.iloc[learn], columns=text, dtype=float)
    test = pd.get_dummies(frame.iloc[new], columns=text, dtype=float).reindex(columns=train.columns, fill_value=0.0)
    regression = LogisticRegressionCV(max_iter=2000, scoring="roc_auc")
    model = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), regression).fit(train, y[learn])
    return np.asarray(model.predict_proba(test)[:, 1], dtype=np.float32)
