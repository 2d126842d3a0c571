"""Errors of times, horizons and fits."""

from __future__ import annotations

from autoprog.errors import AutoprogError


class SurvivalError(AutoprogError, ValueError):
    """Times, event codes or horizons cannot be used."""

    code = "invalid-input"


class OutcomeError(SurvivalError):
    """Times, event codes or other inputs are invalid: negative, missing, of different lengths, an unknown code."""


class NoEventError(SurvivalError):
    """Nobody had the event, or nobody by a horizon, so there is nothing to estimate."""


class NoPairError(SurvivalError):
    """No two patients can be compared, so a rank measure has no value."""


class HorizonError(SurvivalError):
    """A horizon lies where nothing is known; the attribute `largest` is the largest horizon that can be used."""

    def __init__(self, message: str, largest: float) -> None:
        super().__init__(message)
        self.largest = largest


class ConvergenceError(AutoprogError, ArithmeticError):
    """A regression has no finite or no unique estimate; `column` is the index of the column it fails by, or None."""

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column
