"""What a stored model is and what it predicts."""

from __future__ import annotations

from api.dependencies import Context
from api.models.schemas import ModelDocument, PatientPrediction, PredictionDocument, PredictionRequest
from autoprog.storage.tables import ModelRow


def model_document(row: ModelRow) -> ModelDocument:
    """A stored model as the API shows it."""
    return ModelDocument(
        **row.document,
        id=row.id,
        search_id=row.search_id,
        cohort_id=row.cohort_id,
        version=row.version,
        parent_id=row.parent_id,
        horizons=[],
        sha256=row.sha256,
        created_at=row.created_at,
    )


def predict(context: Context, row: ModelRow, request: PredictionRequest) -> PredictionDocument:
    """Ask a model about patients.

    Parameters
    ----------
    context : Context
        Loads the model.
    row : ModelRow
        The model.
    request : PredictionRequest
        The patients.

    Returns
    -------
    PredictionDocument
        In the same order.

    Raises
    ------
    InvalidInputError
        With every cell of every patient that cannot be used.
    ArtifactError
        If the model's file is missing or was altered.
    """
    risks = context.load_model(row.sha256).predict(request.patients)
    items = [PatientPrediction.model_validate(risk.to_json()) for risk in risks]
    return PredictionDocument(items=items, interval=None, model_id=row.id)
