"""`/v1/feature-selection/streams`: learn from labelled patients which few features to look at."""
