"""The outcome that a cohort predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.event_array import event_times
from autoprog.cohort.strata import event_strata, stratified_rows, stratified_sample
from autoprog.cohort.target import Mode, Outcome, Real, Rescale, Target
from autoprog.fitted_pipeline import predict_proba

# A pipeline that is certain and wrong about one patient must not be ruled out by him alone.
_LEAST = 1e-4

_INTERVALS = 10

# Event of interest by the first horizon, by the last and after it; other follow-up beyond the last; censored before it;
# codes above are competing causes before it.
_EARLY, _BY_LAST, _LATE, _BEYOND, _LOST = range(5)


@dataclass(frozen=True, slots=True)
class Binary(Target):
    """A binary outcome.

    Attributes
    ----------
    column : str
        The outcome's column in the file.
    positive : str
        The value with the outcome, as `canonical_text` (`"1"`, `"yes"`).
    negative : str
        The other value.
    label : str or None
        What tables and figures call the outcome.
    """

    column: str
    positive: str
    negative: str
    label: str | None = None

    mode: ClassVar[Mode] = "classification"
    default_metric: ClassVar[str] = "auc_roc"
    default_metric_of_visits: ClassVar[str] = "auc_roc"
    simple_predictor: ClassVar[str] = "logistic_regression"
    described: ClassVar[str] = "an outcome without a time"
    plural: ClassVar[str] = "labels"
    answers: ClassVar[str] = "predict_proba"
    loss: ClassVar[str] = "log_loss"
    held: ClassVar[tuple[int, ...]] = (0, 1)
    has_votes: ClassVar[bool] = True

    @property
    def horizons(self) -> tuple[float, ...]:
        return ()

    @property
    def causes(self) -> tuple[str, ...]:
        return ()

    @property
    def subject(self) -> str:
        return self.column

    @property
    def equation(self) -> str:
        """`died = yes`."""
        return f"{self.column} = {self.positive}"

    def until(self, horizons: Sequence[float]) -> Self:
        return self

    def outcomes(self, code: NDArray[np.int8], time: NDArray[np.float64] | None) -> NDArray[np.int8]:
        """0 and 1."""
        return code

    def count_rarer(self, y: NDArray[Any]) -> int:
        """Count the patients of the rarer class."""
        events = int(np.count_nonzero(y == 1))
        return min(events, len(y) - events)

    def time_grid(self, y: NDArray[Any]) -> tuple[float, ...]:
        return ()

    def count_periods(self, y: NDArray[Any], times: Sequence[float]) -> int:
        return 0

    def strata(self, y: NDArray[Any], least: int) -> NDArray[np.int64]:
        """Make a stratum of each class."""
        return event_strata(y, least)

    def sample(self, y: NDArray[Any], size: int, least: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw rows that keep the share of events."""
        return stratified_rows((y == 1).astype(np.int8), len(y), size, rng)

    def predict(self, pipeline: Any, X: NDArray[np.float64], times: Sequence[float]) -> NDArray[np.float64]:  # noqa: ANN401  a fitted estimator
        """Predict the risk, shape = (n,)."""
        risks: NDArray[np.float64] = predict_proba(pipeline, X)[:, 1]
        return risks

    def of_interest(self, F: NDArray[Real]) -> NDArray[Real]:
        return F

    def as_curves(self, P: NDArray[Real]) -> NDArray[Real]:
        return P[..., None]

    def from_curves(self, P: NDArray[Real]) -> NDArray[Real]:
        return P[..., 0]

    def probabilities(
        self,
        P: NDArray[np.floating[Any]],
        y: NDArray[Any],
        times: Sequence[float] = (),
    ) -> NDArray[np.float64]:
        """Probability of the patient's class, in [1e-4, 1]."""
        risks = np.asarray(P, dtype=np.float64)
        return np.clip(np.where(y == 1, risks, 1.0 - risks), _LEAST, 1.0)

    def by_cause(self, F: NDArray[np.float64], P: NDArray[np.float64], rescale: Rescale) -> None:
        """None."""

    def require_times(self) -> None:
        """Raise ValueError."""
        msg = "the outcome has no time"
        raise ValueError(msg)

    @property
    def places(self) -> tuple[float | None, ...]:
        return (None,)


