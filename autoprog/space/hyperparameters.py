"""Hyperparameters: ranges, scales, defaults, and their map to the unit interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

Parameter = float | int | str | bool


@dataclass(frozen=True, slots=True)
class Float:
    """A real hyperparameter in [low, high], on a logarithmic scale if `log`."""

    name: str
    low: float
    high: float
    default: float
    log: bool = False

    def to_unit(self, value: Parameter) -> float:
        """Place of `value` on the axis, in [0, 1]."""
        return _to_unit(float(value), self.low, self.high, log=self.log)

    def from_unit(self, unit: float) -> float:
        """The value at `unit` in [0, 1]."""
        return _from_unit(unit, self.low, self.high, log=self.log)


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer hyperparameter in {low, ..., high}, on a logarithmic scale if `log`."""

    name: str
    low: int
    high: int
    default: int
    log: bool = False

    def to_unit(self, value: Parameter) -> float:
        """Place of `value` on the axis, in [0, 1]."""
        return _to_unit(float(value), self.low, self.high, log=self.log)

    def from_unit(self, unit: float) -> int:
        """The integer nearest to the value at `unit` in [0, 1]."""
        return round(_from_unit(unit, self.low, self.high, log=self.log))


@dataclass(frozen=True, slots=True)
class Choice:
    """A hyperparameter of unordered values; each has a bin of the unit interval."""

    name: str
    choices: tuple[str | bool | int, ...]
    default: str | bool | int

    def to_unit(self, value: Parameter) -> float:
        """Centre of the bin of `value`, in (0, 1)."""
        return (self.choices.index(value) + 0.5) / len(self.choices)

    def from_unit(self, unit: float) -> str | bool | int:
        """The choice whose bin contains `unit`."""
        return self.choices[min(int(unit * len(self.choices)), len(self.choices) - 1)]


Hyperparameter = Float | Integer | Choice


def _to_unit(value: float, low: float, high: float, *, log: bool) -> float:
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low)


def _from_unit(unit: float, low: float, high: float, *, log: bool) -> float:
    if log:
        return min(max(math.exp(math.log(low) + unit * (math.log(high) - math.log(low))), low), high)
    return low + unit * (high - low)
