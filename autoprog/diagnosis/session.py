"""A session: questions asked one after another until what was to be identified is known.

A session is its answers; everything else follows from them and the model, so that a stored session is a list of answers
and goes on wherever the model is. States do not change: an answer makes a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.messages import near_names
from autoprog.diagnosis.batch import MAX_BATCH, Batch, choose_batch
from autoprog.diagnosis.contradiction import Contradiction, find_contradiction
from autoprog.diagnosis.grouped_sums import sums_by_code
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.next_query import Elimination, NextQuery
from autoprog.diagnosis.noise import Inference, log_posterior
from autoprog.errors import ConflictError, Fault, InvalidInputError

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

Status = Literal["asking", "identified", "ambiguous", "contradictory"]

CERTAINTY = 0.95
"""At which a session stops where answers may be wrong, unless it was opened with another certainty."""

CAPACITY = 4096
"""How many next queries are remembered unless said otherwise."""


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes
    ----------
    query : str
        Name of the query.
    answer : bool or None
        None where it could not be answered.
    volunteered : bool
        Whether it was given without being asked for.
    """

    query: str
    answer: bool | None
    volunteered: bool = False


@dataclass(frozen=True)
class Candidate:
    """Something that may still be the one.

    Attributes
    ----------
    name : str
        Of the target.
    probability : float
        Posterior, in (0, 1].
    """

    name: str
    probability: float


@dataclass(frozen=True, eq=False)
class Session:
    """Where a session stands.

    Attributes
    ----------
    model : DiagnosisModel
        What it identifies.
    answers : tuple of Answer
        In order; the number of an answer is its place, from 1.
    certainty : float
        The session stops when a target is at least so probable.
    status : {"asking", "identified", "ambiguous", "contradictory"}
        `identified`: a target is certain enough. `ambiguous`: several are left, and nothing that can be asked tells
        them apart. `contradictory`: no object can have given the answers; take some back.
    next_query : NextQuery or None
        None when done.
    posterior : ndarray, shape = (M,)
        Of the objects; sums to 1, or all 0 where the answers contradict each other.
    contradiction : Contradiction or None
        Places in `answers`, from 0, where these contradict each other.
    """

    model: DiagnosisModel
    answers: tuple[Answer, ...]
    certainty: float
    status: Status
    next_query: NextQuery | None
    posterior: _Floats = field(repr=False)
    contradiction: Contradiction | None = None

    @property
    def done(self) -> bool:
        """Whether nothing is left to ask."""
        return self.status != "asking"

    @property
    def target_kind(self) -> Literal["object", "group"]:
        """What the names of `remaining` are names of."""
        return "group" if self.model.stop == "group" else "object"

    @property
    def n_remaining(self) -> int:
        """How many targets are left."""
        return int(np.count_nonzero(self._target_posterior))

    @property
    def _target_posterior(self) -> _Floats:
        if self.model.stop == "object":
            return self.posterior
        return sums_by_code(self.model.target_of, self.posterior, len(self.model.targets))

    def remaining(self, most: int | None = None) -> tuple[Candidate, ...]:
        """Targets that are left, the most probable first.

        Parameters
        ----------
        most : int, optional
            How many to tell at most; all where left out.

        Returns
        -------
        tuple of Candidate
            Equal ones in the order of the model. Empty where the answers contradict each other.
        """
        posterior = self._target_posterior
        left = np.flatnonzero(posterior > 0)
        first = left[np.argsort(-posterior[left], kind="stable")[:most]]
        return tuple(Candidate(self.model.targets[t], float(posterior[t])) for t in first)

    def objects(self) -> _Ints:
        """Indices of the objects that are left, ascending."""
        return np.flatnonzero(self.posterior > 0)

    @property
    def result(self) -> Candidate | None:
        """The target that was identified, with its certainty; None in every other status."""
        return self.remaining(1)[0] if self.status == "identified" else None


