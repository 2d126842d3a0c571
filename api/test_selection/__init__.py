"""`/v1/test-selection`: which tests are worth their cost, learnt without seeing the truth; frontiers of a search."""
