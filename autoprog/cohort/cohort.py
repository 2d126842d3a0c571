"""The cohort: a feature matrix, an outcome for each row, and the columns' meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.outcome import TimeToEvent
from autoprog.cohort.schema import Feature
from autoprog.cohort.target import Mode, Outcome, Target
from autoprog.cohort.visits import VisitTable


@dataclass(frozen=True, eq=False)
class Cohort:
    """Patients ready to learn from; nothing is imputed.

    A row is a patient; in mode `temporal` it is a visit.

    Attributes
    ----------
    name : str
        The client's name for the cohort.
    outcome : Binary, TimeToEvent or Visits
        What is predicted.
    features : tuple of Feature, length n_features
        The columns of `X`, in order.
    X : ndarray, shape = (n_rows, n_features)
        float64; NaN is a missing cell; level codes for kinds other than numeric.
    y : ndarray, shape = (n_rows,)
        int8; 1 with the outcome, 0 without. For a time to an event: 0 censored, 1 the event of interest, 2 and more the
        competing causes in the order of `outcome.competing`.
    groups : ndarray, shape = (n_rows,), or None
        int64 codes of rows that folds must keep together (a hospital, a family). In mode `temporal` never None: the
        patients, or coarser groups.
    time : ndarray, shape = (n_rows,), or None
        float64, above 0; follow-up to the event or censoring, in mode `temporal` from the visit. None for an outcome
        without a time.
    visits : VisitTable or None
        Patient and time of each row's visit; only in mode `temporal`.
    na_values : tuple of str
        Canonical texts of cells that meant missing in its file, besides the usual ones.
    sampled : ndarray, shape = (n_rows,), or None
        int64 codes of the sampled patients that rows are copies of, where weights say how many patients each stands
        for; `groups` then keep copies together. None where every row counts once.
    """

    name: str
    outcome: Outcome
    features: tuple[Feature, ...]
    X: NDArray[np.float64]
    y: NDArray[np.int8]
    groups: NDArray[np.int64] | None = None
    time: NDArray[np.float64] | None = None
    visits: VisitTable | None = None
    na_values: tuple[str, ...] = ()
    sampled: NDArray[np.int64] | None = None

    @property
    def mode(self) -> Mode:
        """Kind of outcome, as the API names it."""
        return self.outcome.mode

    @property
    def target(self) -> Target:
        """What is predicted of a row."""
        return self.outcome.target

    @cached_property
    def outcomes(self) -> NDArray[Any]:
        """Outcomes for fitting and scoring, shape = (n_rows,): 0 and 1, or of dtype `EVENT_TIMES`."""
        return self.target.outcomes(self.y, self.time)

    @cached_property
    def time_grid(self) -> tuple[float, ...]:
        """Times until which a search evaluates risks, ascending; empty for an outcome without a time."""
        return self.target.time_grid(self.outcomes)

    @property
    def n_rows(self) -> int:
        """Number of rows of `X`: patients with a known outcome, or their visits."""
        return int(self.X.shape[0])

    @property
    def n_patients(self) -> int:
        """Number of patients with a known outcome; with weights, the sum of their weights."""
        return self.n_rows if self.visits is None else self.visits.n_patients

    @cached_property
    def n_sampled(self) -> int:
        """Number of patients with a known outcome, each counted once whatever the weight."""
        return self.n_patients if self.sampled is None else len(np.unique(self.sampled))

    @property
    def patient(self) -> NDArray[np.int64]:
        """Patient of each row; copies of one are one."""
        if self.visits is not None:
            return self.visits.patient
        return np.arange(self.n_rows) if self.sampled is None else self.sampled

    @property
    def unweighted(self) -> Cohort:
        """The sampled patients, each once."""
        if self.sampled is None:
            return self
        return replace(self.take(np.unique(self.sampled, return_index=True)[1]), sampled=None)

    @property
    def event_rate(self) -> float:
        """Share of rows with the outcome, in (0, 1); censored rows count as without."""
        return float((self.y == 1).mean())

    @property
    def has_missing(self) -> bool:
        """True if any cell of `X` is missing."""
        return bool(np.isnan(self.X).any())

    @property
    def has_times(self) -> bool:
        """True if the outcome is a time to an event."""
        return self.time is not None

    @property
    def time_to_event(self) -> TimeToEvent | None:
        """The event that is followed up, from the start or from the visit; None for an outcome without a time."""
        return self.target.time_to_event

    @property
    def n_causes(self) -> int:
        """Number of causes: the event of interest and the competing ones; 1 for an outcome without a time."""
        return self.target.n_causes

    @property
    def horizons(self) -> tuple[float, ...]:
        """Times at which risks are predicted, ascending; empty for an outcome without a time."""
        return self.target.horizons

    def with_features(self, features: tuple[Feature, ...], columns: Sequence[int]) -> Cohort:
        """Keep the columns with these indices, described by `features`."""
        visits = self.visits
        if visits is not None and visits.earlier is not None:
            visits = replace(visits, earlier=replace(visits.earlier, X=visits.earlier.X[:, columns]))
        return replace(self, features=features, X=self.X[:, columns], visits=visits)

    def take(self, rows: NDArray[np.intp]) -> Cohort:
        """Keep the rows with these indices, ascending to keep visits in order; the features' statistics stay."""
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            groups=None if self.groups is None else self.groups[rows],
            time=None if self.time is None else self.time[rows],
            visits=None if self.visits is None else self.visits.take(rows),
            sampled=None if self.sampled is None else self.sampled[rows],
        )
