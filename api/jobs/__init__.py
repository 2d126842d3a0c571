"""`/v1/jobs`: work that goes on behind resources."""
