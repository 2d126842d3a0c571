"""Answers that no object can have given: which of them conflict, and which objects come nearest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.noise import likelihood

NEAREST = 10
"""How many of the nearest objects are told."""


@dataclass(frozen=True)
class NearObject:
    """An object that comes near to contradictory answers.

    Attributes
    ----------
    object : int
        Index of the object.
    disagrees : tuple of int
        Places of the answers that it cannot have given, ascending.
    """

    object: int
    disagrees: tuple[int, ...]


@dataclass(frozen=True)
class Contradiction:
    """Answers that no object can have given.

    Attributes
    ----------
    conflicting : tuple of int
        Places of answers that cannot all be right, ascending; without any one of them the rest of them could be.
    nearest : tuple of NearObject
        The objects that disagree with the fewest answers, likelier ones first; at most `NEAREST`.
    """

    conflicting: tuple[int, ...]
    nearest: tuple[NearObject, ...]


def find_contradiction(model: DiagnosisModel, answers: Sequence[tuple[int, bool | None]]) -> Contradiction:
    """What is wrong with answers that no object can have given.

    Parameters
    ----------
    model : DiagnosisModel
        With or without noise.
    answers : sequence of (int, bool or None)
        Query and answer; None where it could not be answered, which conflicts with nothing.

    Returns
    -------
    Contradiction
        A minimal set of conflicting answers, of which the earliest that can be left out are left out, and the objects
        of the smallest Hamming distance.
    """
    given = [place for place, (_, answer) in enumerate(answers) if answer is not None]
    chances = np.stack([likelihood(model, answers[p][0], answer=bool(answers[p][1])) for p in given])
    impossible = chances == 0
    wrong = impossible.sum(axis=0)
    kept, count = list(range(len(given))), wrong.copy()
    for place in range(len(given)):
        without = count - impossible[place]
        if without.all():
            kept.remove(place)
            count = without
    near = _nearest(model, wrong, chances)
    return Contradiction(
        tuple(given[place] for place in kept),
        tuple(NearObject(int(i), tuple(given[p] for p in np.flatnonzero(impossible[:, i]))) for i in near),
    )


def _nearest(model: DiagnosisModel, wrong: NDArray[np.int64], chances: NDArray[np.float64]) -> NDArray[np.int64]:
    near = np.flatnonzero(wrong == wrong.min())
    possible = np.where(chances[:, near] > 0, chances[:, near], 1.0)
    likely = np.log(model.prior[near]) + np.log(possible).sum(axis=0)
    return near[np.argsort(-likely, kind="stable")[:NEAREST]]
