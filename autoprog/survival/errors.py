"""What can be wrong with times, horizons and fits."""

from __future__ import annotations

from autoprog.errors import AutoprogError


class SurvivalError(AutoprogError, ValueError):
    """Times, event codes or horizons cannot be used as they are."""

    code = "invalid-input"


class OutcomeError(SurvivalError):
    """Times or event codes are none: negative, missing, of different lengths, a code that nothing stands for."""


class NoEventError(SurvivalError):
    """Nobody had the event, or nobody by a horizon, so that there is nothing to estimate."""


class NoPairError(SurvivalError):
    """No two patients can be compared, so that a rank measure has no value."""


class HorizonError(SurvivalError):
    """A horizon lies where nothing is known.

    Parameters
    ----------
    message : str
        What is wrong, in words.
    largest : float
        The largest horizon that can be used; kept as an attribute.
    """

    def __init__(self, message: str, largest: float) -> None:
        super().__init__(message)
        self.largest = largest


class ConvergenceError(AutoprogError, ArithmeticError):
    """A regression has no finite or no unique estimate.

    Parameters
    ----------
    message : str
        What is wrong, in words.
    column : int or None
        Index of the column that the fit fails by, None where it is no single one; kept as an attribute.
    """

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column
