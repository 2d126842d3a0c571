"""Read, store and describe cohorts."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy.orm import Session

from api.cohorts.schemas import (
    CohortBody,
    CohortDocument,
    ExpectationDocument,
    FeatureDocument,
    FeatureGroupDocument,
    FollowUpDocument,
    MetaFeatureDocument,
    MetaFeaturesDocument,
    NearCohortDocument,
    OutlookDocument,
    SampleSizeDocument,
)
from api.dependencies import Context
from api.quota import check_quota, check_stored
from api.uploads import Upload, attempt
from autoprog.cohort import (
    CohortReadResult,
    CohortSpec,
    ReadLimits,
    file_faults,
    from_parquet,
    judge_spec,
    read_cohort,
    to_parquet,
)
from autoprog.errors import Fault, InvalidInputError, TooLargeError, UnsupportedMediaError
from autoprog.metalearning import (
    META_FEATURES,
    clinical_groups,
    describe_cohort,
    group_notes,
    meta_features,
    outlook,
    shipped_statistics,
)
from autoprog.metalearning.outlook import LEVEL
from autoprog.search import SearchSettings, plan_search
from autoprog.search.settings import MetricName
from autoprog.storage.files import Kind
from autoprog.storage.repositories import CohortRepository, CohortStatisticsRepository
from autoprog.storage.stored_files import store_files
from autoprog.storage.tables import CohortRow

_MIB = 2**20


def read_limits(context: Context) -> ReadLimits:
    """Return the limits of this server for reading a cohort's file."""
    return ReadLimits(decompressed_bytes=context.settings.decompressed_mb * _MIB)


def read_upload(context: Context, upload: Upload, faults: list[Fault]) -> tuple[CohortSpec, CohortReadResult] | None:
    """Read an uploaded cohort and collect its faults; TooLargeError and UnsupportedMediaError are raised if alone."""
    # A cohort returned together with faults serves only to judge what else was sent.
    faults += upload.faults
    text = attempt(faults, lambda: upload.text("spec"))
    spec, found = (None, ()) if text is None else judge_spec(text)
    faults += found
    file = attempt(faults, upload.content)
    if file is None:
        return None
    try:
        if spec is None:
            faults += attempt(faults, lambda: file_faults(file, read_limits(context))) or ()
            return None
        intake = attempt(faults, lambda: read_cohort(file, spec, read_limits(context)))
    except (TooLargeError, UnsupportedMediaError) as error:
        if not faults:
            raise
        faults.append(Fault("/file", str(error)))
        return None
    return None if intake is None else (spec, intake)


def create_cohort(context: Context, session: Session, owner_id: str, upload: Upload) -> CohortRow:
    """Read and store an uploaded cohort; raises InvalidInputError, TooLargeError and UnsupportedMediaError."""
    faults: list[Fault] = []
    read = read_upload(context, upload, faults)
    if read is None or faults:
        raise InvalidInputError(faults)
    return store_cohort(context, session, owner_id, *read)


def store_cohort(
    context: Context, session: Session, owner_id: str, spec: CohortSpec, intake: CohortReadResult
) -> CohortRow:
    """Store a cohort: its patients as a file, the rest as a row; raises QueueFullError above the owner's quota."""
    contents: dict[Kind, bytes] = {"cohorts": to_parquet(intake.cohort)}
    if intake.identifiers is not None:
        contents["identifiers"] = intake.identifiers.to_bytes()
    check_quota(context, owner_id, contents)
    stored = store_files(context.database, context.files, session, contents)
    row = CohortRepository(session).add(
        owner_id,
        name=intake.cohort.name,
        sha256=stored["cohorts"],
        identifiers_sha256=stored.get("identifiers"),
        n_patients=intake.cohort.n_patients,
        spec=spec.model_dump(mode="json"),
        document=cohort_body(intake, stored["cohorts"]).model_dump(mode="json"),
    )
    check_stored(context, session, owner_id)
    return row


def cohort_body(intake: CohortReadResult, sha256: str) -> CohortBody:
    """Describe a cohort that was read from a file."""
    cohort = intake.cohort
    return CohortBody(
        name=cohort.name,
        mode=cohort.mode,
        n_patients=cohort.n_patients,
        n_sampled=None if cohort.sampled is None else cohort.n_sampled,
        n_rows=intake.n_rows,
        n_dropped=intake.n_dropped,
        features=[FeatureDocument.model_validate(feature) for feature in cohort.features],
        outcome=asdict(cohort.outcome),
        event_rate=cohort.event_rate,
        sha256=sha256,
        follow_up=None if intake.follow_up is None else FollowUpDocument.model_validate(intake.follow_up),
        sample_size=SampleSizeDocument.model_validate(intake.sample_size),
        has_identifiers=intake.identifiers is not None,
        warnings=[*intake.warnings, *group_notes(cohort.features)],
    )


def cohort_document(row: CohortRow) -> CohortDocument:
    """Return the document of a stored cohort."""
    return CohortDocument(**row.document, id=row.id, created_at=row.created_at)


def meta_features_document(context: Context, owner_id: str, cohort_id: str) -> MetaFeaturesDocument:
    """Compute a cohort's meta-features; raises NotFoundError."""
    # Computed for every request, in less than 2 s: the next release's clinical terms would outdate a stored copy.
    with context.database.session(read_only=True) as session:
        sha256 = CohortRepository(session).get(owner_id, cohort_id).sha256
    cohort = from_parquet(context.files.get("cohorts", sha256))
    values = meta_features(cohort).values
    recognised = zip(cohort.features, clinical_groups(cohort.features), strict=True)
    return MetaFeaturesDocument(
        items=[
            MetaFeatureDocument(name=m.name, group=m.group, value=value)
            for m, value in zip(META_FEATURES, values, strict=True)
        ],
        features=[FeatureGroupDocument(name=f.name, meta_group=r.group, evidence=r.evidence) for f, r in recognised],
        warnings=list(describe_cohort(cohort)),
    )


def outlook_document(context: Context, owner_id: str, cohort_id: str, metric: MetricName | None) -> OutlookDocument:
    """Estimate a search's gain from own, shared and open cohorts; raises NotFoundError and InvalidInputError."""
    with context.database.session(read_only=True) as session:
        sha256 = CohortRepository(session).get(owner_id, cohort_id).sha256
    cohort = from_parquet(context.files.get("cohorts", sha256))
    settings = SearchSettings() if metric is None else SearchSettings(metric=metric)
    planned = plan_search(settings, cohort)[0]
    identity = planned.metric_identity
    with context.database.session(read_only=True) as session:
        earlier = CohortStatisticsRepository(session).earlier(owner_id, identity, but_sha256=sha256)
    shipped = shipped_statistics([feature.name for feature in cohort.features])
    statistics = [*(e.statistics for e in earlier), *shipped]
    seen = outlook(meta_features(cohort), statistics, mode=cohort.mode, metric=identity)
    own = {e.statistics.cohort_id for e in earlier if e.is_own}
    open_ = {s.cohort_id for s in shipped}
    return OutlookDocument(
        metric=planned.metric,
        level=LEVEL,
        expectation=None if seen.expectation is None else ExpectationDocument.model_validate(seen.expectation),
        n_similar=seen.n_similar,
        n_comparable=seen.n_comparable,
        nearest=[
            NearCohortDocument(
                cohort_id=near.cohort_id if near.cohort_id in own else None,
                open_cohort=near.cohort_id if near.cohort_id in open_ else None,
                distance=near.distance,
                weight=near.weight,
                gain=near.gain,
            )
            for near in seen.nearest
        ],
    )
