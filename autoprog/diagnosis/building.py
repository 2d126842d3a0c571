"""Validation of a diagnosis model's input; every fault is named at once.

Fault pointers are those of the API's document: `/objects/3/prior`, `/queries/0/name`, `/responses/4/1`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.catalogue import LARGEST_COST
from autoprog.cohort.messages import capped, count_text, listed
from autoprog.cohort.spec_values import MAX_NAME, NAME_FAULT, is_name
from autoprog.diagnosis.cells import read_cells
from autoprog.diagnosis.model import ALGORITHMS, Algorithm, DiagnosisModel, Stop, Ties
from autoprog.diagnosis.responses import Responses
from autoprog.errors import Fault, InvalidInputError

MAX_CELLS = 1_000_000_000
"""Maximum number of responses of a model."""

MAX_OBJECTS, MAX_QUERIES = 2_000_000, 100_000

MAX_SEED = 2**63 - 1
"""Largest seed."""

_Column = Sequence[float | None] | NDArray[np.float64]

# A prior whose sum differs from 1 by rounding only is normalised without a warning.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class ModelOptions:
    """How the next query is chosen.

    Attributes
    ----------
    algorithm : {"gbs", "ggbs", "lambda_gbs", "group_lambda_gbs"} or None
        None chooses `gbs` without groups and `ggbs` with them, or their lambda variant where the base is above 1.
    exponential_cost_base : float or "inf"
        lambda, at least 1.
    stop : {"object", "group"} or None
        Target to identify; None is the object for `lambda_gbs` and the group otherwise. Only `gbs` allows both.
    ties, seed : {"first", "random"} and int
        Which of several equally good queries is asked; seed of random ties, in [0, 2^63).
    """

    algorithm: Algorithm | None = None
    exponential_cost_base: float | Literal["inf"] = 1.0
    stop: Stop | None = None
    ties: Ties = "first"
    seed: int = 0


def build_model(  # noqa: PLR0913  each is a column of the client's document
    responses: object,
    *,
    objects: Sequence[str] | None = None,
    queries: Sequence[str] | None = None,
    groups: Sequence[str | None] | None = None,
    prior: Sequence[float | None] | NDArray[np.float64] | None = None,
    costs: Sequence[float | None] | None = None,
    false_positive_rates: Sequence[float | None] | None = None,
    false_negative_rates: Sequence[float | None] | None = None,
    options: ModelOptions = ModelOptions(),
) -> DiagnosisModel:
    """Check the input and build the model.

    Parameters
    ----------
    responses : Responses, ndarray or sequence of sequences, shape = (M, N)
        0 or 1; None or NaN is an unknown response, allowed only for queries with an error rate.
    objects, queries : sequence of str, optional
        Distinct names; numbered by default.
    groups : sequence of str, length M, optional
        Group of each object; None for all objects means no groups.
    prior, costs : sequence of float, lengths M and N, optional
        Finite and above 0. The prior may be counts; None for all objects is uniform. A cost of None is 1.
    false_positive_rates, false_negative_rates : sequence of float, length N, optional
        In [0, 1), each pair summing to less than 1; None stands for 0.
    options : ModelOptions

    Returns
    -------
    DiagnosisModel
        `warnings` lists the changes made to the input.

    Raises
    ------
    InvalidInputError
        If the input is invalid; names every fault.
    """
    faults: list[Fault] = []
    warnings: list[str] = []
    packed = responses if isinstance(responses, Responses) else read_cells(responses, faults)
    M, N = (None, None) if packed is None else (packed.n_objects, packed.n_queries)
    _check_sizes(packed, faults)
    names = checked_names("objects", objects, M, faults)
    asked = checked_names("queries", queries, N, faults)
    group_names, group_of = checked_groups(groups, names, faults)
    weights = checked_weights(prior, len(names), faults, warnings)
    cost = checked_per_query("cost", costs, len(asked), 1.0, faults)
    rates = _rates(false_positive_rates, false_negative_rates, len(asked), faults)
    _check_empty_cells(packed, rates, faults)
    grouped = groups is not None and any(g is not None for g in groups)
    algorithm, base, stop = _algorithm(options, faults, grouped=grouped)
    check_total(cost, base, faults)
    if faults or packed is None:
        raise InvalidInputError(capped(faults, ""))
    return DiagnosisModel(
        packed, names, asked, group_names, group_of, grouped, weights, cost, *rates,
        algorithm=algorithm, base=base, stop=stop, ties=options.ties, seed=options.seed, warnings=tuple(warnings),
    )  # fmt: skip


def with_options(model: DiagnosisModel, options: ModelOptions) -> DiagnosisModel:
    """Replace all options of a model, sharing its responses; raises `InvalidInputError` if they are inconsistent."""
    faults: list[Fault] = []
    algorithm, base, stop = _algorithm(options, faults, grouped=model.grouped)
    check_total(model.costs, base, faults)
    if faults:
        raise InvalidInputError(faults)
    return dataclasses.replace(model, algorithm=algorithm, base=base, stop=stop, ties=options.ties, seed=options.seed)


def _check_sizes(packed: Responses | None, faults: list[Fault]) -> None:
    if packed is None:
        return
    M, N = packed.n_objects, packed.n_queries
    if M == 0 or N == 0:
        faults.append(
            Fault("/responses", f"a model needs an object and a query; these are {M} objects and {N} queries")
        )
    if M > MAX_OBJECTS:
        faults.append(Fault("/objects", f"{M:,} objects, at most {MAX_OBJECTS:,} are allowed"))
    if N > MAX_QUERIES:
        faults.append(Fault("/queries", f"{N:,} queries, at most {MAX_QUERIES:,} are allowed"))
    if M * N > MAX_CELLS:
        faults.append(Fault("/responses", f"{M:,} objects by {N:,} queries, at most {MAX_CELLS:,} cells are allowed"))


def checked_names(
    what: Literal["objects", "queries"], given: Sequence[str] | None, count: int | None, faults: list[Fault]
) -> tuple[str, ...]:
    """Given names or numbered defaults; appends faults."""
    kind = "object" if what == "objects" else "query"
    if given is None:
        return tuple(f"{kind} {i + 1}" for i in range(count or 0))
    if count is not None and len(given) != count:
        side = "rows" if what == "objects" else "columns"
        plural = what if len(given) != 1 else kind
        faults.append(Fault(f"/{what}", f"{len(given):,} {plural}, but the responses have {count:,} {side}"))
    first: dict[str, int] = {}
    for i, name in enumerate(given):
        if not is_name(name):
            faults.append(Fault(f"/{what}/{i}/name", NAME_FAULT))
        elif first.setdefault(name, i) != i:
            faults.append(Fault(f"/{what}/{i}/name", f"is the name of {kind} {first[name]} already"))
    return tuple(given)


def short_name(name: str) -> str:
    """Cut a name off at `MAX_NAME` characters."""
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Make names unique by appending a number to repeated ones."""
    taken, found = set(names), []
    seen: set[str] = set()
    for name in names:
        candidate, number = name, 1
        while candidate in seen or (candidate != name and candidate in taken):
            number += 1
            candidate = f"{name[: MAX_NAME - 12]} ({number})"
        seen.add(candidate)
        found.append(candidate)
    return tuple(found)


