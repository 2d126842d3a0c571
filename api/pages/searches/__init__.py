"""Pages of searches: the list, one as it runs, and its result."""
