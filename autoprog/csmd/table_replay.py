"""Run a policy from the start over a table of predictions, with or without the truth.

    Y         outputs of the arms                                                    (rows, n)
    R, T      numbers of repetitions and rounds                                      scalars
    gamma     share of the rows in which an arm is wrong                             (n,)
    L         loss of an arm, C + gamma                                              (n,)
    regret    sum over rounds of L of the played arm minus the smallest L            (R, T)

With few pairs of arms, many repetitions run side by side, one array row each; otherwise one after another, by the
selection that asks for few pairs. Both choose the same arms, in distribution where a policy draws. Only sums over the
repetitions are kept from one run to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

from autoprog.csmd.arms import Arms
from autoprog.csmd.policies import WeakDominance, disagreements, weak_dominance
from autoprog.csmd.problem import SelectionProblem
from autoprog.csmd.selection import incidence, select, select_many
from autoprog.errors import Fault, InvalidInputError

Order = Literal["as_given", "resampled"]
LEVEL = 0.95
POINTS = 200

# Beyond so many pairs looking at all of them costs more than one repetition after another.
_MAX_PAIRS = 500
# Repetitions that run side by side, and the most rows that are drawn for them at once.
_CHUNK, _MAX_DRAWN = 256, 1 << 26

_Rows = Callable[[int], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """Cumulative pseudo-regret over the rounds, as mean over repetitions."""

    rounds: NDArray[np.int64]  # shape = (points,): ascending, at most 200, up to the last round
    mean: NDArray[np.float64]
    lower: NDArray[np.float64] | None  # 95 % interval of the mean by Student's t; None for a single repetition
    upper: NDArray[np.float64] | None

    def to_json(self) -> dict[str, list[float] | list[int] | None]:
        """Write the curve as a JSON object."""
        return {
            "round": self.rounds.tolist(),
            "mean": self.mean.tolist(),
            "lower": None if self.lower is None else self.lower.tolist(),
            "upper": None if self.upper is None else self.upper.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Replay:
    """Result of a policy's run over a table; regret, errors and weak dominance are None without the truth."""

    shares: NDArray[np.float64]  # (n,): share of plays of every arm over all rounds and repetitions
    arms: NDArray[np.intp] | None  # (T,): the arm of every round, from 0, if there is a single repetition
    regret: RegretCurve | None
    errors: NDArray[np.float64] | None  # gamma, shape = (n,)
    disagreement: NDArray[np.float64]  # shape = (n, n), over the table
    weak_dominance: WeakDominance | None

    def to_json(self, arms: Arms) -> dict[str, Any]:
        """Write the result as a JSON object, with arms by id and an infinite xi as "inf"."""
        ids = [arm.id for arm in arms]
        found = self.weak_dominance
        xi = None if found is None else "inf" if np.isinf(found.xi) else found.xi
        return {
            "arms": None if self.arms is None else [ids[arm] for arm in self.arms],
            "shares": dict(zip(ids, self.shares.tolist(), strict=True)),
            "regret": None if self.regret is None else self.regret.to_json(),
            "errors": None if self.errors is None else dict(zip(ids, self.errors.tolist(), strict=True)),
            "disagreement": self.disagreement.tolist(),
            "weak_dominance": None
            if found is None
            else {"holds": found.holds, "xi": xi, "optimal": ids[found.optimal]},
        }


def replay(
    problem: SelectionProblem,
    predictions: Sequence[Sequence[int]] | NDArray[np.integer],
    truth: Sequence[int] | NDArray[np.integer] | None = None,
    *,
    rounds: int | None = None,
    repetitions: int = 1,
    order: Order = "as_given",
    rng: np.random.Generator,
) -> Replay:
    """Run a problem's policy from the start over a table.

    Parameters
    ----------
    problem : SelectionProblem
    predictions : array_like, shape = (rows, n)
        Y, out-of-sample: predictions for training patients make arms look more alike than they are.
    truth : array_like, shape = (rows,), 0 or 1, or None; the policy never sees it
    rounds : int or None, T; None for the number of rows
    repetitions : int
    order : {"as_given", "resampled"}, rows in their order, or drawn with replacement anew in every repetition
    rng : numpy.random.Generator

    Returns
    -------
    Replay
        Its regret is pseudo-regret: the arms' errors are those over the whole table.

    Raises
    ------
    InvalidInputError
        With every fault of table, truth and numbers.
    """
    Y, y = checked_table(problem.arms, predictions, truth, rounds=rounds, repetitions=repetitions, order=order)
    T = len(Y) if rounds is None else rounds
    recorder = _Recorder(problem.arms, None if y is None else (y[:, None] != Y).mean(axis=0), T)
    for size, played in _run(problem, Y, T, repetitions, order, rng):
        recorder.add(size, played)
    p = disagreements(Y)
    dominance = None if recorder.errors is None else weak_dominance(problem.arms, recorder.errors, p)
    history = recorder.last_arms if repetitions == 1 else None
    return Replay(recorder.plays / (T * repetitions), history, recorder.curve(), recorder.errors, p, dominance)