class Sessions:
    """Sessions on one model; safe for threads.

    Parameters
    ----------
    model : DiagnosisModel
        With or without noise. No tree is needed.
    capacity : int
        How many next queries are remembered: sessions that have come to the same state share them.
    """

    def __init__(self, model: DiagnosisModel, capacity: int = CAPACITY) -> None:
        self.model = model
        self._index = {name: q for q, name in enumerate(model.queries)}
        self._elimination = None if model.is_noisy else Elimination(model, capacity)
        self._inference = Inference(model, capacity) if model.is_noisy else None

    def forget(self) -> None:
        """Remember no next query: what sessions ask does not change, only how soon it is known."""
        for source in (self._elimination, self._inference):
            if source is not None:
                source.forget()

    def open(self, known: Sequence[Answer] = (), certainty: float | None = None) -> Session:
        """Open a session.

        Parameters
        ----------
        known : sequence of Answer
            What is known before the first question; counts as volunteered.
        certainty : float, optional
            In (0, 1]. Where left out, 1 for a model without noise and `CERTAINTY` for one with.

        Returns
        -------
        Session
            Done at once where a single target was to be told, or what is known is enough.

        Raises
        ------
        InvalidInputError
            If the certainty, or anything that is said to be known, cannot be used; names every fault.
        """
        faults: list[Fault] = []
        if certainty is None:
            certainty = CERTAINTY if self.model.is_noisy else 1.0
        elif isinstance(certainty, bool) or not isinstance(certainty, int | float) or not 0 < certainty <= 1:
            faults.append(Fault("/certainty", "must lie in (0, 1]"))
        answers: list[Answer] = []
        for i, answer in enumerate(known):
            faults += self._faults(answers, answer, f"/known/{i}")
            answers.append(Answer(answer.query, answer.answer, volunteered=True))
        if faults:
            raise InvalidInputError(faults)
        return self.resume(answers, certainty)

    def resume(self, answers: Sequence[Answer], certainty: float) -> Session:
        """The session that stored answers make.

        Parameters
        ----------
        answers : sequence of Answer
            As a session of the same model holds them.
        certainty : float
            As it was opened with.

        Returns
        -------
        Session
            As it stood.
        """
        given = [(self._index[a.query], a.answer) for a in answers]
        told = [(q, a) for q, a in given if a is not None]
        barred = tuple(sorted(q for q, a in given if a is None))
        posterior = self._posterior(told)
        if not posterior.any():
            found = find_contradiction(self.model, given)
            return Session(self.model, tuple(answers), certainty, "contradictory", None, posterior, found)
        status, following = self._following(posterior, told, barred, certainty)
        return Session(self.model, tuple(answers), certainty, status, following, posterior)

    def answer(
        self,
        session: Session,
        query: str,
        answer: bool | None,  # noqa: FBT001  it is what is told
        *,
        volunteered: bool = False,
    ) -> Session:
        """The session after one more answer.

        Parameters
        ----------
        session : Session
            One of this model.
        query : str
            Name of the query that was asked; of any that was not answered yet where volunteered.
        answer : bool or None
            None where it cannot be answered: the query is not asked again in this session.
        volunteered : bool
            Whether the answer is given without being asked for; then it may contradict the others, and may be given
            when the session is done.

        Returns
        -------
        Session
            A new one.

        Raises
        ------
        InvalidInputError
            If there is no such query, it was answered before, or it was not asked; or the answer is neither true nor
            false nor null.
        ConflictError
            If the session is done, and the answer was not volunteered; or its answers contradict each other.
        """
        given = Answer(query, answer, volunteered)
        if faults := self._faults(session.answers, given, ""):
            raise InvalidInputError(faults)
        if session.status == "contradictory":
            msg = "the answers contradict each other; take one back first"
            raise ConflictError(msg)
        if not volunteered:
            if session.next_query is None:
                msg = f"the session is done ({session.status}); nothing is asked"
                raise ConflictError(msg)
            if query != session.next_query.name:
                text = f"was not asked; asked is {session.next_query.name!r}"
                raise InvalidInputError([Fault("/query", text)])
        return self.resume((*session.answers, given), session.certainty)

    def batch(self, session: Session, size: int) -> Batch:
        """Questions to ask at once.

        Parameters
        ----------
        session : Session
            One of this model.
        size : int
            How many at most, in [1, `MAX_BATCH`].

        Returns
        -------
        Batch
            The next query first. Their answers are given as volunteered ones, in any order.

        Raises
        ------
        InvalidInputError
            If the size is outside its range.
        ConflictError
            If the session is done.
        """
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MAX_BATCH:
            raise InvalidInputError([Fault("/size", f"must be a whole number from 1 to {MAX_BATCH}")])
        if session.next_query is None:
            msg = f"the session is done ({session.status}); nothing is asked"
            raise ConflictError(msg)
        closed = [self._index[a.query] for a in session.answers]
        return choose_batch(self.model, session.posterior, session.next_query, size, closed)

    def undo(self, session: Session, number: int) -> Session:
        """The session without its last answer.

        Parameters
        ----------
        session : Session
            One of this model.
        number : int
            Number of the last answer, from 1: what is to be taken back must be said, so that a request that arrives
            twice takes one answer back.

        Returns
        -------
        Session
            A new one.

        Raises
        ------
        ConflictError
            If that is not the number of the last answer.
        """
        if not session.answers or number != len(session.answers):
            last = f"the last is {len(session.answers)}" if session.answers else "there is none"
            msg = f"only the last answer can be taken back: {last}, not {number}"
            raise ConflictError(msg)
        return self.resume(session.answers[:-1], session.certainty)

    def _faults(self, before: Sequence[Answer], answer: Answer, place: str) -> list[Fault]:
        faults: list[Fault] = []
        number = next((i for i, a in enumerate(before, 1) if a.query == answer.query), None)
        if answer.query not in self._index:
            near = near_names(str(answer.query), self._index) if len(self._index) < 10_000 else ""
            faults.append(Fault(f"{place}/query", f"the model has no such query{near}"))
        elif number is not None:
            faults.append(Fault(f"{place}/query", f"was answered before, as number {number}"))
        if answer.answer is not None and not isinstance(answer.answer, bool):
            faults.append(Fault(f"{place}/answer", "must be true, false or null"))
        return faults

    def _posterior(self, told: list[tuple[int, bool]]) -> _Floats:
        if self.model.is_noisy:
            posterior: _Floats = np.exp(log_posterior(self.model, told))
            return posterior
        if not told:
            return self.model.prior.copy()
        left = np.arange(self.model.n_objects)
        for query, answer in told:
            left = left[self.model.responses.at(left, query) == answer]
        posterior = np.zeros(self.model.n_objects)
        if len(left):
            posterior[left] = self.model.weights[left] / self.model.weights[left].sum()
        return posterior

    def _following(
        self, posterior: _Floats, told: list[tuple[int, bool]], barred: tuple[int, ...], certainty: float
    ) -> tuple[Status, NextQuery | None]:
        objects = np.flatnonzero(posterior)
        present = self.model.target_of[objects]
        if (present == present[0]).all():
            return "identified", None
        # of two targets neither is certain, however rare the other: a certainty of 1 is never met by rounding
        if certainty < 1:
            by_target = posterior if self.model.stop == "object" else sums_by_code(self.model.target_of, posterior)
            if by_target.max() >= certainty:
                return "identified", None
        if self._inference is not None:
            following = self._inference.next_query(posterior, tuple(told), barred)
        else:
            assert self._elimination is not None  # noqa: S101  one of the two is there
            following = self._elimination.next_query(objects, barred)
        return ("ambiguous", None) if following is None else ("asking", following)
