"""A client of the REST API: cohorts, searches, models and predictions from Python, with tables."""

from autoprog.client.client import Client
from autoprog.client.connection import ServerError
from autoprog.client.resources import Cohort, Model, Search, Validation

__all__ = ["Client", "Cohort", "Model", "Search", "ServerError", "Validation"]