class _Recorder:
    """Plays, and mean and squared deviations of the regret over the repetitions so far."""

    def __init__(self, arms: Arms, errors: NDArray[np.float64] | None, T: int) -> None:
        self.errors = errors
        losses = arms.C + (0.0 if errors is None else errors)
        self._excess = losses - losses.min()
        self._points = np.unique(np.linspace(1, T, min(T, POINTS)).round().astype(np.int64))
        self._R = 0
        self._mean, self._squares = np.zeros((2, len(self._points)))
        self.plays = np.zeros(len(arms), dtype=np.int64)
        self.last_arms = np.zeros(T, dtype=np.intp)  # of the first repetition of the last run

    def add(self, size: int, played: Iterator[NDArray[np.intp]]) -> None:
        """Record a run of `size` repetitions side by side: the arms of every round, shape = (size,) each."""
        regret, curve = np.zeros(size), np.empty((len(self._points), size))
        k = 0
        for t, arms in enumerate(played, 1):
            self.plays += np.bincount(arms, minlength=len(self.plays))
            self.last_arms[t - 1] = arms[0]
            regret += self._excess[arms]
            if t == self._points[k]:
                curve[k] = regret
                k += 1
        # Chan, Golub & LeVeque 1983, The American Statistician 37:242, eq. 2.1.
        mean, R = curve.mean(axis=1), self._R + size
        apart = mean - self._mean
        self._squares += ((curve - mean[:, None]) ** 2).sum(axis=1) + apart**2 * (self._R * size / R)
        self._mean += apart * (size / R)
        self._R = R

    def curve(self) -> RegretCurve | None:
        if self.errors is None:
            return None
        mean, R = self._mean, self._R
        if R == 1:
            return RegretCurve(self._points, mean, None, None)
        half = student_t.ppf((1 + LEVEL) / 2, R - 1) * np.sqrt(self._squares / (R - 1) / R)
        return RegretCurve(self._points, mean, mean - half, mean + half)


