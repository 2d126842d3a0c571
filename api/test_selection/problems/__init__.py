"""`/v1/test-selection/problems`: problems, trained on a cohort or fed with predictions."""
