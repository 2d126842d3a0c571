"""`/v1/space`: what a search can choose from."""
