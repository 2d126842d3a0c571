"""Describe the pipeline space."""

from __future__ import annotations

from dataclasses import asdict

from api.space.schemas import (
    AlgorithmDocument,
    ChoiceDocument,
    CostDocument,
    NumberDocument,
    SpaceDocument,
    StageDocument,
)
from autoprog.space import STAGES, Algorithm, Choice, Hyperparameter, Integer, Space, describe_inputs


def space_document(space: Space) -> SpaceDocument:
    """Return the document of a pipeline space, stage by stage."""
    stages = [
        StageDocument(name=name, algorithms=[_algorithm(algorithm) for algorithm in algorithms])
        for name, algorithms in zip(STAGES, space.stages, strict=True)
    ]
    return SpaceDocument(stages=stages, pipelines=space.n_pipelines, dimensions=space.n_dimensions)


def _algorithm(algorithm: Algorithm) -> AlgorithmDocument:
    return AlgorithmDocument(
        name=algorithm.name,
        modes=list(algorithm.modes),
        hyperparameters=[_hyperparameter(axis) for axis in algorithm.hyperparameters],
        family=algorithm.family,
        takes=describe_inputs(algorithm),
        cost=CostDocument(**asdict(algorithm.cost)),
        refits=algorithm.refits,
        max_columns=algorithm.max_columns,
        max_cells=algorithm.max_cells,
        max_patients=algorithm.max_patients,
        subsample=None if algorithm.max_patients is None else algorithm.subsample,
        table_1=algorithm.table_1,
        path=algorithm.path,
        out_of_bag=algorithm.out_of_bag,
        reference=algorithm.reference,
    )


def _hyperparameter(axis: Hyperparameter) -> NumberDocument | ChoiceDocument:
    if isinstance(axis, Choice):
        return ChoiceDocument(name=axis.name, kind="choice", choices=list(axis.choices), default=axis.default)
    return NumberDocument(
        name=axis.name,
        kind="integer" if isinstance(axis, Integer) else "float",
        range=(axis.low, axis.high),
        scale="log" if axis.log else "linear",
        default=axis.default,
    )
