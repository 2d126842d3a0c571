"""The table of algorithms; a plug-in adds to it by calling `register` on import."""

from __future__ import annotations

from dataclasses import replace

from autoprog.space._base import Algorithm
from autoprog.space.calibration import BEYOND_TABLE_1 as CALIBRATION_BEYOND_TABLE_1
from autoprog.space.calibration import CALIBRATION
from autoprog.space.configuration import StageName
from autoprog.space.features import FEATURES
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
