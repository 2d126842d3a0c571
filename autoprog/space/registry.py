"""The table of algorithms; a plug-in adds to it by calling `register` on import."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from autoprog.space._base import Algorithm, Cost, Input
from autoprog.space.calibration import BEYOND_TABLE_1 as CALIBRATION_BEYOND_TABLE_1
from autoprog.space.calibration import CALIBRATION
from autoprog.space.configuration import STAGES, Configuration, StageName
from autoprog.space.features import FEATURES
from autoprog.space.hyperparameters import Choice, Hyperparameter, Integer, Parameter
from autoprog.space.imputation import IMPUTATION
from autoprog.space.prediction import BEYOND_TABLE_1, FOR_COMPETING_RISKS, PREDICTION

_table: dict[str, Algorithm] = {
    a.key: a
    for a in (
        *IMPUTATION,
        *FEATURES,
        *PREDICTION,
        *BEYOND_TABLE_1,
        *FOR_COMPETING_RISKS,
        *CALIBRATION,
        *CALIBRATION_BEYOND_TABLE_1,
    )
}
_built_in = frozenset(_table)


def register(algorithm: Algorithm) -> None:
    """Add an algorithm to the space; it is searched like a built-in one.

    Parameters
    ----------
    algorithm : Algorithm
        Its key must be new, or that of a plug-in that is imported again.

    Raises
    ------
    ValueError
        If the key is that of a built-in algorithm.
    """
    if algorithm.key in _built_in:
        msg = f"{algorithm.key} is a built-in algorithm and cannot be replaced"
        raise ValueError(msg)
    _table[algorithm.key] = replace(algorithm, table_1=False)


def list_algorithms(stage: StageName, n_causes: int = 1) -> tuple[Algorithm, ...]:
    """The algorithms of a stage that serve this number of causes, built-in ones first."""
    return tuple(a for a in _table.values() if a.stage == stage and a.least_causes <= n_causes)


def registered() -> tuple[Algorithm, ...]:
    """Every algorithm of every stage, including those for competing risks."""
    return tuple(_table.values())


def find_registered(stage: StageName, name: str) -> Algorithm:
    """The registered algorithm of a stage by name, whatever the number of causes; raises KeyError."""
    return _table[f"{stage}/{name}"]


def list_modules(configuration: Configuration) -> tuple[str, ...]:
    """The modules that a process imports before it fits this pipeline; see `Algorithm.modules`."""
    algorithms = (_table.get(f"{stage}/{configuration.step(stage).algorithm}") for stage in STAGES)
    return tuple(module for algorithm in algorithms if algorithm is not None for module in algorithm.modules)


def hyperparameter_text(axis: Hyperparameter) -> str:
    """Range and default of a hyperparameter.

    Parameters
    ----------
    axis : Float, Integer or Choice
        The hyperparameter.

    Returns
    -------
    str
        `0.01 to 0.3, log (0.1)`, `1 .. 8 (3)` or `gini, entropy (gini)`, with the default in brackets.
    """
    if isinstance(axis, Choice):
        values = ", ".join(_value(choice) for choice in axis.choices)
    else:
        between = " .. " if isinstance(axis, Integer) else " to "
        values = _value(axis.low) + between + _value(axis.high) + (", log" if axis.log else "")
    return f"{values} ({_value(axis.default)})"


def describe_inputs(algorithm: Algorithm) -> list[Input]:
    """The inputs that an algorithm takes, in the order of `Input`."""
    inputs: tuple[Input, ...] = get_args(Input)
    return [name for name in inputs if name in algorithm.takes]


def describe_guards(algorithm: Algorithm) -> list[str]:
    """Limits on columns and cells of an algorithm, and the patients that it uses; empty without limits."""
    guards = []
    if algorithm.max_columns is not None:
        guards.append(f"at most {algorithm.max_columns:,} columns")
    if algorithm.max_cells is not None:
        guards.append(f"at most {algorithm.max_cells:,} cells")
    if algorithm.max_patients is not None:
        who = "each member on" if algorithm.subsample == "member" else "on"
        guards.append(f"{who} {algorithm.max_patients:,} patients")
    return guards


def cost_text(cost: Cost) -> str:
    """Power law of the seconds of a fit.

    Parameters
    ----------
    cost : Cost
        Its constants.

    Returns
    -------
    str
        `0.3 n^0.7 d^1.1`, with n in 1,000 patients and d in 20 columns; `0` if nothing is fitted.
    """
    if cost.seconds == 0:
        return "0"
    powers = (("n", cost.patients), ("d", cost.columns))
    return " ".join([f"{cost.seconds:g}", *(name if power == 1 else f"{name}^{power:g}" for name, power in powers)])


def _value(value: Parameter) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f"{value:g}"
