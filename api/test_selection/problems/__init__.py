"""`/v1/test-selection/problems`: made, trained on a cohort, shown."""
