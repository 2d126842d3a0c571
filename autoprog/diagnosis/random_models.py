"""Random models: queries that separate groups, and objects within a group.

========  ===================================================================================================  ======
symbol    meaning                                                                                              shape
========  ===================================================================================================  ======
M, N, K   objects, queries, groups                                                                             1
x         true value of each query: 0 or 1, each with probability 1/2                                          (N,)
gamma_b   P(a group agrees with x), in [1/2, 1]                                                                (N,)
gamma_w   P(an object agrees with its group), in [1/2, 1]                                                      (N,)
beta      spread of the gammas, (1 + Beta(1, beta)) / 2: the larger, the nearer they are to 1/2                1
delta     exponent of Zipf's prior j^-delta / sum_i i^-delta, in random order; 0 is uniform                    1
========  ===================================================================================================  ======

References
----------
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459, section V.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.building import ModelOptions, build_model
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


def random_model(
    rng: np.random.Generator,
    objects: int,
    queries: int,
    groups: int | None = None,
    *,
    beta_within: float = 1.0,
    beta_between: float = 1.0,
    delta: float = 0.0,
    options: ModelOptions = ModelOptions(),  # noqa: B008  frozen
) -> DiagnosisModel:
    """Draw a model without noise.

    Parameters
    ----------
    rng : numpy.random.Generator
    objects, queries : int
        M and N, at least 1.
    groups : int, optional
        K, in [1, M], of nearly equal size; by default every object is its own group.
    beta_within, beta_between, delta : float
        beta of gamma_w and of gamma_b, above 0; exponent of the prior, at least 0. All are finite.
    options : ModelOptions

    Returns
    -------
    DiagnosisModel
        Objects and queries are numbered.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range; names every fault.
    """
    faults = [
        Fault(f"/{name}", f"must be at least 1, not {value}")
        for name, value in (("objects", objects), ("queries", queries))
        if value < 1
    ]
    if groups is not None and not 1 <= groups <= max(objects, 1):
        faults.append(Fault("/groups", f"must lie between 1 and the number of objects, not be {groups}"))
    for name, beta in (("beta_within", beta_within), ("beta_between", beta_between)):
        if not 0 < beta < math.inf:
            faults.append(Fault(f"/{name}", f"must be above 0 and finite, not {beta}"))
    if not 0 <= delta < math.inf:
        faults.append(Fault("/delta", f"must be at least 0 and finite, not {delta}"))
    if faults:
        raise InvalidInputError(faults)
    group_of = np.arange(objects) if groups is None else random_partition(objects, groups, rng)
    within = np.ones(queries) if groups is None else random_agreement(beta_within, queries, rng)
    between = random_agreement(beta_between, queries, rng)
    matrix = random_responses(group_of, within, between, rng)
    return build_model(
        matrix,
        groups=None if groups is None else [f"group {k + 1}" for k in group_of],
        prior=zipf_prior(objects, delta, rng) if delta > 0 else None,
        options=options,
    )


def random_partition(objects: int, groups: int, rng: np.random.Generator) -> _Ints:
    """Draw a partition of objects into groups of nearly equal size.

    Parameters
    ----------
    objects, groups : int
        M and K, at least 1.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape = (M,)
        Group of each object, from 0.
    """
    return rng.permutation(np.arange(objects) % groups)


def random_responses(group_of: _Ints, within: _Floats, between: _Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw the responses of objects in groups.

    Parameters
    ----------
    group_of : ndarray of int, shape = (M,)
        Group of each object, from 0.
    within, between : ndarray, shape = (N,)
        gamma_w and gamma_b of each query, in [1/2, 1].
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of bool, shape = (M, N)
        B.
    """
    groups = int(group_of.max()) + 1
    x = rng.random(len(between)) < 0.5
    b = x ^ (rng.random((groups, len(between))) >= between)
    return np.asarray(b[group_of] ^ (rng.random((len(group_of), len(within))) >= within))


def random_agreement(beta: float, queries: int, rng: np.random.Generator) -> _Floats:
    """Draw the agreement of each query, gamma_w or gamma_b.

    Parameters
    ----------
    beta : float
        Above 0; the larger, the nearer the draws are to 1/2.
    queries : int
        N.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape = (N,)
        (1 + Beta(1, beta)) / 2, in [1/2, 1].
    """
    return (1.0 + rng.beta(1.0, beta, size=queries)) / 2.0


def zipf_prior(objects: int, delta: float, rng: np.random.Generator) -> _Floats:
    """Draw Zipf's prior in random order.

    Parameters
    ----------
    objects : int
        M, at least 1.
    delta : float
        Exponent, at least 0; 0 is the uniform prior.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape = (M,)
        j^-delta / sum_i i^-delta in random order, summing to 1.
    """
    prior = np.arange(1.0, objects + 1.0) ** -delta
    return rng.permutation(prior / prior.sum())
