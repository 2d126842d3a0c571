"""Name the extra of the package that brings a missing module."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires

from autoprog.errors import MissingPackageError

# Where a distribution's name is not its module's.
_DISTRIBUTIONS = {
    "docx": "python-docx",
    "fastapi_offline": "fastapi-offline",
    "multipart": "python-multipart",
    "prometheus_client": "prometheus-client",
    "python_multipart": "python-multipart",
    "sksurv": "scikit-survival",
    "starlette": "fastapi",
    "tornado": "distributed",
    "xgboost": "xgboost-cpu",
}
_LINE = re.compile(r"(?P<name>[A-Za-z0-9._-]+).*\bextra\s*==\s*['\"](?P<extra>\w+)['\"]")
_NOT_FOR_USERS = frozenset({"dev", "bench", "docs"})


def find_extra(module: str) -> str | None:
    """Return the extra that brings a module, by its dotted name; None if no extra does."""
    top = module.partition(".")[0]
    distribution = _DISTRIBUTIONS.get(top, top).lower().replace("_", "-")
    try:
        lines = requires("autoprog") or []
    except PackageNotFoundError:
        return None
    found = [match for line in lines if (match := _LINE.match(line)) and match["extra"] not in _NOT_FOR_USERS]
    sizes = Counter(match["extra"] for match in found)
    extras = [match["extra"] for match in found if match["name"].lower() == distribution]
    return min(extras, key=lambda extra: sizes[extra], default=None)  # some extras hold others


def explain_missing(error: ImportError, what: str) -> MissingPackageError | None:
    """Return an error that names the extra to install; None if the module belongs to none."""
    extra = None if error.name is None else find_extra(error.name)
    if extra is None:
        return None
    text = f"{what} needs the module {error.name!r}, which is not installed: pip install 'autoprog[{extra}]'"
    return MissingPackageError(text, name=error.name)


def require(module: str, what: str) -> None:
    """Import a module; raises MissingPackageError that names an extra if a package that it needs is missing."""
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        raise (explain_missing(error, what) or error) from error
