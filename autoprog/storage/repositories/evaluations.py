"""Queries on the evaluations of a search."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, or_, select
from sqlalchemy.orm import Session

from autoprog.performance import Direction, metric_direction
from autoprog.storage.pages import DEFAULT_LIMIT, Page, decode_cursor
from autoprog.storage.repositories._owned import get_owned
from autoprog.storage.tables import EvaluationRow, SearchRow

EvaluationOrder = Literal["created", "score"]

_patients = func.coalesce(EvaluationRow.n_patients, 0)
_MAX_NUMBER = 2**31 - 1
_TALLIES = (
    select(
        EvaluationRow.search_id,
        EvaluationRow.status,
        _patients.label("patients"),
        func.count().label("n"),
        func.min(EvaluationRow.score).label("lowest"),
        func.max(EvaluationRow.score).label("highest"),
    )
    .where(EvaluationRow.search_id.in_(bindparam("of", expanding=True)))
    .group_by(EvaluationRow.search_id, EvaluationRow.status, _patients)
)


@dataclass(frozen=True)
class Tally:
    """Progress of a search.

    Attributes
    ----------
    counts : mapping
        Status -> number of evaluations with it; absent if none.
    best_score : float or None
        In the metric's own direction; None before the first success.
    """

    counts: Mapping[str, int]
    best_score: float | None = None


class EvaluationRepository:
    """Evaluations of all searches.

    Parameters
    ----------
    session : Session
        The transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def page(
        self,
        owner_id: str,
        search_id: str,
        *,
        sort: EvaluationOrder = "created",
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
    ) -> Page[EvaluationRow]:
        """List the evaluations of a search.

        Parameters
        ----------
        owner_id : str
            The owner.
        search_id : str
            The search.
        sort : {"created", "score"}
            By number, or best score first and missing scores last. Scores of more patients precede those of fewer, with
            which they cannot be compared.
        limit : int
            Maximum number of items, at least 1.
        cursor : str or None
            `next_cursor` of the previous page, in the same order.

        Returns
        -------
        Page
            A page of evaluations.

        Raises
        ------
        NotFoundError
            If there is no such search.
        InvalidInputError
            If the cursor is not of this list.
        """
        query, direction = self._query(owner_id, search_id, sort)
        by_number = sort == "created"
        if cursor is not None and by_number:
            query = query.where(EvaluationRow.number > decode_cursor(cursor, _number))
        elif cursor is not None:
            query = query.where(_after(direction, *decode_cursor(cursor, _place)))
        rows = self._session.scalars(query.limit(limit + 1)).all()
        return Page.of(rows, limit, _number_key if by_number else _place_key)

    def list_all(self, owner_id: str, search_id: str, *, sort: EvaluationOrder = "created") -> Sequence[EvaluationRow]:
        """List all evaluations of a search, sorted as in `page`. Raises NotFoundError."""
        query, _ = self._query(owner_id, search_id, sort)
        return self._session.scalars(query).all()

    def list_scores(self, owner_id: str, search_id: str) -> Sequence[tuple[int, float]]:
        """List number and score of the evaluations on most patients, which can be compared, in order."""
        # Raises NotFoundError.
        get_owned(self._session, SearchRow, owner_id, search_id)
        known = (EvaluationRow.search_id == search_id, EvaluationRow.score.is_not(None))
        most = select(func.max(_patients)).where(*known).scalar_subquery()
        query = select(EvaluationRow.number, EvaluationRow.score).where(*known, _patients == most)
        rows = self._session.execute(query.order_by(EvaluationRow.number))
        return [(number, score) for number, score in rows if score is not None]

    def count_by_status(self, owner_id: str, search_id: str) -> dict[str, int]:
        """Count the evaluations of a search by how they ended. Raises NotFoundError."""
        get_owned(self._session, SearchRow, owner_id, search_id)
        query = select(EvaluationRow.status, func.count()).where(EvaluationRow.search_id == search_id)
        rows = self._session.execute(query.group_by(EvaluationRow.status))
        return {row.status: int(row[1]) for row in rows}

    def tallies(self, searches: Sequence[SearchRow]) -> dict[str, Tally]:
        """Count the evaluations of several searches that the owner may see, by search identifier."""
        rows = self._session.connection().execute(_TALLIES, {"of": [search.id for search in searches]}).all()
        return {search.id: _tally(search, [row for row in rows if row.search_id == search.id]) for search in searches}

    def _query(self, owner_id: str, search_id: str, sort: EvaluationOrder) -> tuple[Select[EvaluationRow], Direction]:
        search = get_owned(self._session, SearchRow, owner_id, search_id)
        direction = metric_direction(search.settings["metric"])
        query = select(EvaluationRow).where(EvaluationRow.search_id == search_id)
        if sort == "created":
            return query.order_by(EvaluationRow.number), direction
        score = EvaluationRow.score.desc() if direction.greater_is_better else EvaluationRow.score.asc()
        order = (EvaluationRow.score.is_(None), _patients.desc(), score, EvaluationRow.number)
        return query.order_by(*order), direction


def _number_key(row: EvaluationRow) -> list[Any]:
    return [row.number]


def _place_key(row: EvaluationRow) -> list[Any]:
    return [row.n_patients or 0, row.score, row.number]


def _after(metric: Direction, patients: int, score: float | None, number: int) -> ColumnElement[bool]:
    column = EvaluationRow.score
    later = and_(_patients == patients, EvaluationRow.number > number)
    if score is None:
        return and_(column.is_(None), or_(_patients < patients, later))
    worse = column < score if metric.greater_is_better else column > score
    among_scored = or_(_patients < patients, and_(_patients == patients, worse), and_(column == score, later))
    return or_(column.is_(None), among_scored)


def _number(position: list[Any]) -> int:
    (number,) = position
    if type(number) is not int or not 0 <= number <= _MAX_NUMBER:
        raise ValueError(position)
    return number


def _place(position: list[Any]) -> tuple[int, float | None, int]:
    patients, score, number = position
    if score is not None and (not isinstance(score, float) or not math.isfinite(score)):
        raise ValueError(position)
    return _number([patients]), score, _number([number])


def _tally(search: SearchRow, rows: Sequence[Any]) -> Tally:
    metric = metric_direction(search.settings["metric"])
    counts: Counter[str] = Counter()
    best: tuple[int, float] | None = None
    for row in rows:
        counts[row.status] += row.n
        score = row.highest if metric.greater_is_better else row.lowest
        if score is not None and (best is None or (row.patients, metric.gain(score)) > (best[0], metric.gain(best[1]))):
            best = row.patients, score
    return Tally(counts, None if best is None else best[1])
