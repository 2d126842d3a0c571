"""The shipped prior: what open cohorts teach a search before its first evaluation."""
