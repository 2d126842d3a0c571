"""Replays: a policy run over a table of predictions."""
