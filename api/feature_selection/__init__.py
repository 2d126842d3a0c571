"""`/v1/feature-selection/streams`: which few features to look at, learnt with the truth."""
