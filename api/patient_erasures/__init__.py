"""`/v1/patient-erasures`: one patient erased from all stored cohorts."""
