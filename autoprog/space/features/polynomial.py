"""Products and powers of the standardised columns."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb

from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.features.memory import most_columns
from autoprog.space.hyperparameters import Choice, Integer, Parameter

# A cubic expansion of 40 columns has 12,341 terms; in cohorts of clinical size, more than this many only add noise.
_MAX_TERMS = 1000
# Most cells of a cubic expansion. For 4,000 patients and 833 cubic terms a random forest took 39 s and a support vector
# machine 126 s; with 153 quadratic terms, 4 s and 0.4 s.
_MAX_CUBIC_CELLS = 1_000_000


def n_terms(n_columns: int, degree: int, *, interaction_only: bool) -> int:
    """Number of products of up to `degree` columns, without the empty one."""
    if interaction_only:
        return sum(comb(n_columns, k) for k in range(1, degree + 1))
    return comb(n_columns + degree, degree) - 1


def _polynomial(parameters: Mapping[str, Parameter], shape: TableShape, _seed: int) -> BaseEstimator:
    """Build the richest expansion, up to the requested one, whose number of terms suits the patients."""
    degree, interaction_only = int(parameters["degree"]), bool(parameters["interaction_only"])
    bias = bool(parameters["include_bias"])
    # Powers are dropped before a degree is; with degree 1 the columns stay as they are.
    while degree > 1:
        most = _most_terms(shape, degree) - bias
        if n_terms(shape.n_columns, degree, interaction_only=interaction_only) <= most:
            break
        if n_terms(shape.n_columns, degree, interaction_only=True) <= most:
            interaction_only = True
        else:
            degree, interaction_only = degree - 1, bool(parameters["interaction_only"])
    expansion = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=bias)
    return make_pipeline(StandardScaler(), expansion)


def _most_terms(shape: TableShape, degree: int) -> int:
    most = min(_MAX_TERMS, most_columns(shape))
    return min(most, _MAX_CUBIC_CELLS // shape.n_patients) if degree > 2 else most


POLYNOMIAL = Algorithm(
    "features",
    "polynomial",
    (
        Integer("degree", 2, 3, 2),
        Choice("interaction_only", (False, True), default=False),
        Choice("include_bias", (True, False), default=False),
    ),
    _polynomial,
    family="expansion",
    cost=Cost(0.004, 1.0, 2.0),
    max_columns=43,  # the widest table whose quadratic expansion keeps to _MAX_TERMS
    reference="Hyperparameters as in Feurer et al. (2015), NIPS 28; of more than 1,000 terms, 400 MB of them, or a "
    "million cells of products of three, powers are given up first, then a degree",
)
