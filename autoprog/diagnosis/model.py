"""The diagnosis model: objects, queries, responses, and the rule that chooses the next query."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.responses import Responses, sums_by_code

Algorithm = Literal["gbs", "ggbs", "lambda_gbs", "group_lambda_gbs"]
Stop = Literal["object", "group"]
Ties = Literal["first", "random"]

ALGORITHMS: tuple[Algorithm, ...] = ("gbs", "ggbs", "lambda_gbs", "group_lambda_gbs")


@dataclass(frozen=True, eq=False)
class DiagnosisModel:
    """Input of an identification; made by `build_model`.

    Attributes
    ----------
    responses : Responses
        B.
    objects, queries, groups : tuple of str, lengths M, N and K
        Distinct names; the groups are the objects where these are not grouped.
    group_of : ndarray of int64, shape = (M,)
        Index of each object's group.
    grouped : bool
        False where each object is its own group.
    weights : ndarray of float64, shape = (M,)
        Above 0, proportional to the prior: whole numbers (exact sums) if it is uniform or counts, else summing to 1.
    costs : ndarray of float64, shape = (N,)
        Cost of each query, above 0; 1 by default.
    false_positive, false_negative : ndarray of float64, shape = (N,)
        P(answer 1 | response 0) and P(answer 0 | response 1) of each query, summing to less than 1.
    algorithm : {"gbs", "ggbs", "lambda_gbs", "group_lambda_gbs"}
        Rule that chooses the next query.
    base : float
        lambda, the base of the exponential cost: at least 1, `math.inf` for the worst case.
    stop : {"object", "group"}
        Target to identify.
    ties, seed : {"first", "random"} and int
        Among equal scores, ask the query of the lowest index, or one drawn by the seed and the remaining objects.
    """

    responses: Responses
    objects: tuple[str, ...]
    queries: tuple[str, ...]
    groups: tuple[str, ...]
    group_of: NDArray[np.int64]
    grouped: bool
    weights: NDArray[np.float64]
    costs: NDArray[np.float64]
    false_positive: NDArray[np.float64]
    false_negative: NDArray[np.float64]
    algorithm: Algorithm = "gbs"
    base: float = 1.0
    stop: Stop = "object"
    ties: Ties = "first"
    seed: int = 0
    warnings: tuple[str, ...] = ()  # changes made to the input

    @property
    def n_objects(self) -> int:
        """M."""
        return len(self.objects)

    @property
    def n_queries(self) -> int:
        """N."""
        return len(self.queries)

    @property
    def n_groups(self) -> int:
        """K; M where the objects are not grouped."""
        return len(self.groups)

    @property
    def n_cells(self) -> int:
        """M x N."""
        return self.responses.n_cells

    @cached_property
    def prior(self) -> NDArray[np.float64]:
        """Prior of each object, shape (M,): above 0, summing to 1."""
        return self.weights / math.fsum(self.weights)

    @cached_property
    def has_whole_weights(self) -> bool:
        """Whether every sum of weights is exact in double precision."""
        return bool((self.weights == np.rint(self.weights)).all()) and float(self.weights.sum()) < 2.0**53

    @cached_property
    def has_uniform_prior(self) -> bool:
        """Whether all objects are equally likely."""
        return bool((self.weights == self.weights[0]).all())

    @property
    def has_costs(self) -> bool:
        """Whether some query costs more than another."""
        return bool((self.costs != self.costs[0]).any())

    @cached_property
    def is_noisy(self) -> bool:
        """Whether an answer may be wrong or a response is unknown: answers are then weighed, and eliminate nothing."""
        return bool(self.false_positive.any() or self.false_negative.any()) or self.responses.known is not None

    @cached_property
    def target_order(self) -> NDArray[np.int64]:
        """Objects sorted by target, equal ones by index, shape (M,)."""
        return np.argsort(self.target_of, kind="stable")

    @cached_property
    def target_of(self) -> NDArray[np.int64]:
        """Target of each object, shape (M,): its own index, or its group's."""
        return np.arange(self.n_objects) if self.stop == "object" else self.group_of

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the targets: the objects or the groups."""
        return self.objects if self.stop == "object" else self.groups

    @cached_property
    def target_prior(self) -> NDArray[np.float64]:
        """Prior of each target, summing to 1."""
        return sums_by_code(self.target_of, self.prior, len(self.targets))

    @cached_property
    def unidentifiable(self) -> tuple[tuple[int, ...], ...]:
        """Complete sets of objects with the same responses but different targets, ascending, sorted by first object."""
        return mixed_classes(self.responses.row_classes(), self.target_of)

    def with_uniform_prior(self) -> DiagnosisModel:
        """The same model with all objects equally likely, for trees of "GBS with uniform prior"."""
        return dataclasses.replace(self, weights=np.ones(self.n_objects))

    def without_noise(self) -> DiagnosisModel:
        """The same model with error rates of 0; raises `ValueError` if a response is unknown."""
        if self.responses.known is not None:
            msg = "responses that are not known cannot be taken for right"
            raise ValueError(msg)
        none = np.zeros(self.n_queries)
        return dataclasses.replace(self, false_positive=none, false_negative=none)


def mixed_classes(classes: NDArray[np.int64], target_of: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    """Sets of objects of the same class but different targets, as `DiagnosisModel.unidentifiable` returns them."""
    order = np.lexsort((np.arange(len(classes)), classes))
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    target = target_of[order]
    mixed = np.minimum.reduceat(target, starts) < np.maximum.reduceat(target, starts)
    ends = np.append(starts[1:], len(classes))
    sets = [tuple(order[i:j].tolist()) for i, j in zip(starts[mixed], ends[mixed], strict=True)]
    return tuple(sorted(sets))
