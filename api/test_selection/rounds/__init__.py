"""Rounds of a problem, and their feedback."""
