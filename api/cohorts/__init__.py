"""`/v1/cohorts`: cohorts made from uploaded files."""
