"""`/v1/models`: fitted models and their predictions."""