def checked_groups(
    given: Sequence[str | None] | None, names: tuple[str, ...], faults: list[Fault]
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of the groups and the group of each object; without groups, each object is its own."""
    if given is None or all(g is None for g in given):
        return names, np.arange(len(names))
    if len(given) != len(names):
        faults.append(Fault("/objects", f"{len(given):,} groups for {len(names):,} objects"))
    index: dict[str, int] = {}
    codes = np.zeros(len(given), dtype=np.int64)
    for i, group in enumerate(given):
        if group is None:
            faults.append(Fault(f"/objects/{i}/group", "missing; give the group of every object, or of none"))
        elif not is_name(group):
            faults.append(Fault(f"/objects/{i}/group", NAME_FAULT))
        else:
            codes[i] = index.setdefault(group, len(index))
    return tuple(index), codes


def _numbers(
    what: str, field: str, given: _Column, count: int, default: float | None, faults: list[Fault]
) -> NDArray[np.float64]:
    """One number per item; NaN where a fault was appended."""
    if len(given) != count:
        faults.append(Fault(f"/{what}", f"{len(given):,} values of {field} for {count:,} {what}"))
    values = np.full(len(given), np.nan)
    for i, value in enumerate(given):
        if value is None:
            if default is None:
                faults.append(Fault(f"/{what}/{i}/{field}", "missing; give it for all or for none"))
            else:
                values[i] = default
            continue
        try:
            values[i] = math.nan if isinstance(value, bool | str) else float(value)
        except (TypeError, ValueError, OverflowError):
            values[i] = math.nan
        if not math.isfinite(values[i]):
            faults.append(Fault(f"/{what}/{i}/{field}", "give a finite number"))
            values[i] = np.nan
    return values


def checked_weights(given: _Column | None, count: int, faults: list[Fault], warnings: list[str]) -> NDArray[np.float64]:
    """Weights of the prior, as `DiagnosisModel` holds them; appends faults and warnings."""
    if given is None or all(p is None for p in given):
        return np.ones(count)
    values = _numbers("objects", "prior", given, count, None, faults)
    low = np.flatnonzero(values <= 0)
    faults += [Fault(f"/objects/{i}/prior", f"must be above 0, not {values[i]:g}") for i in low]
    if len(low) or np.isnan(values).any() or len(values) != count or not count:
        return np.ones(count)
    with np.errstate(over="ignore"):
        total = float(np.sum(values))
    if not math.isfinite(total):
        faults.append(Fault("/objects", "the priors sum to more than a number can hold"))
        return np.ones(count)
    if abs(total - 1.0) > _ROUNDING:
        warnings.append(f"the priors summed to {total:.6g} and were normalised")
    if (values == values[0]).all():
        return np.ones(count)
    if (values == np.rint(values)).all() and total < 2.0**53:
        return values
    shares: NDArray[np.float64] = values / math.fsum(values)
    vanished = np.flatnonzero(shares == 0)
    faults += [Fault(f"/objects/{i}/prior", "is too small beside the others to be told from 0") for i in vanished]
    return shares


def checked_per_query(
    field: str, given: _Column | None, count: int, default: float, faults: list[Fault]
) -> NDArray[np.float64]:
    """One number above 0 per query; appends faults."""
    if given is None:
        return np.full(count, default)
    values = _numbers("queries", field, given, count, default, faults)
    low = np.flatnonzero(values <= 0)
    faults += [Fault(f"/queries/{i}/{field}", f"must be above 0, not {values[i]:g}") for i in low]
    return values


def check_total(cost: NDArray[np.float64], base: float, faults: list[Fault]) -> None:
    """Check that the cost of a path, and its product with the logarithm of the base, cannot overflow."""
    with np.errstate(over="ignore"):
        total = float(np.sum(cost))
    if total >= LARGEST_COST:
        faults.append(Fault("/queries", f"the costs of all queries together must be below {LARGEST_COST:g}"))
    elif 1 < base < math.inf and total * math.log(base) >= LARGEST_COST:
        text = f"its logarithm times the costs of all queries together must be below {LARGEST_COST:g}"
        faults.append(Fault("/exponential_cost_base", text))


def _rates(
    positive: _Column | None, negative: _Column | None, count: int, faults: list[Fault]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    pair = []
    for field, given in (("false_positive_rate", positive), ("false_negative_rate", negative)):
        values = np.zeros(count) if given is None else _numbers("queries", field, given, count, 0.0, faults)
        outside = np.flatnonzero((values < 0) | (values >= 1))
        faults += [Fault(f"/queries/{i}/{field}", f"must lie in [0, 1), not {values[i]:g}") for i in outside]
        pair.append(values)
    fp, fn = pair
    if fp.shape == fn.shape:
        wrong = np.flatnonzero((fp >= 0) & (fp < 1) & (fn >= 0) & (fn < 1) & (fp + fn >= 1))
        text = "false_positive_rate and false_negative_rate must sum to less than 1, or the answer says the opposite"
        faults += [Fault(f"/queries/{i}", text) for i in wrong]
    return fp, fn


def _check_empty_cells(
    packed: Responses | None, rates: tuple[NDArray[np.float64], NDArray[np.float64]], faults: list[Fault]
) -> None:
    fp, fn = rates
    if packed is None or packed.known is None or not len(fp) == len(fn) == packed.n_queries:
        return
    exact = np.flatnonzero((fp == 0) & (fn == 0))
    step = packed.chunk_rows
    empty = np.zeros(packed.n_queries, dtype=np.int64)
    first = np.full(packed.n_queries, -1)
    for start in range(0, packed.n_objects, step):
        missing = packed.known_matrix(slice(start, start + step)) == 0
        count = missing.sum(axis=0)
        fresh = (first < 0) & (count > 0)
        first[fresh] = start + missing.argmax(axis=0)[fresh]
        empty += count
    for q in exact[empty[exact] > 0]:
        text = f"{count_text(int(empty[q]), 'empty cell')} of query {q}, which has no error rate; give 0 or 1"
        faults.append(Fault(f"/responses/{first[q]}/{q}", text))


def _algorithm(options: ModelOptions, faults: list[Fault], *, grouped: bool) -> tuple[Algorithm, float, Stop]:
    base = checked_base(options.exponential_cost_base, faults)
    algorithm = options.algorithm
    if algorithm is None:
        plain: tuple[Algorithm, Algorithm] = ("ggbs", "group_lambda_gbs") if grouped else ("gbs", "lambda_gbs")
        algorithm = plain[base > 1]
    if algorithm not in ALGORITHMS:
        faults.append(Fault("/algorithm", f"must be one of {listed(ALGORITHMS, len(ALGORITHMS))}"))
    stop: Stop = options.stop or ("object" if algorithm == "lambda_gbs" else "group")
    if stop not in {"object", "group"}:
        faults.append(Fault("/stop", "must be 'object' or 'group'"))
    elif (algorithm == "lambda_gbs" and stop == "group") or (
        algorithm in {"ggbs", "group_lambda_gbs"} and stop == "object"
    ):
        right = "object" if algorithm == "lambda_gbs" else "group"
        faults.append(Fault("/stop", f"{algorithm} identifies the {right}; leave it out or choose another algorithm"))
    if options.ties not in {"first", "random"}:
        faults.append(Fault("/ties", "must be 'first' or 'random'"))
    if isinstance(options.seed, bool) or not isinstance(options.seed, int) or not 0 <= options.seed <= MAX_SEED:
        faults.append(Fault("/seed", "must be a whole number in [0, 2^63)"))
    # Where each object is its own group, both stops are equivalent; "object" needs no table of groups.
    return algorithm, base, stop if grouped else "object"


def checked_base(given: object, faults: list[Fault]) -> float:
    """Base of the exponential cost; infinity for one of 1e308 or more."""
    base = math.inf if given == "inf" else given
    if isinstance(base, bool) or not isinstance(base, int | float) or math.isnan(base) or base < 1:
        faults.append(Fault("/exponential_cost_base", "must be a number of at least 1, or 'inf'"))
        return 1.0
    return float(base) if base < 1e308 else math.inf
