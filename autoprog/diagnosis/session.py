"""Sessions: queries asked one after another until the target is identified.

A session is its list of answers; everything else follows from them and the model. Sessions are immutable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.messages import make_suggester
from autoprog.diagnosis.batch import MAX_BATCH, Batch, choose_batch
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.next_query import Elimination, NextQuery
from autoprog.diagnosis.noise import Inference, likelihood
from autoprog.diagnosis.ordering import OrderedQueries, Ordering, Spent
from autoprog.diagnosis.responses import sums_by_code
from autoprog.errors import ConflictError, Fault, InvalidInputError

NEAREST = 10
"""Maximum number of nearest objects listed."""


@dataclass(frozen=True)
class NearObject:
    """An object close to contradictory answers."""

    object: int  # index
    disagrees: tuple[int, ...]  # indices of the answers inconsistent with it, ascending


@dataclass(frozen=True)
class Contradiction:
    """Answers that no object is consistent with."""

    conflicting: tuple[int, ...]  # a minimal set: indices of answers, ascending; without any one the rest are possible
    nearest: tuple[NearObject, ...]  # inconsistent with the fewest answers, likelier first; at most `NEAREST`


def find_contradiction(model: DiagnosisModel, answers: Sequence[tuple[int, bool | None]]) -> Contradiction:
    """Find a minimal set of conflicting answers (None never conflicts) and the objects of least Hamming distance."""
    given = [place for place, (_, answer) in enumerate(answers) if answer is not None]
    M, told = model.n_objects, [(answers[place][0], bool(answers[place][1])) for place in given]
    # Bits, one answer per row: numbers would take gigabytes of millions of objects and hundreds of answers.
    impossible = [np.packbits(likelihood(model, query, answer=answer) == 0) for query, answer in told]
    wrong = np.zeros(M, dtype=np.int64)
    for row in impossible:
        wrong += np.unpackbits(row, count=M)
    kept, count = list(range(len(given))), wrong.copy()
    for place, row in enumerate(impossible):
        without = count - np.unpackbits(row, count=M)
        if without.all():  # still contradictory without it: the earliest such answers are left out
            kept.remove(place)
            count = without
    near = _nearest(model, wrong, told)
    disagrees = [np.flatnonzero([row[i >> 3] >> (7 - (i & 7)) & 1 for row in impossible]) for i in near.tolist()]
    return Contradiction(
        tuple(given[place] for place in kept),
        tuple(NearObject(int(i), tuple(given[p] for p in at)) for i, at in zip(near, disagrees, strict=True)),
    )


def _nearest(model: DiagnosisModel, wrong: NDArray[np.int64], told: Sequence[tuple[int, bool]]) -> NDArray[np.int64]:
    near = np.flatnonzero(wrong == wrong.min())
    possible = np.zeros(len(near))
    for query, answer in told:
        chance = likelihood(model, query, answer=answer)[near]
        possible += np.log(np.where(chance > 0, chance, 1.0))
    likely = np.log(model.prior[near]) + possible
    return near[np.argsort(-likely, kind="stable")[:NEAREST]]


_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

Status = Literal["asking", "identified", "ambiguous", "contradictory"]

_CONTRADICTORY: tuple[Status, None] = ("contradictory", None)

CERTAINTY = 0.95
"""Default certainty at which a session stops where answers may be wrong."""

CAPACITY = 4096
"""Default number of cached next queries."""

# Orderings whose tests and next queries are cached.
_ORDERINGS = 32


@dataclass(frozen=True)
class Answer:
    """An answer to a query."""

    query: str  # its name
    answer: bool | None  # None where the query could not be answered
    volunteered: bool = False  # whether it was given without being asked
    test: str | None = None  # name of the test that gave it; None where it is not known, or the session orders none


@dataclass(frozen=True)
class Candidate:
    """A target that is still possible, with its posterior probability in (0, 1]."""

    name: str
    probability: float


@dataclass(frozen=True, eq=False)
class Session:
    """State of a session.

    Attributes
    ----------
    answers : tuple of Answer
        In order; answers are numbered from 1.
    certainty : float
        Probability of a target at which the session stops.
    status : {"asking", "identified", "ambiguous", "contradictory"}
        `identified`: a target is certain enough. `ambiguous`: several are left, and no query tells them apart.
        `contradictory`: no object is consistent with the answers; undo some.
    posterior : ndarray, shape = (M,)
        Probabilities of the objects; all 0 where the answers are contradictory.
    contradiction : Contradiction or None
        Conflicting answers as indices into `answers`, from 0.
    ordering : Ordering or None
        Tests that the session may order, with prices.
    spent : Spent or None
        What the tests of a session with an ordering have cost so far.
    """

    model: DiagnosisModel
    answers: tuple[Answer, ...]
    certainty: float
    status: Status
    next_query: NextQuery | None  # None when the session is done
    posterior: _Floats = field(repr=False)
    contradiction: Contradiction | None = None
    ordering: Ordering | None = None
    spent: Spent | None = None

    @property
    def done(self) -> bool:
        """Whether no query is left to ask."""
        return self.status != "asking"

    @property
    def target_kind(self) -> Literal["object", "group"]:
        """Whether `remaining` names objects or groups."""
        return "group" if self.model.stop == "group" else "object"

    @property
    def n_remaining(self) -> int:
        """Number of targets left."""
        return int(np.count_nonzero(self._target_posterior))

    @property
    def _target_posterior(self) -> _Floats:
        if self.model.stop == "object":
            return self.posterior
        return sums_by_code(self.model.target_of, self.posterior, len(self.model.targets))

    def remaining(self, most: int | None = None) -> tuple[Candidate, ...]:
        """List at most `most` (default all) remaining targets, most probable first, ties in the model's order."""
        posterior = self._target_posterior
        left = np.flatnonzero(posterior > 0)
        first = left[np.argsort(-posterior[left], kind="stable")[:most]]
        return tuple(Candidate(self.model.targets[t], float(posterior[t])) for t in first)

    def objects(self) -> _Ints:
        """Indices of the remaining objects, ascending."""
        return np.flatnonzero(self.posterior > 0)

    @property
    def result(self) -> Candidate | None:
        """The identified target; None in every other status."""
        return self.remaining(1)[0] if self.status == "identified" else None


