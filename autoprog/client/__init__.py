"""A client of the REST API: cohorts, searches, models, predictions and the bedside engines from Python."""

from autoprog.client.bedside import Catalogue, DiagnosisModel, DiagnosisSession, SelectionProblem, SelectionRound
from autoprog.client.client import Client
from autoprog.client.connection import ServerError
from autoprog.client.resources import Cohort, Frontier, Model, Search, Validation

__all__ = [
    "Catalogue",
    "Client",
    "Cohort",
    "DiagnosisModel",
    "DiagnosisSession",
    "Frontier",
    "Model",
    "Search",
    "SelectionProblem",
    "SelectionRound",
    "ServerError",
    "Validation",
]
