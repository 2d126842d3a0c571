"""`/v1/space`: the algorithms that a search can choose from."""
