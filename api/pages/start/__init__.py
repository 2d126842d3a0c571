"""From a file to a running search."""
