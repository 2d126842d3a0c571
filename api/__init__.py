"""The REST API and its pages: HTTP on top of `autoprog.search` and `autoprog.storage`; `api.app` makes both."""

import fastapi  # noqa: F401  first, so that where the extra `server` is missing, it is the one that is named
