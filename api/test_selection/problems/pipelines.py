"""The pipeline of the arms' classifiers, as a client specifies it."""

from __future__ import annotations

from collections.abc import Mapping

from api.numbers import parse_number
from api.problems import to_pointer
from autoprog.csmd import SIMPLE
from autoprog.errors import Fault, InvalidInputError
from autoprog.space import (
    STAGES,
    Algorithm,
    Choice,
    Configuration,
    Hyperparameter,
    Integer,
    Parameter,
    StageName,
    Step,
    list_algorithms,
)


def build_configuration(given: object) -> Configuration:
    """Complete a pipeline by the stages of `SIMPLE` and default hyperparameters; raises InvalidInputError."""
    if given is None:
        return SIMPLE
    if not isinstance(given, Mapping):
        raise InvalidInputError([Fault("/configuration", f"must be an object of the stages {', '.join(STAGES)}")])
    faults = [
        Fault(to_pointer(("configuration", str(stage))), f"there is no such stage; they are {', '.join(STAGES)}")
        for stage in given
        if stage not in STAGES
    ]
    steps = {stage: SIMPLE.step(stage) for stage in STAGES}
    for stage in STAGES:
        if stage in given:
            place = f"/configuration/{stage}"
            steps[stage] = _step(stage, given[stage], place, faults)
    if faults:
        raise InvalidInputError(faults)
    return Configuration(**steps)


def _step(stage: StageName, given: object, place: str, faults: list[Fault]) -> Step:
    unknown = SIMPLE.step(stage)
    name = given.get("algorithm") if isinstance(given, Mapping) else None
    if not isinstance(given, Mapping) or not isinstance(name, str) or given.keys() - {"algorithm", "parameters"}:
        faults.append(Fault(place, 'must be {"algorithm": name, "parameters": {...}}'))
        return unknown
    algorithm = next((each for each in list_algorithms(stage) if each.name == name), None)
    if algorithm is None:
        faults.append(
            Fault(f"{place}/algorithm", f"the stage has no such algorithm; `GET /v1/space` lists its {stage}")
        )
        return unknown
    parameters = given.get("parameters") or {}
    if not isinstance(parameters, Mapping):
        faults.append(Fault(f"{place}/parameters", "must be an object"))
        return unknown
    return Step.of(name, _parameters(algorithm, parameters, place, faults))


def _parameters(
    algorithm: Algorithm, given: Mapping[str, object], place: str, faults: list[Fault]
) -> dict[str, Parameter]:
    chosen = dict(algorithm.default_step().parameters)
    axes = {axis.name: axis for axis in algorithm.hyperparameters}
    for name, value in given.items():
        at = place + to_pointer(("parameters", str(name)))
        if name not in axes:
            known = ", ".join(axes) or "none"
            faults.append(Fault(at, f"{algorithm.name} has no such hyperparameter; it has {known}"))
        elif (why := _why_not(axes[name], value)) is not None:
            faults.append(Fault(at, why))
        else:
            chosen[name] = value  # type: ignore[assignment]  # a number or one of the choices
    return chosen


def _why_not(axis: Hyperparameter, value: object) -> str | None:
    if isinstance(axis, Choice):
        return None if value in axis.choices else f"must be one of {', '.join(map(str, axis.choices))}"
    number = parse_number(value)
    whole = isinstance(axis, Integer)
    if number is None or not axis.low <= number <= axis.high or (whole and not isinstance(value, int)):
        return f"must be a {'whole ' if whole else ''}number from {axis.low} to {axis.high}"
    return None
