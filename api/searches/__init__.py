"""`/v1/searches`: the main job."""
