"""The choices that the method leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Preset = Literal["default", "paper", "random"]


@dataclass(frozen=True, slots=True)
class OptimizerOptions:
    """Which optimizer, and its constants.

    Attributes
    ----------
    preset : {"default", "paper", "random"}
        A name of the table in `presets.py`.
    subspaces : int
        M, the most subspaces of a decomposition; at least 1.
    concentration : float
        gamma, the symmetric Dirichlet parameter of the decomposition's prior; above 0. Larger: more even subspaces.
    similarity : float
        rho in (0, 1), the prior correlation of two pipelines that differ by one algorithm swapped for another of its
        subspace.
    beta : float
        Exploration weight of the upper confidence bound, at least 0.
    """

    preset: Preset = "default"
    subspaces: int = 8
    concentration: float = 1.0
    similarity: float = 0.75
    beta: float = 4.0
