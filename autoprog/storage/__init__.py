"""Durable memory: the database behind the port `Store`, and the files beside it."""
