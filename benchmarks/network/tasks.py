"""Cohorts, their folds, and what a model says of them.

A model learns from four fifths of the patients, at most 1,500 of them, and every patient is in one other fifth.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split

from autoprog import Survival
from autoprog.cohort import Cohort
from autoprog.estimator.tables import binary_cohort, survival_cohort
from autoprog.space.design_matrix import DesignMatrix
from benchmarks.opening.runs import table

BINARY = (
    "birthwt",
    "hepatitis",
    "bmt137@365",
    "veteran@90",
    "lung@365",
    "heart_cleveland",
    "ckd",
    "pbc_cr@1825",
    "whas500@730",
    "ilpd",
    "gbsg2@1095",
    "breast_w",
    "pima_missing",
    "pima",
    "heart_uci4",
    "colon@1095",
    "actg320@240",
    "metabric@120",
    "mgus2@120",
)
COMPETING = ("bmt137", "bmt408", "framingham_cr", "mgus2", "paquid", "pbc_cr")
SURVIVAL = ("veteran", "lung", "whas500", "gbsg2", "colon", "actg320", "metabric")
GROUPS = {"binary": BINARY, "competing": COMPETING, "survival": SURVIVAL}
COHORTS = (*BINARY, *COMPETING, *SURVIVAL)
SEEDS, FOLDS, MAX_PATIENTS = (0, 1, 2), 5, 1_500
_SHARES = np.linspace(0.1, 0.9, 10)  # of the events of interest, at whose times risks are asked for
_NO_FEATURES = {"whas500": ["los"]}  # not known at admission

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fold:
    """Patients to learn from, and others in the form of the cohort's matrix."""

    learn: Cohort
    new: _Floats
    seed: int

    def matrices(self) -> tuple[_Floats, _Floats]:
        """Design matrices of both, NaN where a cell is missing."""
        columns = DesignMatrix.for_features(self.learn.features)
        return columns.fit_transform(self.learn.X), columns.transform(self.new)


class Model(Protocol):
    """What is asked: risks (n,), with event times the cumulative incidence (n, T) of cause 1 at the horizons."""

    def takes(self, cohort: Cohort) -> bool:
        """Whether the model is for such outcomes."""
        ...

    def __call__(self, fold: Fold) -> _Floats:
        """Fit to the one part and predict the other."""
        ...


@dataclass(frozen=True, eq=False)
class Answer:
    """What a model says of every patient by fits to others, with what came of them.

    Attributes
    ----------
    y : ndarray, shape = (n,)
        Outcomes, with event times the codes.
    time : ndarray, shape = (n,) or (0,)
        Of the events.
    times : ndarray, shape = (T,)
        At which risks were asked for; empty for a binary outcome.
    risks : ndarray, shape = (n,) or (n, T)
        Each patient's, by the fit to the other folds.
    seconds : ndarray, shape = (folds,)
        Processor seconds of fit and prediction.
    """

    y: NDArray[np.int8]
    time: _Floats
    times: _Floats
    risks: NDArray[np.float32]
    seconds: _Floats

    def save(self, path: Path) -> None:
        """Write it to a file, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            np.savez_compressed(file, **vars(self))
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> Answer:
        """Read it again."""
        with np.load(path) as file:
            return cls(**file)


@dataclass(frozen=True, eq=False)
class Task:
    """A cohort to be divided."""

    cohort: Cohort

    def _rows(self, seed: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        y = self.cohort.y
        for learn, new in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y):
            if len(learn) > MAX_PATIENTS:
                drawn, _ = train_test_split(learn, train_size=MAX_PATIENTS, stratify=y[learn], random_state=seed)
                yield drawn, new
            else:
                yield learn, new

    def _outcomes(self) -> dict[str, NDArray[Any]]:
        cohort = self.cohort
        event_time = np.empty(0) if cohort.time is None else cohort.time
        return {"y": cohort.y.astype(np.int8), "time": event_time, "times": np.array(cohort.horizons, dtype=np.float64)}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The patients and every fold as plain arrays, for a place that has none of the libraries.

        Returns
        -------
        dict
            `X` (n, d), NaN for missing; `y` (n,), `time` and `times` as in `Answer`; `learn` and `new`
            (seeds, folds, n), whether a patient is learnt from, and predicted.
        """
        learn, new = np.zeros((2, len(SEEDS), FOLDS, len(self.cohort.y)), dtype=bool)
        for place, seed in enumerate(SEEDS):
            for k, (drawn, others) in enumerate(self._rows(seed)):
                learn[place, k, drawn] = new[place, k, others] = True
        X = DesignMatrix.for_features(self.cohort.features).fit_transform(self.cohort.X)
        return {"X": X, **self._outcomes(), "learn": learn, "new": new}

    def ask(self, model: Model, seed: int) -> Answer:
        """Every fold's risks."""
        cohort, n_times = self.cohort, len(self.cohort.horizons)
        risks = np.empty((len(cohort.y), n_times) if n_times else len(cohort.y), np.float32)
        seconds = []
        for learn, new in self._rows(seed):
            start = time.process_time()
            risks[new] = model(Fold(cohort.take(learn), cohort.X[new], seed))
            seconds.append(time.process_time() - start)
        return Answer(**self._outcomes(), risks=risks, seconds=np.array(seconds))


def load(name: str, data: Path) -> Task:
    """A cohort by its name; a bare name with event times is followed at ten quantiles of the events of interest."""
    manifest = pd.read_csv(data / "datasets.csv").set_index("name")
    if "@" in name or manifest.loc[name, "kind"] == "classification":
        frame, y = table(name, data)
        return Task(binary_cohort(frame.reset_index(drop=True), y, 1, all_numeric=False).cohort)
    frame = pd.read_csv(data / str(manifest.loc[name, "file"])).drop(columns=_NO_FEATURES.get(name, []))
    t, event = frame.pop("time").to_numpy(np.float64), frame.pop("event").to_numpy(np.int64)
    horizons = np.unique(np.quantile(t[event == 1], _SHARES, method="inverted_cdf"))
    return Task(survival_cohort(frame, Survival(t, event), horizons.tolist(), all_numeric=False).cohort)
