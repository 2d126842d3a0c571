"""A plug-in that registers learners no engine can trust: one hangs in C, one allocates without end, one dies."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Mapping

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from autoprog.space import Algorithm, Parameter, TableShape, register


def sleep_holding_the_lock() -> None:
    """Sleep for ever in C without giving the interpreter lock back."""
    library = ctypes.PyDLL(None)
    while True:
        library.sleep(1000)


def allocate_for_ever() -> None:
    """Ask for a GiB at a time: where the limit holds, at once in vain, however slowly the system gives its pages."""
    taken = []
    while True:
        taken.append(np.ones(1 << 27))


class _Classifier(ClassifierMixin, BaseEstimator):
    """What a calibrator asks of a classifier before it fits it."""

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.full((len(X), 2), 0.5)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.zeros(len(X))


class SleepsForever(_Classifier):
    """Never returns from `fit`."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> SleepsForever:
        sleep_holding_the_lock()
        return self


class AllocatesForever(_Classifier):
    """Never has enough in `fit`."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> AllocatesForever:
        allocate_for_ever()
        return self


class KillsItself(_Classifier):
    """Its process ends in `fit`."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> KillsItself:
        os.kill(os.getpid(), signal.SIGSEGV)
        return self


def _sleeps(_parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return SleepsForever()


def _allocates(_parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return AllocatesForever()


def _dies(_parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return KillsItself()


register(Algorithm("prediction", "sleeps_forever", (), _sleeps, family="hostile"))
register(Algorithm("prediction", "allocates_forever", (), _allocates, family="hostile"))
register(Algorithm("prediction", "kills_itself", (), _dies, family="hostile"))
