"""Pages of models, and the risk calculator."""
