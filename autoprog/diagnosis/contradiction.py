"""Answers that no object is consistent with: which of them conflict, and the nearest objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.noise import likelihood

NEAREST = 10
"""Maximum number of nearest objects listed."""


@dataclass(frozen=True)
class NearObject:
    """An object close to contradictory answers."""

    object: int  # index
    disagrees: tuple[int, ...]  # indices of the answers inconsistent with it, ascending


@dataclass(frozen=True)
class Contradiction:
    """Answers that no object is consistent with."""

    conflicting: tuple[int, ...]  # a minimal set: indices of answers, ascending; without any one the rest are possible
    nearest: tuple[NearObject, ...]  # inconsistent with the fewest answers, likelier first; at most `NEAREST`


def find_contradiction(model: DiagnosisModel, answers: Sequence[tuple[int, bool | None]]) -> Contradiction:
    """Find a minimal set of conflicting answers (None never conflicts) and the objects of least Hamming distance."""
    given = [place for place, (_, answer) in enumerate(answers) if answer is not None]
    chances = np.stack([likelihood(model, answers[p][0], answer=bool(answers[p][1])) for p in given])
    impossible = chances == 0
    wrong = impossible.sum(axis=0)
    kept, count = list(range(len(given))), wrong.copy()
    for place in range(len(given)):
        without = count - impossible[place]
        if without.all():  # still contradictory without it: the earliest such answers are left out
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
