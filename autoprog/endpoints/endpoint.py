"""The protocol of an endpoint.

======  =====================================================================  ======================
symbol  meaning                                                                shape
======  =====================================================================  ======================
n       patients, or visits                                                    scalar
T, H    times of the risks, and the horizons among them; 1 without a time      scalars
P       risks: of a binary outcome, or of the event until each time            (n,) or (n, T)
F       risks of every cause until each horizon                                (n, n_causes, H)
======  =====================================================================  ======================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.cohort.messages import count_text
from autoprog.ensemble import Ensemble
from autoprog.evaluation import History
from autoprog.interpreter import ObservedOutcome
from autoprog.performance import Metric, ScoreEstimate
from autoprog.survival import Interval
from autoprog.validation import (
    Corrected,
    Correction,
    CurveOf,
    Recalibration,
    Stop,
    Weighing,
)

Risks = NDArray[np.floating[Any]]
Real = TypeVar("Real", bound=np.floating[Any])


class Assessed(NamedTuple):
    """Out-of-fold risks of a model as they are, and recalibrated by other patients."""

    raw: Risks
    recalibrated: NDArray[np.float64]


def compared_by_rank(history: History) -> tuple[Risks, Risks] | None:
    """Risks of the best and of the simple pipeline, if the search compared ranks alone and has both; else None."""
    best, simple = history.best(), history.simple
    if not history.metric.ranks_only or best is None or best.risks is None or simple.risks is None:
        return None
    return best.risks, simple.risks


def few_of_an_outcome(
    cohort: Cohort, with_it: NDArray[np.bool_], without: NDArray[np.bool_], least: int, horizon: float | None = None
) -> list[str]:
    """Say so if fewer than `least` rows, each patient's copies counted once, have the outcome, or surely not."""
    row = np.arange(cohort.n_rows) if cohort.sampled is None else cohort.sampled
    n_with, n_without = (len(np.unique(row[rows])) for rows in (with_it, without))
    fewer = min(n_with, n_without)
    if fewer >= least:
        return []
    what = "have the outcome" if fewer == n_with else "are known not to have the outcome"
    if horizon is not None:
        what = f"{what} until the model's horizon {horizon:g}"
    return [f"only {count_text(fewer, cohort.outcome.row)} {what}; a recalibration takes at least {least}"]


class CauseRisks(NamedTuple):
    """Risks of every cause until each horizon, and the outcomes in the codes of these causes."""

    F: NDArray[np.float64]
    y: NDArray[np.void]
    names: tuple[str, ...]


