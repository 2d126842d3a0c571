"""`/docs`: the OpenAPI document in Swagger UI; nothing is loaded from another server."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from autoprog.errors import NotFoundError

router = APIRouter(include_in_schema=False)

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>autoprog</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_START = b'SwaggerUIBundle({url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, validatorUrl: null});\n'
# Users type their keys into this page: only its own scripts may run, and nothing may be sent elsewhere.
_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
    "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SCRIPT, _STYLE = "text/javascript", "text/css"
_VENDORED = {"swagger-ui-bundle.js": _SCRIPT, "swagger-ui.css": _STYLE}


@router.get("/docs")
def get_page() -> HTMLResponse:
    """Return the page. Its addresses are relative because a proxy may serve it below a prefix."""
    return HTMLResponse(_PAGE, headers={"Content-Security-Policy": _POLICY})


@router.get("/docs/start.js")
def get_start() -> Response:
    """Return the script that starts Swagger UI. The page itself may contain no script."""
    return Response(_START, media_type=_SCRIPT)


@router.get("/docs/{name}")
def get_vendored(name: str) -> Response:
    """Return a file of Swagger UI."""
    if name not in _VENDORED:
        raise NotFoundError("there is no such file")
    # fastapi_offline is installed for its copy of swagger-ui-dist; its code stays unused.
    content = files("fastapi_offline").joinpath("static", name).read_bytes()
    return Response(content, media_type=_VENDORED[name], headers={"Cache-Control": "max-age=86400"})
