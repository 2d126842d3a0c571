"""The pipeline space: Table 1, configurations, and the estimators that they stand for."""

from autoprog.space._base import Algorithm, TableShape
from autoprog.space.configuration import STAGES, Configuration, StageName, Step
from autoprog.space.hyperparameters import Choice, Float, Hyperparameter, Integer, Parameter
from autoprog.space.pipeline import build_pipeline
from autoprog.space.registry import algorithms_of, register
from autoprog.space.space import PipelineKind, Space

__all__ = [
    "STAGES",
    "Algorithm",
    "Choice",
    "Configuration",
    "Float",
    "Hyperparameter",
    "Integer",
    "Parameter",
    "PipelineKind",
    "Space",
    "StageName",
    "Step",
    "TableShape",
    "algorithms_of",
    "build_pipeline",
    "register",
]
