"""Pages for people: the same services as the REST API, rendered on the server."""
