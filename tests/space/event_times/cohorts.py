"""Cohorts with event times: real ones, and simulated ones whose risks are known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import logit

from autoprog.cohort import Cohort, Feature, TimeToEvent
from autoprog.cohort.event_array import event_times
from tests.survival.reference import cohort_of

# Log hazard ratios of the three columns, for the event of interest and for a competing one.
EFFECTS = np.array([[0.8, -0.5, 0.0], [-0.3, 0.0, 0.6]])
RATES = np.array([0.35, 0.25])


@dataclass(frozen=True, eq=False)
class Simulated:
    """Patients with constant hazards, censored independently of them at the rate `censoring`."""

    X: np.ndarray
    y: np.ndarray
    causes: int

    def risk(self, t: np.ndarray, cause: int = 1) -> np.ndarray:
        """The true P(cause until t | x), shape = (n, T)."""
        return true_risk(self.X, t, self.causes, cause)


def hazards(X: np.ndarray, causes: int) -> np.ndarray:
    """Of each cause, shape = (n, causes)."""
    return RATES[:causes] * np.exp(X @ EFFECTS[:causes].T)


def true_risk(X: np.ndarray, t: np.ndarray, causes: int, cause: int = 1) -> np.ndarray:
    of_cause = hazards(X, causes)
    total = of_cause.sum(axis=1, keepdims=True)
    return of_cause[:, [cause - 1]] / total * -np.expm1(-total * t)


def simulated(seed: int, n: int, causes: int = 1, censoring: float = 0.9) -> Simulated:
    """With the default rate half of the patients are censored by time 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    of_causes = hazards(X, causes)
    time = rng.exponential(1 / of_causes.sum(axis=1))
    until = np.cumsum(of_causes, axis=1) / of_causes.sum(axis=1, keepdims=True)
    cause = 1 + (rng.random(n)[:, None] > until[:, :-1]).sum(axis=1)
    censored = rng.exponential(1 / censoring, n) if censoring else np.full(n, np.inf)
    return Simulated(X, event_times(np.where(time <= censored, cause, 0), np.minimum(time, censored)), causes)


def unrelated(seed: int, n: int, causes: int = 2, distinct: int | None = None) -> np.ndarray:
    """Outcomes without any structure; with `distinct`, times from so few values."""
    rng = np.random.default_rng(seed)
    time = rng.exponential(size=n) if distinct is None else 1.0 + rng.integers(0, distinct, n)
    return event_times(rng.integers(0, causes + 1, n), time)


def as_cohort(
    X: np.ndarray, y: np.ndarray, horizons: tuple[float, ...], causes: int, groups: np.ndarray | None = None
) -> Cohort:
    """A survival cohort of numeric columns."""
    competing = tuple(str(cause) for cause in range(2, causes + 1))
    outcome = TimeToEvent("time", "event", "1", horizons, competing)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(X.shape[1]))
    return Cohort("patients", outcome, features, X, y["event"], groups, np.ascontiguousarray(y["time"]))


@cache
def real_event_cohort(name: str) -> Cohort:
    """A cohort of `tests/data/reference` with its three horizons."""
    found = cohort_of(name)
    y = event_times(found.event, found.time)
    return as_cohort(found.X, y, tuple(found.horizons.tolist()), int(found.event.max()))


class Distorted:
    """A learner that knows the true risks and tells others: those whose map by a and b gives the truth."""

    def __init__(self, a: float, b: float, causes: int) -> None:
        self.a, self.b, self.causes = a, b, causes

    def get_params(self, deep: bool = True) -> dict[str, float]:
        return {"a": self.a, "b": self.b, "causes": self.causes}

    def fit(self, X: np.ndarray, y: np.ndarray) -> Distorted:
        return self

    def cumulative_incidence(self, X: np.ndarray, times: np.ndarray) -> np.ndarray:
        F = np.stack([true_risk(X, np.asarray(times), self.causes, k + 1) for k in range(self.causes)], axis=1)
        with np.errstate(divide="ignore"):
            told = 1 / (1 + np.exp(-(logit(F[:, 0]) - self.a) / self.b))
        F[:, 1:] *= ((1 - told) / (1 - F[:, 0]))[:, None]
        F[:, 0] = told
        return F
