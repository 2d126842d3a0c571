"""`/v1/test-selection`: learn without the truth which tests are worth their cost; frontiers of a search."""
