"""The sections of a report, each a function from stored documents to a `Section`."""
