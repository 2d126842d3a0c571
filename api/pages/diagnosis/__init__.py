"""Diagnosis models, and sessions on them: one question after another."""
