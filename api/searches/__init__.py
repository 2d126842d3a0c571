"""`/v1/searches`: searches for a prognostic model."""