class Sessions:
    """Sessions on one model; thread-safe. Up to `capacity` next queries are cached and shared between sessions."""

    def __init__(self, model: DiagnosisModel, capacity: int = CAPACITY) -> None:
        self.model = model
        self._index = {name: q for q, name in enumerate(model.queries)}
        self._elimination = None if model.is_noisy else Elimination(model, capacity)
        self._inference = Inference(model, capacity) if model.is_noisy else None
        self._ordered = lru_cache(maxsize=_ORDERINGS)(partial(OrderedQueries, model, capacity=capacity))

    def forget(self) -> None:
        """Clear the cache of next queries; queries stay the same and only take longer."""
        for source in (self._elimination, self._inference):
            if source is not None:
                source.forget()
        self._ordered.cache_clear()

    def open(
        self, known: Sequence[Answer] = (), certainty: float | None = None, ordering: Ordering | None = None
    ) -> Session:
        """Open a session.

        Parameters
        ----------
        known : sequence of Answer
            Answers known in advance; they count as volunteered.
        certainty : float, optional
            In (0, 1]; by default 1 without noise and `CERTAINTY` with noise.
        ordering : Ordering, optional
            Tests that reveal the queries; by default every query has its own cost in the model.

        Returns
        -------
        Session
            Already done if there is a single target or the known answers suffice.

        Raises
        ------
        InvalidInputError
            If the certainty or a known answer is invalid; names every fault.
        """
        faults: list[Fault] = []
        if certainty is None:
            certainty = CERTAINTY if self.model.is_noisy else 1.0
        elif isinstance(certainty, bool) or not isinstance(certainty, int | float) or not 0 < certainty <= 1:
            faults.append(Fault("/certainty", "must lie in (0, 1]"))
        numbers: dict[str, int] = {}
        suggest = self._make_suggester()
        for i, answer in enumerate(known):
            faults += self._faults(numbers, answer, ordering, f"/known/{i}", suggest)
            numbers.setdefault(answer.query, i + 1)
        if faults:
            raise InvalidInputError(faults)
        return self.resume([replace(answer, volunteered=True) for answer in known], certainty, ordering)

    def resume(self, answers: Sequence[Answer], certainty: float, ordering: Ordering | None = None) -> Session:
        """Restore a session of the same model from its answers, its certainty and its ordering."""
        given = [(self._index[a.query], a.answer) for a in answers]
        told = [(q, a) for q, a in given if a is not None]
        barred = tuple(sorted(q for q, a in given if a is None))
        posterior = self._posterior(told)
        find, spent, found = None, None, None
        if ordering is not None:
            tests = self._ordered(ordering)
            performed = tests.performed(self._tested(answers))
            find, spent = partial(tests.next_query, posterior, told, barred, performed), tests.spent(performed)
        if not posterior.any():
            found = find_contradiction(self.model, given)
            status, following = _CONTRADICTORY
        else:
            status, following = self._following(posterior, told, barred, certainty, find)
        return Session(self.model, tuple(answers), certainty, status, following, posterior, found, ordering, spent)

    def answer(
        self,
        session: Session,
        query: str,
        answer: bool | None,  # noqa: FBT001  the answer itself
        *,
        volunteered: bool = False,
        test: str | None = None,
    ) -> Session:
        """Return the session after one more answer.

        Parameters
        ----------
        session : Session
        query : str
            Name of the query asked; if volunteered, of any query without an answer.
        answer : bool or None
            None where it cannot be answered; the query is not asked again in this session.
        volunteered : bool
            A volunteered answer may contradict the others, and is accepted when the session is done.
        test : str or None
            Name of the session's test that gave the answer. By default the test that was ordered for the query asked;
            for any other query the cheapest that reveals it, unless a performed test does.

        Returns
        -------
        Session
            A new session.

        Raises
        ------
        InvalidInputError
            If the query is unknown, already answered or not the one asked, the answer is not true, false or null, or
            the session has no such test for the query.
        ConflictError
            If the answers are contradictory, or the session is done and the answer is not volunteered.
        """
        given = Answer(query, answer, volunteered, test)
        numbers = {a.query: i for i, a in enumerate(session.answers, 1)}
        if faults := self._faults(numbers, given, session.ordering, "", self._make_suggester()):
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
        if test is None and answer is not None and session.next_query is not None and query == session.next_query.name:
            given = replace(given, test=session.next_query.test)
        return self.resume((*session.answers, given), session.certainty, session.ordering)

    def batch(self, session: Session, size: int) -> Batch:
        """Choose up to `size` (1 to `MAX_BATCH`) queries to ask at once; their answers are volunteered, with `test`."""
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MAX_BATCH:
            raise InvalidInputError([Fault("/size", f"must be a whole number from 1 to {MAX_BATCH}")])
        if session.next_query is None:
            msg = f"the session is done ({session.status}); nothing is asked"
            raise ConflictError(msg)
        closed = [self._index[a.query] for a in session.answers]
        choose = partial(choose_batch, self.model, session.posterior, session.next_query, size, closed)
        if session.ordering is None:
            return choose()
        tests = self._ordered(session.ordering)
        first = (session.next_query.query, session.next_query.test)
        performed = tests.performed([*self._tested(session.answers), first])
        return tests.with_tests(choose(tests.costs(performed)), performed)

    def undo(self, session: Session, number: int) -> Session:
        """Remove the last answer, whose number from 1 must be given; raises `ConflictError` for any other number."""
        # the number makes a repeated request harmless: it removes one answer only
        if not session.answers or number != len(session.answers):
            last = f"the last is {len(session.answers)}" if session.answers else "there is none"
            msg = f"only the last answer can be taken back: {last}, not {number}"
            raise ConflictError(msg)
        return self.resume(session.answers[:-1], session.certainty, session.ordering)

    def _tested(self, answers: Sequence[Answer]) -> list[tuple[int, str | None]]:
        """Query and test of each answer; what could not be answered took no test."""
        return [(self._index[a.query], a.test) for a in answers if a.answer is not None]

    def _make_suggester(self) -> Callable[[str], str]:
        return make_suggester(self._index if len(self._index) < 10_000 else ())

    def _faults(
        self,
        numbers: Mapping[str, int],
        answer: Answer,
        ordering: Ordering | None,
        place: str,
        suggest: Callable[[str], str],
    ) -> list[Fault]:
        """Faults of an answer after others, whose numbers are given by query."""
        faults: list[Fault] = []
        if answer.query not in self._index:
            near = suggest(str(answer.query))
            faults.append(Fault(f"{place}/query", f"the model has no such query{near}"))
        elif (number := numbers.get(answer.query)) is not None:
            faults.append(Fault(f"{place}/query", f"was answered before, as number {number}"))
        if answer.answer is not None and not isinstance(answer.answer, bool):
            faults.append(Fault(f"{place}/answer", "must be true, false or null"))
        if answer.test is not None and answer.query in self._index:
            if ordering is None:
                faults.append(Fault(f"{place}/test", "the session orders no tests: open it with a catalogue"))
            elif not self._ordered(ordering).reveals(answer.test, self._index[answer.query]):
                faults.append(Fault(f"{place}/test", "the session has no such test that reveals the query"))
        return faults

    def _posterior(self, told: list[tuple[int, bool]]) -> _Floats:
        if self._inference is not None:
            posterior: _Floats = np.exp(self._inference.log_posterior(told))
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
        self,
        posterior: _Floats,
        told: list[tuple[int, bool]],
        barred: tuple[int, ...],
        certainty: float,
        find: Callable[[], NextQuery | None] | None,
    ) -> tuple[Status, NextQuery | None]:
        """Status and next query; `find` finds the query of a session that orders tests."""
        objects = np.flatnonzero(posterior > 0)
        present = self.model.target_of[objects]
        if (present == present[0]).all():
            return "identified", None
        # while two targets are left neither is certain, however rare the other: rounding must not reach 1
        if certainty < 1:
            by_target = posterior if self.model.stop == "object" else sums_by_code(self.model.target_of, posterior)
            if by_target.max() >= certainty:
                return "identified", None
        if find is not None:
            following = find()
        elif self._inference is not None:
            following = self._inference.next_query(posterior, tuple(told), barred)
        else:
            assert self._elimination is not None  # noqa: S101  exactly one of the two is set
            following = self._elimination.next_query(objects, barred)
        return ("ambiguous", None) if following is None else ("asking", following)