class Endpoint(Protocol):
    """An outcome with the patients in whom it was observed."""

    @property
    def cohort(self) -> Cohort:
        """The patients."""
        ...

    @property
    def y(self) -> NDArray[Any]:
        """The outcomes as pipelines are fitted to them, shape = (n,): 0 and 1, or of dtype `EVENT_TIMES`."""
        ...

    @property
    def times(self) -> tuple[float, ...]:
        """Times of the risks; empty where the outcome has no time."""
        ...

    @property
    def horizons(self) -> tuple[float | None, ...]:
        """Horizons of the rules, intervals and measures; (None,) where the outcome has no time."""
        ...

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics by which a search may choose."""
        ...

    def scarcest(self, metric: str) -> tuple[str, tuple[NDArray[np.bool_], ...]]:
        """Patient groups of which every fold needs some: a description, and the mask of each group's rows."""
        ...

    def scorable(self, metric: str) -> Callable[[NDArray[np.intp]], bool]:
        """Make a check whether some rows can be learnt from and scored."""
        ...

    @property
    def unscored(self) -> tuple[str, str]:
        """Why patients cannot be split further: what all folds must have, and what more folds would lack."""
        ...

    def causes(self, ensemble: Ensemble, history: History) -> NDArray[np.float64] | None:
        """Out-of-fold risks F of an ensemble; None where nothing competes."""
        ...

    def validation_faults(self, horizons: Sequence[float]) -> list[str]:
        """Why a model with these horizons cannot be measured in these patients."""
        ...

    def update_faults(self, horizons: Sequence[float], least: int) -> list[str]:
        """Why a model with these horizons cannot be recalibrated to these patients, `least` of each outcome."""
        ...

    def count_rarer(self) -> int:
        """Count the patients with the rarer outcome."""
        ...

    def seen(self) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Whether the outcome was seen, shape = (n,) or (n, T), and weights, 0 where that is unknown."""
        ...

    def probabilities(self, P: Risks) -> NDArray[np.float64]:
        """Probability that risks of pipelines gave to each patient's outcome, shape = (t, n)."""
        ...

    def at_horizons(self, P: NDArray[Real]) -> NDArray[Real]:
        """Risks at the horizons: the last axis of (..., n) is added, that of (..., n, T) becomes H."""
        ...

    def fit_recalibration(self, P: Risks) -> Recalibration:
        """Fit the recalibration of a delivered model to its out-of-fold risks, shrunk towards no change."""
        ...

    def fit_update(self, P: Risks, *, slope: bool) -> Recalibration:
        """Fit what brings a model to these patients: its intercept alone, or the slope too."""
        ...

    def fit_competing(
        self, F: NDArray[np.float64], y: NDArray[np.void] | None = None, *, shrunk: bool = True, slope: bool = True
    ) -> tuple[Recalibration, ...]:
        """Fit the recalibration of each competing cause, of outcomes `y` where they are coded in another way."""
        ...

    def cross_fit(self, P: Risks, seed: int) -> NDArray[np.float64]:
        """Recalibrate each part of the patients by the others."""
        ...

    def score(self, metric: Metric, P: Risks, seed: int) -> ScoreEstimate:
        """Estimate a score with its interval."""
        ...

    def corrected_score(
        self,
        metric: Metric,
        reported: Risks,
        P: Risks,
        w: NDArray[np.float64],
        *,
        weighing: Weighing,
        rng: np.random.Generator,
        stop: Stop,
        simple: Risks | None = None,
    ) -> Corrected:
        """Correct score, measures and gains over `simple` risks for choosing the weights by the same patients."""
        ...

    def summary(self, risks: Assessed, correction: Correction | None = None) -> dict[str, Any]:
        """Measures that the ensemble, corrected, and the simple pipeline both have, ready for JSON."""
        ...

    def details(
        self,
        risks: Assessed,
        baseline: Assessed | None,
        causes: NDArray[np.float64] | None,
        seed: int,
        correction: Correction | None = None,
    ) -> dict[str, Any]:
        """Measures of the ensemble alone: calibration, net benefit beside the baseline's, and more, ready for JSON."""
        ...

    def gains(self, P: Risks, Q: Risks) -> list[dict[str, Interval]]:
        """Compare risks P with Q, both (n, H), on the same patients: AUC first, Brier score and more, by horizon."""
        ...

    def subgroups(self, P: Risks, names: Sequence[str]) -> list[dict[str, Any]]:
        """Measure recalibrated risks in every subgroup, ready for JSON."""
        ...

    def validation(self, P: Risks, causes: CauseRisks | None, seed: int) -> dict[str, Any]:
        """Measure a model's risks in these patients, whom it has never seen, ready for JSON."""
        ...

    def observe_strata(self, k: int, stratum: NDArray[np.int64], n_strata: int) -> list[dict[str, Any]]:
        """What was observed until horizon `k` in every stratum, given the index of each patient's, ready for JSON."""
        ...

    def observed(self, k: int) -> ObservedOutcome:
        """What was observed until horizon `k`, for rules; None for the cohort's own 0 and 1."""
        ...

    def known_outcomes(self, k: int) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Outcomes, 1 for an event by horizon `k`, and weights, 0 for patients whose outcome is unknown."""
        ...

    def observed_curve(self, k: int, rows: NDArray[np.intp]) -> CurveOf:
        """How calibration curves until horizon `k` are drawn of some patients."""
        ...

    def place_instability(self, document: dict[str, Any], found: Sequence[Mapping[str, Any]]) -> None:
        """Add the instability of each horizon to the ensemble's document; none where it is empty."""
        ...

    def ranking_warnings(self, history: History) -> list[str]:
        """Warn where a search by ranking picked probabilities worse than the simple pipeline's."""
        ...

    def count_events(self) -> int:
        """Patients with the event of interest, until the last horizon."""
        ...
