"""How classifiers, and learners of event times, learn an outcome: itself, by intervals, or by weighted horizons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from autoprog.space.event_times.cause_specific import CauseSpecific
from autoprog.space.event_times.discrete_time import DiscreteTime, most_patients
from autoprog.space.event_times.incidence_pipeline import IncidencePipeline
from autoprog.space.event_times.ipcw import WeightedHorizons

if TYPE_CHECKING:
    from autoprog.space._base import Algorithm, TableShape

Steps = list[tuple[str, BaseEstimator]]


class Learning(Protocol):
    """How an outcome is learnt from tables of a shape."""

    def of_classifier(self, shape: TableShape) -> TableShape:
        """Shape of the table to which a classifier is fitted."""
        ...

    def n_pooled(self, shape: TableShape) -> int:
        """Patients that a classifier learns from."""
        ...

    def rows_of_a_patient(self, shape: TableShape) -> float:
        """Mean number of rows that classifiers learn from a patient."""
        ...

    def n_fits(self, shape: TableShape, predictor: Algorithm) -> int:
        """Number of fits of a predictor."""
        ...

    def why_unfit(self, predictor: Algorithm) -> str | None:
        """Why a predictor cannot learn the outcome; None if it can."""
        ...

    def assemble(
        self,
        steps: Sequence[tuple[str, BaseEstimator]],
        predictor: Algorithm,
        shape: TableShape,
        seed: int,
        memory: Any,  # noqa: ANN401  joblib's interface, which has no type
    ) -> BaseEstimator:
        """Make a pipeline whose last step is the predictor."""
        ...


class ByItself:
    """An outcome without a time: classifiers are fitted to it."""

    def of_classifier(self, shape: TableShape) -> TableShape:
        return shape

    def n_pooled(self, shape: TableShape) -> int:
        return shape.n_patients

    def rows_of_a_patient(self, shape: TableShape) -> float:
        return 1.0

    def n_fits(self, shape: TableShape, predictor: Algorithm) -> int:
        return 1

    def why_unfit(self, predictor: Algorithm) -> str | None:
        """Learners of event times cannot."""
        return "is fitted to event times, which the outcome has not" if predictor.takes_times else None

    def assemble(
        self,
        steps: Sequence[tuple[str, BaseEstimator]],
        predictor: Algorithm,
        shape: TableShape,
        seed: int,
        memory: Any,  # noqa: ANN401  as above
    ) -> Pipeline:
        """Make a pipeline of the steps."""
        return Pipeline(list(steps), memory=memory)


class ByIntervals:
    """Event times: classifiers learn the hazards of the intervals between times."""

    def of_classifier(self, shape: TableShape) -> TableShape:
        """Shape of the table of the intervals at risk."""
        n_rows = shape.n_periods * shape.n_pooled // shape.n_patients
        return replace(_without_times(shape), n_patients=n_rows, n_columns=_with_intervals(shape))

    def n_pooled(self, shape: TableShape) -> int:
        """Patients whose intervals fit into the pooled table."""
        return most_patients(shape.n_patients, shape.n_periods, _with_intervals(shape))

    def rows_of_a_patient(self, shape: TableShape) -> float:
        """Intervals at risk."""
        return shape.n_periods / shape.n_patients

    def n_fits(self, shape: TableShape, predictor: Algorithm) -> int:
        """One per cause."""
        return shape.n_causes

    def why_unfit(self, predictor: Algorithm) -> str | None:
        """Every predictor can."""
        return None

    def assemble(
        self,
        steps: Sequence[tuple[str, BaseEstimator]],
        predictor: Algorithm,
        shape: TableShape,
        seed: int,
        memory: Any,  # noqa: ANN401  as above
    ) -> IncidencePipeline:
        """Make the last step a learner of cumulative incidence."""
        name, estimator = steps[-1]
        learner: BaseEstimator = estimator
        if not predictor.takes_times:
            learner = self._reduced(estimator, shape, seed)
        elif not hasattr(estimator, "cumulative_incidence"):
            learner = CauseSpecific(estimator, shape.n_causes)
        # A pipeline does not cache its last step.
        return IncidencePipeline(Pipeline([*steps[:-1], (name, "passthrough")], memory=memory), learner)

    def _reduced(self, classifier: BaseEstimator, shape: TableShape, seed: int) -> BaseEstimator:
        return DiscreteTime(classifier, shape.times, shape.n_causes, seed)


class ByHorizons(ByIntervals):
    """Event times: classifiers learn the event until each horizon, weighted by the probability of censoring."""

    def of_classifier(self, shape: TableShape) -> TableShape:
        """Shape without times."""
        return _without_times(shape)

    def n_pooled(self, shape: TableShape) -> int:
        return shape.n_patients

    def rows_of_a_patient(self, shape: TableShape) -> float:
        """One per horizon."""
        return float(len(shape.horizons))

    def n_fits(self, shape: TableShape, predictor: Algorithm) -> int:
        """One per cause, and for a classifier one per horizon."""
        return shape.n_causes * (1 if predictor.takes_times else len(shape.horizons))

    def why_unfit(self, predictor: Algorithm) -> str | None:
        """Classifiers need weights."""
        if predictor.takes_times or "weights" in predictor.takes:
            return None
        return "takes no weights of patients, which the reduction 'ipcw' needs"

    def _reduced(self, classifier: BaseEstimator, shape: TableShape, seed: int) -> BaseEstimator:
        return WeightedHorizons(classifier, shape.horizons, shape.n_causes)


def _without_times(shape: TableShape) -> TableShape:
    return replace(shape, times=(), horizons=(), n_causes=1, n_periods=0)


def _with_intervals(shape: TableShape) -> int:
    return shape.n_columns + len(shape.times) - 1
