"""The REST API and its pages: HTTP on top of `autoprog.search` and `autoprog.storage`; `api.app` makes both."""
