"""Outcomes as `fit` takes them: labels, and times with events in each form that Python has for them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, column_or_1d

SURVIVAL_FORMS = (
    "with mode 'survival' y is Survival(time, event), a tuple (time, event), or a structured array of an event and a "
    "time as scikit-survival's Surv makes it"
)


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """Groups and weights of the patients, as `fit` takes them; None if not given."""

    groups: ArrayLike | None = None
    weights: ArrayLike | None = None

    def weights_of(self, n: int) -> NDArray[np.float64]:
        """Weights of n patients; raises ValueError if all are 0."""
        if self.weights is None:
            return np.ones(n)
        weights: NDArray[np.float64] = column_or_1d(np.asarray(self.weights, dtype=np.float64))
        if n and not weights.any():
            msg = "sample_weight: the weights of all patients are zero"
            raise ValueError(msg)
        return weights


@dataclass(frozen=True, eq=False)
class Survival:
    """Follow-up of patients, as the target of `AutoPrognosis(mode="survival")`.

    Where `event` holds words, or other codes than 0, 1 and 2, name the `event_of_interest`, which is predicted, the
    `competing` values after which it cannot occur, and, unless it is the only value left, the `censored` one.

    Attributes
    ----------
    time : ndarray, shape = (n_patients,)
        Time from the start to the event or to censoring, above 0, in the unit of the horizons.
    event : ndarray, shape = (n_patients,)
        How the follow-up ended: 0 for censored, 1 for the event of interest, 2 and more for competing events.
    labels : tuple of str
        The words for these codes, in order; empty if none were given.

    Raises
    ------
    ValueError
        If one of them is no column of numbers, their lengths differ, an event is missing, a code is no whole number
        from 0, or a word is neither the event of interest nor one of the others.

    Examples
    --------
    >>> len(Survival(time=[12.5, 30.0], event=[1, 0]))
    2
    >>> Survival([12.5, 30.0], ["dead", "alive"], event_of_interest="dead").event
    array([1, 0])
    """

    time: ArrayLike
    event: ArrayLike
    event_of_interest: InitVar[Hashable] = None
    competing: InitVar[Sequence[Hashable]] = ()
    censored: InitVar[Hashable] = None
    labels: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self, event_of_interest: Hashable, competing: Sequence[Hashable], censored: Hashable) -> None:
        time = column_or_1d(np.asarray(self.time, dtype=np.float64))
        event = column_or_1d(np.asarray(self.event))
        check_consistent_length(time, event)
        if n := int(pd.isna(np.asarray(self.event, dtype=object)).sum()):
            msg = f"event is missing for {n:,} of {len(event):,} patients: leave them out"
            raise ValueError(msg)
        if event_of_interest is None:
            codes = _codes(event)
        else:
            values = _values_in_order(event, event_of_interest, competing, censored)
            codes = np.array([values.index(value) for value in event.tolist()], dtype=np.int64)
            object.__setattr__(self, "labels", tuple(map(str, values)))
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "event", codes)

    @property
    def shape(self) -> tuple[int]:
        """Number of patients, as arrays tell it."""
        return (len(self),)

    def __len__(self) -> int:
        return len(np.asarray(self.time))

    def __getitem__(self, rows: Any) -> Survival:  # noqa: ANN401  all that numpy takes
        part = Survival(np.asarray(self.time)[rows], np.asarray(self.event)[rows])
        object.__setattr__(part, "labels", self.labels)
        return part


def _codes(event: NDArray[Any]) -> NDArray[np.int64]:
    if event.dtype.kind not in "biuf":
        found = ", ".join(sorted({repr(value) for value in event.tolist()})[:6])
        msg = (
            f"event holds words ({found}): name the one to predict, as in Survival(time, event, event_of_interest=...)"
        )
        raise ValueError(msg)
    codes = event.astype(np.int64)
    if (codes != event).any() or (codes < 0).any():
        msg = "event holds codes: 0 for censored, 1 for the event of interest, 2 and more for competing events"
        raise ValueError(msg)
    return codes


def _values_in_order(
    event: NDArray[Any], interest: Hashable, competing: Sequence[Hashable], censored: Hashable
) -> list[Hashable]:
    """Values of censored patients, of the event of interest and of competing events, by their codes."""
    known = [interest, *competing]
    left = sorted({value for value in event.tolist() if value not in known and value != censored}, key=str)
    if censored is None and len(left) == 1:
        return [left[0], *known]
    if left:
        what = "censored" if censored is None else "an event of interest, competing or censored"
        msg = f"event holds {', '.join(map(repr, left))}, and it is not known which of them is {what}"
        raise ValueError(msg)
    return ["censored" if censored is None else censored, *known]


def as_survival(y: object) -> Survival:
    """Read follow-up in any of its forms; raises TypeError and ValueError."""
    if isinstance(y, Survival):
        return y
    if isinstance(y, tuple) and len(y) == 2:
        return Survival(*y)
    if isinstance(y, np.ndarray) and y.dtype.names is not None and len(y.dtype.names) == 2:
        return _of_structured(y)
    raise TypeError(SURVIVAL_FORMS)


def _of_structured(y: NDArray[Any]) -> Survival:
    assert y.dtype.names is not None  # noqa: S101  the caller has looked
    flags = [name for name in y.dtype.names if y.dtype[name].kind == "b"]
    events = flags or [name for name in y.dtype.names if name == "event"]
    if len(events) != 1:
        msg = f"{SURVIVAL_FORMS}; of the fields {', '.join(y.dtype.names)} one must be boolean, or named 'event'"
        raise TypeError(msg)
    (time,) = (name for name in y.dtype.names if name != events[0])
    return Survival(y[time], y[events[0]])


# After words that scikit-learn's checks of estimators ask for.
_TWO_VALUES = (
    "y takes two values: who had the outcome, and who had not. Several classes, and numbers such as a length of stay, "
    "are not supported; compare y with one class or a threshold, as in y > 7"
)


def two_classes(labels: NDArray[Any], positive: object) -> tuple[NDArray[Any], Any]:
    """The two values of an outcome, sorted, and the one whose risk is predicted; raises ValueError."""
    if n := int(pd.isna(labels).sum()):
        msg = f"Input y contains NaN: {n:,} of {len(labels):,} patients have no outcome, leave them out"
        raise ValueError(msg)
    kind = type_of_target(labels, input_name="y")
    if kind == "continuous":
        raise ValueError(f"Unknown label type: continuous. {_TWO_VALUES}")
    check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) > 2:
        msg = f"Only binary classification is supported. The type of the target is {kind}. {_TWO_VALUES}"
        raise ValueError(msg)
    if len(classes) < 2:
        msg = f"y holds one class only, {classes.tolist()}: an outcome takes patients with and without it"
        raise ValueError(msg)
    if positive is None:
        return classes, classes[1]
    if positive not in classes.tolist():
        msg = f"positive is {positive!r}, which y does not hold; it holds {classes.tolist()}"
        raise ValueError(msg)
    return classes, classes[classes.tolist().index(positive)]
