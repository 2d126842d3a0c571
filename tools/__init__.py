"""Makers of documents that stand in the repository; none of it is installed."""
