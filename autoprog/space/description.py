"""Hyperparameters, size guards and costs of algorithms as short text for tables."""

from __future__ import annotations

from typing import get_args

from autoprog.space._base import Algorithm, Cost, Input
from autoprog.space.hyperparameters import Choice, Hyperparameter, Integer, Parameter


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
