"""A third kind of outcome, in this file alone: an illness of several grades, of which the worst is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Mode, Target, event_strata, stratified_sample
from autoprog.cohort.target import Real, Rescale
from autoprog.endpoints import register_endpoint
from autoprog.endpoints.binary import BinaryEndpoint
from autoprog.performance import METRICS, Metric, ScoreEstimate
from autoprog.validation import Corrected

BRIER = "brier_of_the_worst"


@dataclass(frozen=True, slots=True)
class Graded(Target):
    """Grades 0, 1 and so on: pipelines learn to tell all apart, and predict the worst."""

    column: str
    worst: int

    mode: ClassVar[Mode] = "classification"
    default_metric: ClassVar[str] = BRIER
    default_metric_of_visits: ClassVar[str] = BRIER
    simple_predictor: ClassVar[str] = "logistic_regression"
    described: ClassVar[str] = "grades"
    plural: ClassVar[str] = "grades"
    answers: ClassVar[str] = "predict_proba"
    loss: ClassVar[str] = BRIER
    held: ClassVar[tuple[int, ...]] = (0, 1, 2)
    has_votes: ClassVar[bool] = False

    horizons = causes = ()
    places = (None,)

    @property
    def subject(self) -> str:
        return self.column

    @property
    def equation(self) -> str:
        return f"{self.column} = {self.worst}"

    def until(self, horizons: Sequence[float]) -> Self:
        return self

    def outcomes(self, code: NDArray[np.int8], time: NDArray[np.float64] | None) -> NDArray[np.int8]:
        return code

    def count_rarer(self, y: NDArray[Any]) -> int:
        return int(np.bincount(y).min())

    def time_grid(self, y: NDArray[Any]) -> tuple[float, ...]:
        return ()

    def count_periods(self, y: NDArray[Any], times: Sequence[float]) -> int:
        return 0

    def strata(self, y: NDArray[Any], least: int) -> NDArray[np.int64]:
        return event_strata(y, least)

    def sample(self, y: NDArray[Any], size: int, least: int, rng: np.random.Generator) -> NDArray[np.intp]:
        return stratified_sample(self.strata(y, least), size, least, rng)

    def predict(self, pipeline: Any, X: NDArray[np.float64], times: Sequence[float]) -> NDArray[np.float64]:
        risks: NDArray[np.float64] = pipeline.predict_proba(X)[:, self.worst]
        return risks

    def of_interest(self, F: NDArray[Real]) -> NDArray[Real]:
        return F

    def as_curves(self, P: NDArray[Real]) -> NDArray[Real]:
        return P[..., None]

    def from_curves(self, P: NDArray[Real]) -> NDArray[Real]:
        return P[..., 0]

    def probabilities(
        self, P: NDArray[np.floating[Any]], y: NDArray[Any], times: Sequence[float]
    ) -> NDArray[np.float64]:
        return np.clip(np.where(y == self.worst, P, 1.0 - P), 1e-4, 1.0)

    def by_cause(self, F: NDArray[np.float64], P: NDArray[np.float64], rescale: Rescale) -> None:
        return None

    def require_times(self) -> None:
        msg = "grades have no time"
        raise ValueError(msg)


class GradedEndpoint(BinaryEndpoint):
    """Measures the risk of the worst grade as that of a label."""

    metrics = (BRIER,)

    @property
    def y(self) -> NDArray[np.int8]:
        target = self.cohort.target
        assert isinstance(target, Graded)
        return (self.cohort.y == target.worst).astype(np.int8)

    def scarcest(self, metric: str) -> tuple[str, tuple[NDArray[np.bool_], ...]]:
        return "of the rarest grade", tuple(self.cohort.y == grade for grade in np.unique(self.cohort.y))

    def count_rarer(self) -> int:
        return self.cohort.target.count_rarer(self.cohort.y)

    def score(self, metric: Metric, P: NDArray[np.floating[Any]], seed: int) -> ScoreEstimate:
        return super().score(METRICS["brier"], P, seed)

    def corrected_score(self, metric: Metric, *arguments: Any, **named: Any) -> Corrected:
        return super().corrected_score(METRICS["brier"], *arguments, **named)


def make_metric(worst: int) -> Metric:
    def score(y: NDArray[Any], risks: NDArray[np.floating[Any]]) -> float:
        return float(np.mean((risks - (y == worst)) ** 2))

    return Metric(BRIER, score, greater_is_better=False, lower=0.0, upper=1.0, reference="Brier 1950")


def simulate(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Three columns, the first of which tells grades 0, 1 and 2 apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.digitize(X[:, 0] + 0.7 * rng.standard_normal(n), [-0.4, 0.6]).astype(np.int8)


register_endpoint(Graded, GradedEndpoint)
