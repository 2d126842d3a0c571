"""The pipeline space as a document."""

from __future__ import annotations

from api.space.schemas import AlgorithmDocument, HyperparameterDocument, SpaceDocument, StageDocument
from autoprog.space import STAGES, Algorithm, Choice, Hyperparameter, Integer, Space


def space_document(space: Space) -> SpaceDocument:
    """Describe a space.

    Parameters
    ----------
    space : Space
        The algorithms in play.

    Returns
    -------
    SpaceDocument
        Stage by stage.
    """
    stages = [
        StageDocument(name=name, algorithms=[_algorithm(algorithm) for algorithm in algorithms])
        for name, algorithms in zip(STAGES, space.stages, strict=True)
    ]
    return SpaceDocument(stages=stages, pipelines=space.n_pipelines, dimensions=space.n_dimensions)


def _algorithm(algorithm: Algorithm) -> AlgorithmDocument:
    axes = [_hyperparameter(axis) for axis in algorithm.hyperparameters]
    return AlgorithmDocument(name=algorithm.name, modes=list(algorithm.modes), hyperparameters=axes)


def _hyperparameter(axis: Hyperparameter) -> HyperparameterDocument:
    if isinstance(axis, Choice):
        return HyperparameterDocument(name=axis.name, kind="choice", choices=list(axis.choices), default=axis.default)
    return HyperparameterDocument(
        name=axis.name,
        kind="integer" if isinstance(axis, Integer) else "float",
        range=(axis.low, axis.high),
        scale="log" if axis.log else "linear",
        default=axis.default,
    )
