"""Models expanded from another model: objects with their wrong answers, and several objects at once.

==========  ==================================================================================================
symbol      meaning
==========  ==================================================================================================
B, pi       responses and prior of the model
r_iq        probability that object i answers query q wrongly: fn of q where B is 1, fp where it is 0
E           set of queries that are answered wrongly, by the same wrong answer however often they are asked
o_i         odds that object i is present, p_i / (1 - p_i) of its probability p_i, by default pi_i
==========  ==================================================================================================

    wrong answers     object (i, E) answers as i but for E    prior pi_i prod_{q in E} r_iq prod_{q not in E} (1 - r_iq)
    several objects   set S answers 1 if one of S does        prior prod_{i in S} o_i

Both priors are conditional on at most `most` wrong answers, and on 1 to `most` objects. Once errors are part of the
objects no answer is wrong. Groups of objects are then identified, by trees of the expected or the exponential cost.

References
----------
Golovin, Krause & Ray 2010, NIPS, "Near-optimal Bayesian active learning with noisy observations" (persistent noise as
identification of groups).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from autoprog.diagnosis.building import MAX_CELLS, distinct_names, short_name
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.responses import Responses
from autoprog.errors import Fault, InvalidInputError

MAX_EXPANDED = 200_000
"""Maximum number of objects of an expanded model; each is named and built one by one."""

# Least weight of the other objects, beside weights of at most 2^53, so that no odds overflow.
_MIN_OTHERS = 1e-280

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


def with_persistent_errors(model: DiagnosisModel, most: int) -> DiagnosisModel:
    """Expand a model into one without noise, whose objects are the objects together with their wrong answers.

    Parameters
    ----------
    model : DiagnosisModel
        With error rates, every response known.
    most : int
        Maximum number of wrong answers, at least 0. The number of queries gives the posterior of independent errors.

    Returns
    -------
    DiagnosisModel
        Identifies the same targets, as groups, by `ggbs`, or by `group_lambda_gbs` for a lambda algorithm. `warnings`
        states the probability of more wrong answers, which are left out.

    Raises
    ------
    InvalidInputError
        If no answer can be wrong, a response is unknown, or there would be too many objects.
    """
    faults = _whole(most, 0, "/max_errors")
    B = model.responses
    noisy = np.flatnonzero((model.false_positive > 0) | (model.false_negative > 0))
    if B.known is not None:
        faults.append(Fault("/max_errors", "the model has empty cells: which answer to them is wrong is not defined"))
    if not len(noisy):
        faults.append(Fault("/max_errors", "no query has an error rate, so that no answer can be wrong"))
    if faults:
        raise InvalidInputError(faults)
    sizes = range(min(most, len(noisy)) + 1)
    _check_size(model.n_objects, len(noisy), sizes, model.n_queries, "/max_errors")

    answers = B.matrix()[:, noisy] == 1
    rate = np.where(answers, model.false_negative[noisy], model.false_positive[noisy])
    with np.errstate(divide="ignore"):
        odds = np.log(rate) - np.log1p(-rate)
    alone = np.log(model.prior) + np.log1p(-rate).sum(axis=1)
    rows, logs, build_object, wrong = [], [], [], []
    for size in sizes:
        sets = _combinations(len(noisy), size)
        flipped = np.zeros((len(sets), model.n_queries), dtype=bool)
        flipped[np.arange(len(sets))[:, None], noisy[sets]] = True
        log = alone[:, None] + odds[:, sets].sum(axis=2)
        of, which = np.nonzero(np.isfinite(log))
        rows.append(B.rows[of] ^ np.packbits(flipped, axis=1)[which])
        logs.append(log[of, which])
        build_object.append(of)
        wrong += [tuple(noisy[sets[k]].tolist()) for k in which]
    log_weight, of = np.concatenate(logs), np.concatenate(build_object)
    covered = float(logsumexp(log_weight))
    weights = np.exp(log_weight - covered)
    kept = np.flatnonzero(weights > 0)  # some underflow
    names = [_variant(model, int(of[k]), wrong[k]) for k in kept]
    missed = max(0.0, -math.expm1(covered)) if most < len(noisy) else 0.0
    warnings = (
        (f"more than {most} wrong answers, whose probability is {missed:.3g}, are left out",) if missed > 0 else ()
    )
    return dataclasses.replace(
        model,
        responses=Responses(np.concatenate(rows)[kept], model.n_queries),
        objects=distinct_names(names),
        groups=model.targets,
        group_of=model.target_of[of[kept]],
        grouped=True,
        weights=weights[kept],
        false_positive=np.zeros(model.n_queries),
        false_negative=np.zeros(model.n_queries),
        algorithm="ggbs" if model.algorithm in {"gbs", "ggbs"} else "group_lambda_gbs",
        stop="group",
        warnings=(*model.warnings, *warnings),
    )


def with_several_objects(model: DiagnosisModel, most: int, presence: Sequence[float] | None = None) -> DiagnosisModel:
    """Expand a model so that several objects may be present at once.

    Parameters
    ----------
    model : DiagnosisModel
    most : int
        Maximum number of objects present, at least 1.
    presence : sequence of float, length M, optional
        Probability that each object is present, independently of the others, in (0, 1); the model's prior by default,
        which sums to 1.

    Returns
    -------
    DiagnosisModel
        Its objects are sets of objects. A set answers 1 if a member does, else unknown if a member's answer is unknown.
        Its group is the set of its members' groups. Error rates are kept.

    Raises
    ------
    InvalidInputError
        If `most` or a probability is invalid, or there would be too many objects.
    """
    faults = _whole(most, 1, "/max_objects")
    if presence is not None:
        wrong = [i for i, p in enumerate(presence) if not 0 < p < 1]
        faults += [Fault(f"/objects/{i}/prior", f"must lie in (0, 1), not {presence[i]:g}") for i in wrong]
    if faults:
        raise InvalidInputError(faults)
    M, N = model.n_objects, model.n_queries
    if most == 1 or M == 1:
        return model
    sizes = range(1, min(most, M) + 1)
    _check_size(1, M, sizes, N, "/max_objects")
    B = model.responses
    known = np.packbits(B.known_matrix(), axis=1)
    rows, seen, weights, members = [], [], [], []
    odds = _odds(model) if presence is None else np.array([p / (1.0 - p) for p in presence])
    for size in sizes:
        sets = _combinations(M, size)
        yes = np.bitwise_or.reduce(B.rows[sets], axis=1)
        rows.append(yes)
        seen.append(yes | np.bitwise_and.reduce(known[sets], axis=1))
        weights.append(odds[sets].prod(axis=1))
        members += [tuple(s) for s in sets.tolist()]
    weight = np.concatenate(weights)
    if (weight != weight[0]).any():
        weight = weight / math.fsum(weight)
    kept = np.flatnonzero(weight > 0)  # some underflow
    weight = weight[kept]
    members = [members[k] for k in kept]
    names = distinct_names([short_name(" + ".join(model.objects[i] for i in s)) for s in members])
    groups: dict[tuple[int, ...], int] = {}
    group_of = [groups.setdefault(tuple(sorted(set(model.group_of[list(s)].tolist()))), len(groups)) for s in members]
    group_names = distinct_names([short_name(" + ".join(model.groups[g] for g in group)) for group in groups])
    return dataclasses.replace(
        model,
        responses=Responses(np.concatenate(rows)[kept], N, None if B.known is None else np.concatenate(seen)[kept]),
        objects=names,
        groups=group_names if model.grouped else names,
        group_of=np.array(group_of, dtype=np.int64) if model.grouped else np.arange(len(names)),
        weights=np.ones(len(names)) if (weight == weight[0]).all() else weight,
    )


def _odds(model: DiagnosisModel) -> _Floats:
    """Odds of the objects by the model's prior, shape (M,)."""
    # From the others' weights, as 1 - prior would be 0 where the others weigh next to nothing.
    others = np.array([math.fsum(np.delete(model.weights, i)) for i in range(model.n_objects)])
    odds: _Floats = model.weights / np.maximum(others, _MIN_OTHERS)
    return odds


def _whole(value: object, least: int, place: str) -> list[Fault]:
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return []
    return [Fault(place, f"must be a whole number of at least {least}")]


def _check_size(each: int, n: int, sizes: range, queries: int, place: str) -> None:
    """Raise InvalidInputError if `each` objects for every subset of these sizes of `n` things are too many."""
    most = min(MAX_EXPANDED, MAX_CELLS // queries)
    objects = 0
    for size in sizes:
        objects += each * math.comb(n, size)
        if objects > most:  # the number of all subsets may have thousands of digits
            text = (
                f"gives more than {most:,} objects with {queries:,} queries; at most {MAX_EXPANDED:,}, "
                f"and {MAX_CELLS:,} responses"
            )
            raise InvalidInputError([Fault(place, text)])


def _combinations(n: int, size: int) -> _Ints:
    """All subsets of this size of the numbers below n, shape (number of subsets, size)."""
    return np.array(list(itertools.combinations(range(n), size)), dtype=np.int64).reshape(math.comb(n, size), size)


def _variant(model: DiagnosisModel, index: int, wrong: Sequence[int]) -> str:
    if not wrong:
        return model.objects[index]
    return short_name(f"{model.objects[index]}, wrong: {', '.join(model.queries[q] for q in wrong)}")
