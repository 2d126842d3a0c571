"""`/v1/threshold-learners`: learn thresholds of measurements from values with known outcomes."""
