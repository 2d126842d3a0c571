"""Queries on the statistics that finished searches leave to later ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from autoprog.metalearning import CohortStatistics, open_cohorts
from autoprog.space import Configuration
from autoprog.storage.database import database_now
from autoprog.storage.tables import CohortRow, CohortStatisticsRow

MOST = 1_000
"""Maximum number of cohorts that are read at once, the latest ones."""


@dataclass(frozen=True, slots=True)
class EarlierCohort:
    """Statistics that an owner may learn from.

    Attributes
    ----------
    statistics : CohortStatistics
        With the cohort's identifier in this database.
    is_own : bool
        Whether the cohort is the owner's; another owner's identifier must not be shown.
    """

    statistics: CohortStatistics
    is_own: bool


def shares(cohort: CohortRow) -> bool:
    """Check whether other owners may learn from a cohort."""
    return bool(cohort.spec.get("share_statistics", False))


class CohortStatisticsRepository:
    """Statistics of all owners' cohorts, one row per cohort and metric.

    Parameters
    ----------
    session : Session
        The transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def keep(self, cohort: CohortRow, statistics: CohortStatistics) -> None:
        """Store a search's statistics of its cohort, unless an earlier search's are better founded."""
        found = self._session.get(CohortStatisticsRow, (cohort.id, statistics.metric), with_for_update=True)
        if found is not None and CohortStatistics.from_json(found.document).foundation > statistics.foundation:
            return
        shared, known = shares(cohort), self._pipelines(statistics.metric)
        # A cohort that taught the search may have been deleted since.
        elsewhere = {key: gain for key, gain in statistics.elsewhere.items() if key in known}
        row = CohortStatisticsRow(
            cohort_id=cohort.id,
            metric=statistics.metric,
            owner_id=cohort.owner_id,
            shared=shared,
            n_evaluations=statistics.n_evaluations,
            document=replace(statistics, cohort_id=cohort.id, shared=shared, elsewhere=elsewhere).to_json(),
            created_at=database_now(self._session),
        )
        self._session.merge(row)

    def delete_for(self, cohort_id: str) -> None:
        """Delete a cohort's statistics, and others' findings on pipelines that are known only from it."""
        of_cohort = CohortStatisticsRow.cohort_id == cohort_id
        metrics = select(CohortStatisticsRow.metric).where(of_cohort).order_by(CohortStatisticsRow.metric)
        for metric in self._session.scalars(metrics).all():
            # Lock all in one order before deleting any, so that concurrent deletions cannot deadlock.
            by_metric = CohortStatisticsRow.metric == metric
            locked = select(CohortStatisticsRow.cohort_id).where(by_metric).order_by(CohortStatisticsRow.cohort_id)
            self._session.execute(locked.with_for_update()).all()
            self._session.execute(delete(CohortStatisticsRow).where(of_cohort, by_metric))
            self._forget_unknown(metric)

    def _forget_unknown(self, metric: str) -> None:
        known = self._pipelines(metric)
        rows = select(CohortStatisticsRow).where(CohortStatisticsRow.metric == metric)
        for row in self._session.scalars(rows, execution_options={"yield_per": 100}):
            found = row.document.get("elsewhere", {})
            if not found.keys() <= known:
                row.document = {**row.document, "elsewhere": {key: g for key, g in found.items() if key in known}}

    def _pipelines(self, metric: str) -> set[str]:
        """Keys of the pipelines in any cohort's statistics, including the open cohorts'."""
        documents = self._session.scalars(
            select(CohortStatisticsRow.document).where(CohortStatisticsRow.metric == metric),
            execution_options={"yield_per": 100},
        )
        stored = (Configuration.from_json(tried["configuration"]) for row in documents for tried in row["best"])
        shipped = (tried.configuration for cohort in open_cohorts() for tried in cohort.statistics.best)
        return {configuration.key for configuration in chain(stored, shipped)}

    def earlier(
        self, owner_id: str, metric: str, *, but_sha256: str, shared_alone: bool = False
    ) -> tuple[EarlierCohort, ...]:
        """Read the statistics that an owner may learn from: their own cohorts, and other owners' shared ones.

        Parameters
        ----------
        owner_id : str
            The owner.
        metric : str
            The searches' metric.
        but_sha256 : str
            Digest of the cohort in question: it and its copies are no evidence on itself.
        shared_alone : bool
            Leave out the owner's unshared cohorts too.

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
