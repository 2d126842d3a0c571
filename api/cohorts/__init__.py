"""`/v1/cohorts`: files in, cohorts out."""
