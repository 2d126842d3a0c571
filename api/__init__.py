"""The REST API: HTTP on top of `autoprog.search` and `autoprog.storage`."""

from api.app import create_app, create_operations

__all__ = ["create_app", "create_operations"]
