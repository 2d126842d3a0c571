"""From a file to a stored cohort."""

from __future__ import annotations

from sqlalchemy.orm import Session

from api.cohorts.schemas import CohortBody, CohortDocument, FeatureDocument, OutcomeDocument, SampleSizeDocument
from api.dependencies import Context
from api.uploads import Upload, attempt
from autoprog.cohort import CohortSpec, Intake, ReadLimits, parse_spec, read_cohort, to_parquet
from autoprog.errors import Fault, InvalidInputError
from autoprog.storage.repositories import CohortRepository
from autoprog.storage.tables import CohortRow

_MIB = 2**20


def read_limits(context: Context) -> ReadLimits:
    """Where reading a cohort's file stops on this server."""
    return ReadLimits(decompressed_bytes=context.settings.decompressed_mb * _MIB)


def parse_upload(upload: Upload, faults: list[Fault]) -> tuple[bytes, CohortSpec] | None:
    """Find file and spec in an upload.

    Parameters
    ----------
    upload : Upload
        With the parts `file` and `spec`.
    faults : list of Fault
        Collects what is wrong with them.

    Returns
    -------
    (bytes, CohortSpec) or None
        None where either cannot be used.
    """
    faults += upload.faults
    spec = attempt(faults, lambda: parse_spec(upload.text("spec")))
    file = attempt(faults, upload.content)
    return None if spec is None or file is None else (file, spec)


def create_cohort(context: Context, session: Session, owner_id: str, upload: Upload) -> CohortRow:
    """Read an uploaded cohort and keep it.

    Parameters
    ----------
    context : Context
        The server's parts.
    session : Session
        The transaction that the row belongs to.
    owner_id : str
        Whom it belongs to.
    upload : Upload
        With the parts `file` and `spec`.

    Returns
    -------
    CohortRow
        With its new identifier.

    Raises
    ------
    InvalidInputError
        With every fault of file and spec.
    """
    faults: list[Fault] = []
    parsed = parse_upload(upload, faults)
    if parsed is None or faults:
        raise InvalidInputError(faults)
    file, spec = parsed
    return store_cohort(context, session, owner_id, spec, read_cohort(file, spec, read_limits(context)))


def store_cohort(context: Context, session: Session, owner_id: str, spec: CohortSpec, intake: Intake) -> CohortRow:
    """Keep a cohort: its patients as a file, the rest as a row.

    Parameters
    ----------
    context : Context
        The server's parts.
    session : Session
        The transaction that the row belongs to.
    owner_id : str
        Whom it belongs to.
    spec : CohortSpec
        What the client sent.
    intake : Intake
        What was read.

    Returns
    -------
    CohortRow
        With its new identifier.
    """
    cohort = intake.cohort
    sha256 = context.files.put("cohorts", to_parquet(cohort))
    body = CohortBody(
        name=cohort.name,
        mode=cohort.mode,
        n_patients=cohort.n_patients,
        n_rows=intake.n_rows,
        n_dropped=intake.n_dropped,
        features=[FeatureDocument.model_validate(feature) for feature in cohort.features],
        outcome=OutcomeDocument.model_validate(cohort.outcome),
        event_rate=cohort.event_rate,
        sha256=sha256,
        sample_size=SampleSizeDocument.model_validate(intake.sample_size),
        warnings=list(intake.warnings),
    )
    return CohortRepository(session).add(
        owner_id,
        name=cohort.name,
        sha256=sha256,
        n_patients=cohort.n_patients,
        spec=spec.model_dump(mode="json"),
        document=body.model_dump(mode="json"),
    )


def cohort_document(row: CohortRow) -> CohortDocument:
    """A stored cohort as the API shows it."""
    return CohortDocument(**row.document, id=row.id, created_at=row.created_at)
