"""Prognostic models from patient cohorts."""
