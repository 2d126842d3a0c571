"""Configurations of one cohort's search in the space of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autoprog.space._base import Algorithm
from autoprog.space.configuration import STAGES, Configuration, Step
from autoprog.space.hyperparameters import Choice, Hyperparameter, Parameter
from autoprog.space.space import PipelineKind

_IMPUTATION = STAGES.index("imputation")
_FALLBACK = "median"


def adapted(configurations: Sequence[Configuration], kinds: Sequence[PipelineKind]) -> list[Configuration | None]:
    """Adapt configurations of another space to the kinds of pipeline that are valid here.

    An invalid imputation becomes the median, or the first valid one, at its defaults; the other stages stay. New
    hyperparameters and unknown choices get their defaults; values out of range are clipped.

    Parameters
    ----------
    configurations : sequence of Configuration, length n
        Configurations of another space, possibly of another version.
    kinds : sequence of PipelineKind
        The valid kinds.

    Returns
    -------
    list of Configuration or None, length n
        In the given order; None if no kind has the same features, prediction and calibration.
    """
    by_other_stages: dict[tuple[str, ...], dict[str, PipelineKind]] = {}
    for kind in kinds:
        by_other_stages.setdefault(tuple(a.name for a in kind[1:]), {})[kind[_IMPUTATION].name] = kind
    return [_adapted(configuration, by_other_stages) for configuration in configurations]


def _adapted(
    configuration: Configuration, by_other_stages: Mapping[tuple[str, ...], Mapping[str, PipelineKind]]
) -> Configuration | None:
    imputation, *others = (configuration.step(stage).algorithm for stage in STAGES)
    alike = by_other_stages.get(tuple(others))
    if alike is None:
        return None
    kind = alike.get(imputation) or alike.get(_FALLBACK) or next(iter(alike.values()))
    return Configuration(*(_step(a, configuration.step(stage)) for a, stage in zip(kind, STAGES, strict=True)))


def _step(algorithm: Algorithm, step: Step) -> Step:
    if step.algorithm != algorithm.name:
        return algorithm.default_step()
    given = dict(step.parameters)
    return Step.of(algorithm.name, {h.name: _value(h, given.get(h.name, h.default)) for h in algorithm.hyperparameters})


def _value(h: Hyperparameter, value: Parameter) -> Parameter:
    if isinstance(h, Choice):
        return value if value in h.choices else h.default
    return min(max(value, h.low), h.high) if isinstance(value, int | float) else h.default
