"""Make diagnosis models from what clients send, and report the faults of all parts together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from api.diagnosis.matrix_columns import Matrix
from api.diagnosis.matrix_file import MatrixLayout, read_matrix
from api.diagnosis.models.schemas import (
    MAX_INLINE_CELLS,
    ROLES_OF_UPLOAD,
    CohortModelRequest,
    DiagnosisModelRequest,
    DiagnosisModelSpec,
    DiagnosisObject,
    DiagnosisQuery,
    ModelChoices,
)
from api.diagnosis.names import NAME_FAULT, is_name
from api.numbers import parse_number
from api.uploads import Upload, attempt, parse_json
from autoprog.cohort import Cohort
from autoprog.diagnosis import (
    CohortChoice,
    CohortModel,
    DiagnosisModel,
    ModelOptions,
    build_model,
    model_from_cohort,
    with_persistent_errors,
    with_several_objects,
)
from autoprog.errors import Fault, InvalidInputError, TooLargeError

_MIB = 2**20


def model_of_request(request: DiagnosisModelRequest, faults: list[Fault]) -> DiagnosisModel:
    """Make the model that a JSON body describes; raises TooLargeError, and InvalidInputError with all `faults`."""
    rows = request.responses if isinstance(request.responses, list) else []
    cells = sum(len(row) for row in rows if isinstance(row, list))
    if cells > MAX_INLINE_CELLS:
        detail = f"{cells:,} responses; a body of JSON may hold {MAX_INLINE_CELLS:,}: upload the matrix as a file"
        raise TooLargeError(f"{detail} (multipart/form-data with the parts file and spec)")
    faults += name_faults(request)
    model = attempt(faults, lambda: _built(request, request.responses, request.objects, request.queries))
    if model is None or faults:
        raise InvalidInputError(faults)
    return model


def model_of_upload(upload: Upload, decompressed_mb: int) -> tuple[DiagnosisModelSpec, DiagnosisModel]:
    """Make the model of an upload; raises TooLargeError, UnsupportedMediaError and InvalidInputError."""
    faults = list(upload.faults)
    text = attempt(faults, lambda: upload.text("spec"))
    spec = None if text is None else parse_json(DiagnosisModelSpec, text, "/spec", faults, ROLES_OF_UPLOAD)
    content = attempt(faults, upload.content)
    if spec is None or content is None:
        raise InvalidInputError(faults)
    faults += name_faults(spec, "/spec")
    layout = _layout(spec)
    matrix = attempt(faults, lambda: read_matrix(content, layout, decompressed_mb * _MIB, faults))
    if matrix is None:
        raise InvalidInputError(_distinct(faults))
    model = attempt(faults, lambda: _model_of_matrix(spec, matrix, faults))
    if model is None or faults:
        raise InvalidInputError(_distinct(faults))
    return spec, model


def model_of_cohort(request: CohortModelRequest, cohort: Cohort, faults: list[Fault]) -> CohortModel:
    """Make a model of a cohort's patients; raises InvalidInputError with all `faults`."""
    wrong = name_faults(request) + _option_faults(request)
    faults += wrong
    choice = CohortChoice(
        group=request.group,
        findings=None if request.findings is None else tuple(request.findings),
        thresholds=request.thresholds,
        false_positive_rate=request.false_positive_rate,
        false_negative_rate=request.false_negative_rate,
    )
    options = ModelOptions() if wrong else build_options(request)
    made = attempt(faults, lambda: model_from_cohort(cohort, choice, options=options))
    if made is None or faults:
        raise InvalidInputError(faults)
    return dataclasses.replace(made, model=expanded_model(made.model, request))


def _option_faults(choices: ModelChoices) -> list[Fault]:
    """Return the faults of the choices alone, found by trying them on the smallest matrix."""
    faults: list[Fault] = []
    attempt(faults, lambda: build_model([[0], [1]], groups=["no", "yes"], options=build_options(choices)))
    return faults


def name_faults(choices: ModelChoices, prefix: str = "") -> list[Fault]:
    """Return the faults of a model's name."""
    return [] if is_name(choices.name) else [Fault(f"{prefix}/name", NAME_FAULT)]


def build_options(choices: ModelChoices) -> ModelOptions:
    """Return how the next question is chosen; not checked yet."""
    return ModelOptions(
        algorithm=_word(choices.algorithm),
        exponential_cost_base=_read_base(choices.exponential_cost_base),
        stop=_word(choices.stop),
        ties=_word(choices.ties),
        seed=choices.seed,
    )