def _run(
    problem: SelectionProblem, Y: NDArray[np.int8], T: int, R: int, order: Order, rng: np.random.Generator
) -> Iterator[tuple[int, Iterator[NDArray[np.intp]]]]:
    """Yield runs one after another, each to its end: number of repetitions, and their arms in every round."""

    def rows(size: int) -> NDArray[np.intp]:
        """Rows of all rounds for some repetitions, shape = (T, size)."""
        if order == "resampled":
            return rng.integers(len(Y), size=(T, size))
        return np.broadcast_to(np.arange(T)[:, None], (T, size))

    if problem.arms.n_pairs > _MAX_PAIRS:
        for _ in range(R):
            yield 1, _one_by_one(problem, Y, rows(1)[:, 0], rng)
        return
    chunk = max(1, min(_CHUNK, _MAX_DRAWN // T))
    for start in range(0, R, chunk):
        size = min(chunk, R - start)
        yield size, _side_by_side(problem, Y, rows, T, size, rng)


def _side_by_side(
    problem: SelectionProblem, Y: NDArray[np.int8], rows: _Rows, T: int, R: int, rng: np.random.Generator
) -> Iterator[NDArray[np.intp]]:
    arms, policy = problem.arms, problem.policy
    i, j = arms.pairs
    differ = Y[:, i] != Y[:, j]
    known = np.zeros((len(arms), arms.n_pairs), dtype=np.bool_)
    for arm in range(len(arms)):
        known[arm, arms.revealed_pairs(arm)] = True
    change, base = incidence(arms)
    gap = arms.gap
    D, N = np.zeros((R, arms.n_pairs), dtype=np.int64), np.zeros((R, arms.n_pairs), dtype=np.int64)
    of_round = rows(R)
    for t in range(1, T + 1):
        if t == 1 and policy.opens_with_last:
            chosen = np.full(R, arms.last)
        else:
            chosen = select_many(policy.reaches(gap, D, N, t, rng), change, base, arms.last)
        seen = known[chosen]
        N += seen
        D += seen & differ[of_round[t - 1]]
        yield chosen


def _one_by_one(
    problem: SelectionProblem, Y: NDArray[np.int8], rows: NDArray[np.intp], rng: np.random.Generator
) -> Iterator[NDArray[np.intp]]:
    arms, policy = problem.arms, problem.policy
    i, j = arms.pairs
    D, N = np.zeros(arms.n_pairs, dtype=np.int32), np.zeros(arms.n_pairs, dtype=np.int32)
    for t, row in enumerate(rows, 1):
        if t == 1 and policy.opens_with_last:
            arm = arms.last
        else:
            arm = select(arms, lambda pairs, gap: policy.reaches(gap, D[pairs], N[pairs], t, rng))  # noqa: B023  called at once
        pairs = arms.revealed_pairs(arm)
        N[pairs] += 1
        D[pairs] += Y[row, i[pairs]] != Y[row, j[pairs]]
        yield np.array([arm])


def checked_table(
    arms: Arms,
    predictions: Sequence[Any] | NDArray[Any] | None,
    truth: Sequence[Any] | NDArray[Any] | None = None,
    *,
    rounds: int | None = None,
    repetitions: int = 1,
    order: str = "as_given",
) -> tuple[NDArray[np.int8], NDArray[np.int8] | None]:
    """Check the arguments of `replay`, for a later run.

    Parameters
    ----------
    arms : Arms
    predictions : array_like or None
        Y; None if the caller's are no table, which is a fault beside the others.
    truth, rounds, repetitions, order
        As for `replay`.

    Returns
    -------
    Y : ndarray of int8, shape = (rows, n)
        Predictions, 0 or 1.
    truth : ndarray of int8, shape = (rows,), or None
        Outcomes, 0 or 1; None if they are unknown.

    Raises
    ------
    InvalidInputError
        With every fault of table, truth and numbers.
    """
    faults: list[Fault] = []
    Y = _binary(predictions, "/predictions", faults)
    y = None if truth is None else _binary(truth, "/truth", faults)
    if Y is not None and (Y.ndim != 2 or Y.shape[1:] != (len(arms),) or not len(Y)):
        faults.append(Fault("/predictions", f"must have at least one row, and a column for each of {len(arms)} arms"))
    if predictions is not None:
        faults += _length_faults(len(predictions), y, rounds, order)
    if rounds is not None and rounds < 1:
        faults.append(Fault("/rounds", f"must be at least 1, not {rounds}"))
    if repetitions < 1:
        faults.append(Fault("/repetitions", f"must be at least 1, not {repetitions}"))
    if order not in {"as_given", "resampled"}:
        faults.append(Fault("/order", f"must be as_given or resampled, not {order!r}"))
    if faults or Y is None:
        raise InvalidInputError(faults)
    return Y, y


def _length_faults(n_rows: int, y: NDArray[np.int8] | None, rounds: int | None, order: str) -> Iterator[Fault]:
    if y is not None and y.shape != (n_rows,):
        yield Fault("/truth", f"must have one value for each of {n_rows} rows")
    if order == "as_given" and rounds is not None and rounds > n_rows:
        yield Fault("/rounds", f"{rounds} rounds are more than {n_rows} rows; resampled rows may be more")


def _binary(values: object, place: str, faults: list[Fault]) -> NDArray[np.int8] | None:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf":
        faults.append(Fault(place, "must hold numbers, as many in every row"))
        return None
    wrong = ~np.isin(array, (0, 1))
    if wrong.any():
        rows = np.flatnonzero(wrong.reshape(len(array), -1).any(axis=1))
        detail = f"{int(wrong.sum()):,} values are neither 0 nor 1, the first in row {rows[0]}"
        faults.append(Fault(f"{place}/{rows[0]}", detail))
        return None
    return array.astype(np.int8)
