"""The OpenAPI document: problems with their media type, headers, and bodies that handlers read themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from api.problems import MEDIA_TYPE, PROBLEM_TYPES, Problem

_REF = "#/components/schemas/{model}"
_TITLES = {kind.status: kind.title for kind in reversed(PROBLEM_TYPES.values())}


def _header(description: str, kind: str, *, required: bool = True) -> dict[str, Any]:
    return {"description": description, "required": required, "schema": {"type": kind}}


_LOCATION = {"Location": _header("Path of the resource.", "string")}
_RETRY_AFTER = {"Retry-After": _header("Seconds to wait before the next request.", "integer")}
_REPLAYED = {"Idempotency-Replayed": _header("`true` if the first response is sent again.", "string", required=False)}
_HEADERS = {"201": _LOCATION, "202": _LOCATION | _RETRY_AFTER, "429": _RETRY_AFTER, "503": _RETRY_AFTER}

Responses = dict[int | str, dict[str, Any]]
Models = dict[str, type[BaseModel]]
Content = dict[str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """Declare the problems that a route may respond with, besides 500."""
    return {status: {"model": Problem, "description": _TITLES[status]} for status in (*statuses, 500)}


def reference(model: type[BaseModel]) -> dict[str, str]:
    """Refer to a model in a hand-written part of the document; `install` must be given the model."""
    return {"$ref": _REF.format(model=model.__name__)}


def json_body(schema: dict[str, Any]) -> Content:
    """Return the `requestBody.content` of a JSON body."""
    return {"application/json": {"schema": schema}}


def multipart_body(required: Models, optional: Models | None = None) -> Content:
    """Return the `requestBody.content` of a multipart body with a file and JSON parts, given by name."""
    documents = required | (optional or {})
    file = {
        "type": "string",
        "format": "binary",
        "description": "CSV, Parquet, Excel (.xlsx), Stata, SPSS or SAS, plain or gzipped, recognised by its content.",
    }
    schema = {
        "type": "object",
        "required": ["file", *required],
        "properties": {"file": file, **{name: reference(model) for name, model in documents.items()}},
    }
    encoding = {name: {"contentType": "application/json"} for name in documents}
    return {"multipart/form-data": {"schema": schema, "encoding": encoding}}


def install(app: FastAPI, models: Sequence[type[BaseModel]]) -> None:
    """Give an application its OpenAPI document.

    `models` are those that hand-written parts refer to, and those with null in an example, which FastAPI leaves out.
    """

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            _, definitions = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
            document["components"]["schemas"].update(definitions["$defs"])
            _name_problems(document)
            _name_headers(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign] # the way that FastAPI documents


def _name_problems(document: dict[str, Any]) -> None:
    """Put problems under their media type; FastAPI's own shape of a 422 is never sent."""
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
    for operation in _operations(document):
        for status in [status for status in operation["responses"] if status >= "400"]:
            (content,) = operation["responses"][status]["content"].values()
            if content["schema"]["$ref"].endswith("/HTTPValidationError"):
                del operation["responses"][status]
            else:
                operation["responses"][status]["content"] = {MEDIA_TYPE: content}


def _name_headers(document: dict[str, Any]) -> None:
    """Declare the headers of responses with 201, 202, 429 and 503, and of repeated responses."""
    for operation in _operations(document):
        is_once = any(each["name"].lower() == "idempotency-key" for each in operation.get("parameters", ()))
        for status, response in operation["responses"].items():
            headers = _HEADERS.get(status, {}) | (_REPLAYED if is_once and status < "300" else {})
            if headers:
                response["headers"] = headers


def _operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for path in document["paths"].values() for operation in path.values()]
