"""Rounds of a problem: opened, given feedback."""
