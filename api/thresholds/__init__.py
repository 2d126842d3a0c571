"""`/v1/threshold-learners`: where to cut measurements, learnt from values with known outcomes."""
