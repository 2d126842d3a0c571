"""How many evaluations the optimizer needs, beside its rivals."""
