"""`/v1/jobs`: background jobs of other resources."""
