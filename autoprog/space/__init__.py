"""The pipeline space: its algorithms, configurations, and the estimators built from them."""

from autoprog.cohort.event_array import EVENT_TIMES
from autoprog.space._base import Algorithm, Cost, Input, Reduction, TableShape
from autoprog.space.adaptation import adapted
from autoprog.space.calibration import CalibratedRisk
from autoprog.space.configuration import STAGES, Configuration, StageName, Step
from autoprog.space.design_matrix import MAX_DUMMIES
from autoprog.space.event_times import (
    CalibratedIncidence,
    IncidencePipeline,
    scaled_to_leave_room,
)
from autoprog.space.hyperparameters import Choice, Float, Hyperparameter, Integer, Parameter
from autoprog.space.independent_columns import IndependentColumns
from autoprog.space.path import HeldOut
from autoprog.space.pipeline import build_pipeline
from autoprog.space.registry import (
    cost_text,
    describe_guards,
    describe_inputs,
    find_registered,
    hyperparameter_text,
    list_algorithms,
    list_modules,
    register,
    registered,
)
from autoprog.space.space import PipelineKind, Space, predicted_seconds

__all__ = [
    "EVENT_TIMES",
    "MAX_DUMMIES",
    "STAGES",
    "Algorithm",
    "CalibratedIncidence",
    "CalibratedRisk",
    "Choice",
    "Configuration",
    "Cost",
    "Float",
    "HeldOut",
    "Hyperparameter",
    "IncidencePipeline",
    "IndependentColumns",
    "Input",
    "Integer",
    "Parameter",
    "PipelineKind",
    "Reduction",
    "Space",
    "StageName",
    "Step",
    "TableShape",
    "adapted",
    "build_pipeline",
    "cost_text",
    "describe_guards",
    "describe_inputs",
    "find_registered",
    "hyperparameter_text",
    "list_algorithms",
    "list_modules",
    "predicted_seconds",
    "register",
    "registered",
    "scaled_to_leave_room",
]