@dataclass(frozen=True, slots=True)
class TimeToEvent(Target):
    """An event that is followed up, possibly with competing events.

    Attributes
    ----------
    time : str
        The column of the follow-up time.
    event : str
        The column that says how the follow-up ended.
    event_of_interest : str
        The value of `event` that is predicted, as `canonical_text`.
    horizons : tuple of float
        Times at which risks are predicted, ascending, above 0, in the unit of `time`.
    competing : tuple of str
        The values of `event` after which the event of interest cannot occur or is not observed.
    censored : str
        The value of `event` for a patient without an event during follow-up.
    label : str or None
        What tables and figures call the event of interest.
    time_unit : str or None
        Unit of the times.
    """

    time: str
    event: str
    event_of_interest: str
    horizons: tuple[float, ...]
    competing: tuple[str, ...] = ()
    censored: str = "0"
    label: str | None = None
    time_unit: str | None = None

    mode: ClassVar[Mode] = "survival"
    default_metric: ClassVar[str] = "uno_c"
    default_metric_of_visits: ClassVar[str] = "time_dependent_auc"
    simple_predictor: ClassVar[str] = "cox"
    described: ClassVar[str] = "a time to an event"
    plural: ClassVar[str] = "times to an event"
    answers: ClassVar[str] = "cumulative_incidence"
    loss: ClassVar[str] = "integrated_brier"
    held: ClassVar[tuple[int, ...]] = (1,)
    has_votes: ClassVar[bool] = False

    @property
    def time_to_event(self) -> TimeToEvent:
        return self

    @property
    def causes(self) -> tuple[str, ...]:
        """Values of `event` in the order of their codes in `Cohort.y`: 1 is the event of interest."""
        return (self.event_of_interest, *self.competing)

    @property
    def subject(self) -> str:
        """The column of the event."""
        return self.event

    @property
    def timed_by(self) -> tuple[str, ...]:
        """The column of the time."""
        return (self.time,)

    @property
    def equation(self) -> str:
        """`cause = infarction until 5, 10`."""
        return f"{self.event} = {self.event_of_interest} until {', '.join(f'{h:g}' for h in self.horizons)}"

    def until(self, horizons: Sequence[float]) -> Self:
        """The same event, predicted until other horizons."""
        return replace(self, horizons=tuple(horizons))

    def outcomes(self, code: NDArray[np.int8], time: NDArray[np.float64] | None) -> NDArray[np.void]:
        """Codes and times, dtype `EVENT_TIMES`."""
        assert time is not None  # noqa: S101  of event times
        return event_times(code, time)

    def count_rarer(self, y: NDArray[Any]) -> int:
        """Count the events of interest: every patient may have had it."""
        return int(np.count_nonzero(y["event"] == 1))

    def time_grid(self, y: NDArray[Any]) -> tuple[float, ...]:
        """Times with about a tenth of the events of interest between them, horizons included."""
        horizons = np.asarray(self.horizons)
        events = np.sort(y["time"][(y["event"] == 1) & (y["time"] <= horizons[-1])])
        before = np.searchsorted(events, np.concatenate([[0.0], horizons]), side="right")
        times = set(horizons.tolist())
        for low, high in zip(before[:-1].tolist(), before[1:].tolist(), strict=True):
            parts = max(1, round(_INTERVALS * (high - low) / len(events)))
            inner = low + (high - low) * np.arange(1, parts) / parts
            times |= set(events[inner.astype(np.intp)].tolist())
        return tuple(sorted(times))

    def count_periods(self, y: NDArray[Any], times: Sequence[float]) -> int:
        """Count the intervals up to that of the event or censoring."""
        return int(np.minimum(np.searchsorted(times, y["time"]) + 1, len(times)).sum())

    def strata(self, y: NDArray[Any], least: int) -> NDArray[np.int64]:
        """Strata by the kind of event, and its place among the horizons."""
        code, time, first, last = y["event"], y["time"], self.horizons[0], self.horizons[-1]
        strata = np.where(code == 0, _LOST, _LOST + code.astype(np.int64) - 1)
        strata[time > last] = _BEYOND
        of_interest = code == 1
        strata[of_interest] = np.select([time <= first, time <= last], [_EARLY, _BY_LAST], _LATE)[of_interest]
        for small, into in ((_EARLY, _BY_LAST), (_LATE, _BEYOND), (_BEYOND, _LATE)):
            if (strata == small).sum() < least:
                strata[strata == small] = into
        return event_strata(strata, least)

    def sample(self, y: NDArray[Any], size: int, least: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw rows in proportion to the strata."""
        return stratified_sample(self.strata(y, least), size, least, rng)

    def predict(self, pipeline: Any, X: NDArray[np.float64], times: Sequence[float]) -> NDArray[np.float64]:  # noqa: ANN401  a fitted estimator
        """Predict the risk of every cause, shape = (n, n_causes, T)."""
        F: NDArray[np.float64] = pipeline.cumulative_incidence(X, np.array(times))
        return F

    def of_interest(self, F: NDArray[Real]) -> NDArray[Real]:
        """Select the first cause."""
        return F[..., 0, :]

    def as_curves(self, P: NDArray[Real]) -> NDArray[Real]:
        return P

    def from_curves(self, P: NDArray[Real]) -> NDArray[Real]:
        return P

    def probabilities(
        self, P: NDArray[np.floating[Any]], y: NDArray[Any], times: Sequence[float]
    ) -> NDArray[np.float64]:
        """Probability of the interval of the event, or of no event so far, in [1e-4, 1]."""
        risks = np.asarray(P, dtype=np.float64)
        t, T = np.array(times), len(times)
        patients = np.arange(len(y))
        F = np.concatenate([np.zeros((*risks.shape[:-1], 1)), risks], axis=-1)
        interval = np.searchsorted(t, y["time"])  # T: beyond the last time
        seen = (y["event"] == 1) & (interval < T)
        at = np.minimum(interval, T - 1)
        happened = F[..., patients, at + 1] - F[..., patients, at]
        # The last time at which a patient was known to be event-free: after another event, the last of all.
        followed = np.where(y["event"] > 1, T, interval)
        free = 1.0 - F[..., patients, np.minimum(followed, T)]
        return np.clip(np.where(seen, happened, free), _LEAST, 1.0)

    def by_cause(self, F: NDArray[np.float64], P: NDArray[np.float64], rescale: Rescale) -> NDArray[np.float64]:
        return rescale(F, P)

    def require_times(self) -> None:
        """Nothing to refuse."""


@dataclass(frozen=True, slots=True)
class Visits(Outcome):
    """An outcome that is predicted at each visit of a patient.

    Attributes
    ----------
    patient : str
        The column that identifies patients.
    visit_time : str
        The column of the time of the visit.
    horizon : float
        Prediction horizon from each visit, above 0, in the unit of `visit_time`.
    of : Binary or TimeToEvent
        The label of a visit, or the event after it, with `horizon` as the only one of its `horizons`.
    time_unit : str or None
        Unit of the times.
    """

    patient: str
    visit_time: str
    horizon: float
    of: Target
    time_unit: str | None = None

    mode: ClassVar[Mode] = "temporal"
    row: ClassVar[str] = "visit"
    simple_predictor: ClassVar[str] = "logistic_regression"

    @property
    def default_metric(self) -> str:
        """The area under the curve until the horizon."""
        return self.of.default_metric_of_visits

    @property
    def target(self) -> Target:
        """What is predicted of a visit."""
        return self.of

    def until(self, horizons: Sequence[float]) -> Self:
        """Return a copy with other prediction horizons."""
        return replace(self, of=self.of.until(horizons))


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """Write an outcome as JSON; a label or unit of None is left out, so that digests stay those of earlier versions."""
    document = asdict(outcome)
    for part in (document, document.get("of", {})):
        for name in ("label", "time_unit"):
            if name in part and part[name] is None:
                del part[name]
    return document


def outcome_from_json(document: Mapping[str, Any]) -> Outcome:
    """Rebuild an outcome from its `outcome_to_json`.

    Parameters
    ----------
    document : mapping
        Fields of the outcome; `of` holds the outcome at a visit.

    Returns
    -------
    Binary, TimeToEvent or Visits
        Equal to the original.

    Raises
    ------
    TypeError, KeyError
        If the document is anything else.
    """
    if "of" in document:
        return Visits(**{**document, "of": _at_once(document["of"])})
    return _at_once(document)


def _at_once(document: Mapping[str, Any]) -> Target:
    if "column" in document:
        return Binary(**document)
    lists = {name: tuple(document[name]) for name in ("horizons", "competing")}
    return TimeToEvent(**{**document, **lists})