def _read_base(given: object) -> Any:  # noqa: ANN401 - the rest is for the model to judge
    """Turn a whole number beyond all floats into infinity."""
    if isinstance(given, bool) or not isinstance(given, int):
        return given
    try:
        return float(given)
    except OverflowError:
        return math.inf if given > 0 else -math.inf


def _word(given: object) -> Any:  # noqa: ANN401 - the rest is for the model to judge
    """Replace what is no text with a word that the model does not know."""
    return given if given is None or isinstance(given, str) else "?"


def _built(
    choices: ModelChoices,
    responses: object,
    objects: Sequence[DiagnosisObject] | None,
    queries: Sequence[DiagnosisQuery] | None,
) -> DiagnosisModel:
    prior = _each(objects, "prior")
    presence = _read_presence(choices, prior)
    model = build_model(
        responses,
        objects=_each(objects, "name"),
        queries=_each(queries, "name"),
        groups=_each(objects, "group"),
        prior=prior if presence is None else None,
        costs=_each(queries, "cost"),
        false_positive_rates=_each(queries, "false_positive_rate"),
        false_negative_rates=_each(queries, "false_negative_rate"),
        options=build_options(choices),
    )
    return expanded_model(model, choices, presence)


def _read_presence(choices: ModelChoices, prior: Sequence[Any] | None) -> list[float] | None:
    """Return priors that are probabilities of several objects at once; None if some are counts or invalid."""
    if prior is None or not isinstance(choices.max_objects, int) or choices.max_objects < 2:
        return None
    numbers = [parse_number(each) for each in prior]
    probabilities = [number for number in numbers if number is not None and 0 < number < 1]
    return probabilities if len(probabilities) == len(numbers) else None


def expanded_model(
    model: DiagnosisModel, choices: ModelChoices, presence: Sequence[float] | None = None
) -> DiagnosisModel:
    """Add several objects at once, and wrong answers, as the choices say."""
    faults: list[Fault] = []
    several = attempt(faults, lambda: with_several_objects(model, choices.max_objects, presence)) or model
    expanded = several
    if choices.max_errors is not None:
        expanded = attempt(faults, lambda: with_persistent_errors(several, choices.max_errors)) or several
    if faults:
        raise InvalidInputError(faults)
    return expanded


def _each(items: Sequence[DiagnosisObject] | Sequence[DiagnosisQuery] | None, field: str) -> list[Any] | None:
    return None if items is None else [getattr(item, field) for item in items]


def _layout(spec: DiagnosisModelSpec) -> MatrixLayout:
    said = (("object", spec.object_column), ("group", spec.group_column), ("prior", spec.prior_column))
    columns = tuple((role, name) for role, name in said if name is not None)
    return MatrixLayout(columns, None if spec.queries is None else [str(query.name) for query in spec.queries])


def _model_of_matrix(spec: DiagnosisModelSpec, matrix: Matrix, faults: list[Fault]) -> DiagnosisModel:
    in_file: dict[str, Sequence[Any] | None] = {"name": matrix.objects, "group": matrix.groups, "prior": matrix.prior}
    twice = [field for field, column in in_file.items() if column is not None and spec.objects is not None]
    if twice:
        detail = f"the file has a column of these already, for {' and '.join(twice)}: leave one of the two out"
        faults.append(Fault("/spec/objects", detail))
    said = {field: _each(spec.objects, field) for field in in_file}
    rows = {field: said[field] if column is None else column for field, column in in_file.items()}
    queries = spec.queries
    presence = _read_presence(spec, rows["prior"])
    try:
        model = build_model(
            matrix.responses,
            objects=rows["name"],
            queries=_each(queries, "name") if matrix.queries is None else matrix.queries,
            groups=rows["group"],
            prior=rows["prior"] if presence is None else None,
            costs=_each(queries, "cost"),
            false_positive_rates=_each(queries, "false_positive_rate"),
            false_negative_rates=_each(queries, "false_negative_rate"),
            options=build_options(spec),
        )
        return expanded_model(model, spec, presence)
    except InvalidInputError as error:
        places = {
            "objects": "/file" if spec.objects is None else "/spec",
            "queries": "/file" if queries is None else "/spec",
            "responses": "/file",
        }
        raise InvalidInputError([_placed(fault, places) for fault in error.faults]) from None


def _placed(fault: Fault, places: dict[str, str]) -> Fault:
    first = fault.pointer.split("/", 2)[1] if fault.pointer.startswith("/") else ""
    return Fault(places.get(first, "/spec") + fault.pointer, fault.detail)


def _distinct(faults: Sequence[Fault]) -> list[Fault]:
    """Drop the faults that a second step has found again."""
    return list(dict.fromkeys(faults))
