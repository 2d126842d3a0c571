"""Queries on what finished searches leave to later ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from autoprog.metalearning import CohortStatistics
from autoprog.storage.database import database_now
from autoprog.storage.tables import CohortRow, CohortStatisticsRow

MOST = 1_000
"""The most cohorts that are read at once: the latest."""


@dataclass(frozen=True, slots=True)
class EarlierCohort:
    """Statistics that an owner may learn from.

    Attributes
    ----------
    statistics : CohortStatistics
        With the cohort's identifier in this database.
    is_own : bool
        Whether the cohort is the owner's; another's identifier is not to be shown.
    """

    statistics: CohortStatistics
    is_own: bool


def shares(cohort: CohortRow) -> bool:
    """Whether other owners may learn from what is learnt on a cohort."""
    return bool(cohort.spec.get("share_statistics", False))


class CohortStatisticsRepository:
    """Statistics of all owners' cohorts, one a cohort and metric.

    Parameters
    ----------
    session : Session
        The transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def keep(self, cohort: CohortRow, statistics: CohortStatistics) -> None:
        """Keep what a search has taught, in place of what one with no more evaluations has.

        Parameters
        ----------
        cohort : CohortRow
            The cohort; its spec says whether other owners may learn from it.
        statistics : CohortStatistics
            Of a search on it.
        """
        found = self._session.get(CohortStatisticsRow, (cohort.id, statistics.metric), with_for_update=True)
        if found is not None and found.n_evaluations > statistics.n_evaluations:
            return
        shared = shares(cohort)
        row = CohortStatisticsRow(
            cohort_id=cohort.id,
            metric=statistics.metric,
            owner_id=cohort.owner_id,
            shared=shared,
            n_evaluations=statistics.n_evaluations,
            document=replace(statistics, cohort_id=cohort.id, shared=shared).to_json(),
            created_at=database_now(self._session),
        )
        self._session.merge(row)

    def earlier(
        self, owner_id: str, metric: str, *, but_sha256: str, shared_alone: bool = False
    ) -> tuple[EarlierCohort, ...]:
        """What an owner may learn from: their own cohorts, and those of others that are shared.

        Parameters
        ----------
        owner_id : str
            Who asks.
        metric : str
            Of the searches.
        but_sha256 : str
            Digest of the cohort that is asked about: it, and copies of it, are no evidence on itself.
        shared_alone : bool
            Leave out the owner's cohorts that are not shared either.

        Returns
        -------
        tuple of EarlierCohort
            At most `MOST`: the owner's own, then the others', the latest first.
        """
        is_own = CohortStatisticsRow.owner_id == owner_id
        rows = self._session.scalars(
            select(CohortStatisticsRow)
            .join(CohortRow, CohortRow.id == CohortStatisticsRow.cohort_id)
            .where(CohortStatisticsRow.metric == metric, CohortRow.sha256 != but_sha256)
            .where(CohortStatisticsRow.shared if shared_alone else or_(is_own, CohortStatisticsRow.shared))
            .order_by(
                is_own.desc(),
                CohortStatisticsRow.created_at.desc(),
                CohortStatisticsRow.cohort_id.desc(),
            )
            .limit(MOST)
        )
        return tuple(
            EarlierCohort(CohortStatistics.from_json(row.document), is_own=row.owner_id == owner_id) for row in rows
        )
