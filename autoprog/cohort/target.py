"""What every kind of outcome answers: a label, an event with follow-up, either of them at visits.

======  =======================================================================  ==================================
symbol  meaning                                                                  shape
======  =======================================================================  ==================================
n, T    patients, or visits; times of the risks                                  scalars
y       outcomes as pipelines are fitted to them, from `Target.outcomes`         (n,)
F       risks as a pipeline gives them                                           (..., n), or (..., n, n_causes, T)
P       risks of what is predicted                                               (..., n), or (..., n, T)
======  =======================================================================  ==================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import Field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from autoprog.cohort.outcome import TimeToEvent

Mode = Literal["classification", "survival", "temporal"]

Real = TypeVar("Real", bound=np.floating[Any])

Rescale = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""From risks of every cause and those of the event of interest to risks of every cause."""


class Outcome(ABC):
    """What a cohort predicts."""

    __slots__ = ()

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    mode: ClassVar[Mode]
    """Kind of outcome, as the API names it."""

    row: ClassVar[str]
    """What a row is: `patient`, or `visit`."""

    if TYPE_CHECKING:

        @property
        def patient(self) -> str:
            """The column that identifies the patients of visits; empty where rows are patients."""

        @property
        def visit_time(self) -> str:
            """The column of the time of a visit; empty where rows are patients."""

        @property
        def default_metric(self) -> str:
            """The metric of a search that names none."""

    simple_predictor: ClassVar[str]
    """The prediction algorithm of the simple pipeline."""

    @property
    def time_unit(self) -> str | None:
        """Unit of the times; None if it is unknown, or there are no times."""
        return None

    @property
    @abstractmethod
    def target(self) -> Target:
        """What is predicted of a row."""

    @abstractmethod
    def until(self, horizons: Sequence[float]) -> Self:
        """The same outcome, predicted until other horizons; an outcome without a time stays as it is."""


class Target(Outcome):
    """What is predicted of a row, and how pipelines learn it."""

    __slots__ = ()

    row = "patient"
    patient = visit_time = ""

    default_metric_of_visits: ClassVar[str]
    """The metric of a search that names none, where rows are visits."""

    described: ClassVar[str]
    """What a metric measures, as text."""

    plural: ClassVar[str]
    """What visits have of it, as text."""

    answers: ClassVar[str]
    """The method of pipelines that gives the risks."""

    loss: ClassVar[str]
    """The metric that compares settings along a path."""

    held: ClassVar[tuple[int, ...]]
    """Codes that every part of the patients must hold."""

    has_votes: ClassVar[bool]
    """Whether the votes of trees that have not seen a patient are risks."""

    @property
    def target(self) -> Self:
        """Itself."""
        return self

    if TYPE_CHECKING:

        @property
        def horizons(self) -> tuple[float, ...]:
            """Times until which risks are predicted, ascending; empty where the outcome has no time."""

    @property
    @abstractmethod
    def subject(self) -> str:
        """The column that says who has the outcome."""

    @property
    def timed_by(self) -> tuple[str, ...]:
        """Columns of times."""
        return ()

    @property
    @abstractmethod
    def equation(self) -> str:
        """The column and the value that is predicted, as text."""

    @property
    @abstractmethod
    def causes(self) -> tuple[str, ...]:
        """Names of the causes, the event of interest first; empty where the outcome has no time."""

    @property
    def n_causes(self) -> int:
        """Number of causes, at least 1."""
        return max(1, len(self.causes))

    @abstractmethod
    def outcomes(self, code: NDArray[np.int8], time: NDArray[np.float64] | None) -> NDArray[Any]:
        """Outcomes y from a cohort's columns."""

    @abstractmethod
    def count_rarer(self, y: NDArray[Any]) -> int:
        """Count the patients of the rarer outcome, who limit what can be learnt."""

    @abstractmethod
    def time_grid(self, y: NDArray[Any]) -> tuple[float, ...]:
        """Times of the risks, ascending, horizons included; empty where the outcome has no time."""

    @abstractmethod
    def count_periods(self, y: NDArray[Any], times: Sequence[float]) -> int:
        """Count the intervals between times at risk, summed over the patients."""

    @abstractmethod
    def strata(self, y: NDArray[Any], least: int) -> NDArray[np.int64]:
        """Strata of the folds; those of fewer than `least` rows are joined to others."""

    @abstractmethod
    def sample(self, y: NDArray[Any], size: int, least: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw about `size` rows, ascending, that keep the shares of the strata."""

    @abstractmethod
    def predict(self, pipeline: Any, X: NDArray[np.float64], times: Sequence[float]) -> NDArray[np.float64]:  # noqa: ANN401  a fitted estimator
        """Predict risks F until the times."""

    def predict_risks(self, pipeline: Any, X: NDArray[np.float64], times: Sequence[float] = ()) -> NDArray[np.float64]:  # noqa: ANN401  as above
        """Predict risks P until the times."""
        return self.of_interest(self.predict(pipeline, X, times))

    @abstractmethod
    def of_interest(self, F: NDArray[Real]) -> NDArray[Real]:
        """Select the risks P from F."""

    @abstractmethod
    def as_curves(self, P: NDArray[Real]) -> NDArray[Real]:
        """Risks with a last axis of times, of length 1 where the outcome has no time."""

    @abstractmethod
    def from_curves(self, P: NDArray[Real]) -> NDArray[Real]:
        """Undo `as_curves`."""

    @abstractmethod
    def probabilities(
        self, P: NDArray[np.floating[Any]], y: NDArray[Any], times: Sequence[float]
    ) -> NDArray[np.float64]:
        """Probability that risks (..., n) or (..., n, T) gave to what happened to each patient, (..., n)."""

    @abstractmethod
    def by_cause(self, F: NDArray[np.float64], P: NDArray[np.float64], rescale: Rescale) -> NDArray[np.float64] | None:
        """Rescale risks F of every cause to those of the event of interest; None where the outcome has no time."""

    @property
    def time_to_event(self) -> TimeToEvent | None:
        """Itself, if it is an event that is followed up."""
        return None

    @abstractmethod
    def require_times(self) -> None:
        """Raise ValueError if the outcome has no time."""

    @property
    def places(self) -> tuple[float | None, ...]:
        """Horizons of rules, intervals and measures; (None,) where the outcome has no time."""
        return self.horizons

    def empty_risks(self, n: int, times: Sequence[float]) -> NDArray[np.float64]:
        """Risks P of n patients, all NaN."""
        return self.from_curves(np.full((n, max(1, len(times))), np.nan))


def units_differ(one: str | None, other: str | None) -> bool:
    """Check whether times are known to be in different units.

    Parameters
    ----------
    one, other : str or None
        Units as people write them; None if unknown.

    Returns
    -------
    bool
        False if either is unknown, and for spellings of one unit, such as `Year` and `years`.
    """
    if one is None or other is None:
        return False
    return len({unit.strip().casefold().removesuffix("s") for unit in (one, other)}) > 1
