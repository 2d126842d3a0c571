"""Queries on the statistics that finished searches leave to later ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from autoprog.metalearning import CohortStatistics, open_cohorts
from autoprog.space import Configuration
from autoprog.storage.database import database_now
from autoprog.storage.tables import CohortRow, CohortStatisticsRow

MOST = 1_000
"""Maximum number of cohorts that are read at once, the latest ones."""

_CHUNK = 100  # documents of some 50 kB


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


@dataclass(frozen=True, slots=True)
class KnownPipelines:
    """Pipelines that the statistics of some cohort, or of an open one, name.

    Attributes
    ----------
    sources : frozenset of (str, datetime)
        Cohort and time of each of the statistics that were read.
    keys : frozenset of str
        `Configuration.key` of each pipeline.
    """

    sources: frozenset[tuple[str, datetime]]
    keys: frozenset[str]


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

    def keep(self, cohort: CohortRow, statistics: CohortStatistics, known: KnownPipelines | None = None) -> None:
        """Store a search's statistics of its cohort, unless an earlier search's are better founded.

        Parameters
        ----------
        cohort : CohortRow
            The cohort, locked by the transaction.
        statistics : CohortStatistics
            What the search has learnt.
        known : KnownPipelines or None
            Read before the transaction, which should be short; read anew if something that it names was deleted since.
        """
        found = self._session.get(CohortStatisticsRow, (cohort.id, statistics.metric), with_for_update=True)
        if found is not None and CohortStatistics.from_json(found.document).foundation > statistics.foundation:
            return
        # A cohort that taught the search may have been deleted since.
        if known is None or not known.sources <= self._sources(statistics.metric):
            known = self.known(statistics.metric)
        shared = shares(cohort)
        elsewhere = {key: gain for key, gain in statistics.elsewhere.items() if key in known.keys}
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
        known = self.known(metric).keys
        rows = select(CohortStatisticsRow).where(CohortStatisticsRow.metric == metric)
        for row in self._session.scalars(rows, execution_options={"yield_per": _CHUNK}):
            found = row.document.get("elsewhere", {})
            if not found.keys() <= known:
                row.document = {**row.document, "elsewhere": {key: g for key, g in found.items() if key in known}}

    def known(self, metric: str) -> KnownPipelines:
        """Read the pipelines in any cohort's statistics, including the open cohorts'."""
        sources = self._sources(metric)  # first: what is deleted meanwhile is missed by `keep`
        shipped = (tried.configuration for cohort in open_cohorts() for tried in cohort.statistics.best)
        stored = (Configuration.from_json(tried["configuration"]) for best in self._best(metric) for tried in best)
        return KnownPipelines(sources, frozenset(c.key for found in (shipped, stored) for c in found))

    def _sources(self, metric: str) -> frozenset[tuple[str, datetime]]:
        rows = select(CohortStatisticsRow.cohort_id, CohortStatisticsRow.created_at)
        found = self._session.execute(rows.where(CohortStatisticsRow.metric == metric))
        return frozenset((cohort_id, created_at) for cohort_id, created_at in found)

    def _best(self, metric: str) -> Iterator[list[dict[str, Any]]]:
        """Iterate over the pipelines that did well on each cohort."""
        ordered = (
            select(CohortStatisticsRow.cohort_id, CohortStatisticsRow.document["best"])
            .where(CohortStatisticsRow.metric == metric)
            .order_by(CohortStatisticsRow.cohort_id)
            .limit(_CHUNK)
        )
        last = ""
        while rows := self._session.execute(ordered.where(CohortStatisticsRow.cohort_id > last)).all():
            yield from (best for _, best in rows)
            last = rows[-1].cohort_id

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
