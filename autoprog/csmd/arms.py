"""Arms: the sets of tests that can be chosen, their costs, and the outputs that playing an arm reveals.

    K         number of tests                                                            scalar
    n         number of arms: K in a cascade, 2^K - 1 subsets                            scalar
    lambda    trade-off of every arm: errors that a unit of money is worth               (n,)
    C         scaled cost of every arm, lambda times the cost of its tests, in errors    (n,)
    i, j      arms of a pair, i < j; the pair has index j (j - 1) / 2 + i                (P,)
    gap       C_j - C_i of every pair, in errors                                         (P,)

In a cascade arm i uses the first i tests in the order given, and pairs within the first I arms come first. Subsets are
sorted by scaled cost, ties by more tests, then by the order of the tests; the selection is only right in that order.
Disagreements cannot tell which of two arms of equal cost errs less: most likely it is the one with more tests.

References
----------
Unsupervised Online Feature Selection for Cost-Sensitive Medical Diagnosis, sections II and IV.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from autoprog.catalogue import LARGEST_COST, DiagnosticTest, name_faults
from autoprog.errors import Fault, InvalidInputError

Structure = Literal["cascade", "subset"]
Ties = Literal["more_tests", "fewer_tests"]
TIES_BEFORE: Ties = "fewer_tests"
"""Order of the arms of stored problems without `ties`; their feedback is numbered by it."""

MAX_SUBSET_TESTS = 10
MAX_CASCADE_TESTS = 1000

_Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Arm:
    """A set of tests and the classifier that reads them."""

    id: str  # its number in the order of the selection, from "1"
    tests: tuple[int, ...]  # indices, ascending
    cost: float  # total of its tests, in their unit
    scaled_cost: float  # C, in errors


@dataclass(frozen=True, eq=False)
class Arms:
    """All arms of a problem, in the order of the selection; made by `make_arms`."""

    structure: Structure
    tests: tuple[DiagnosticTest, ...]  # in the order given, length K
    trade_off: float | tuple[float, ...]  # lambda as given: one for all arms, or one for each
    arms: tuple[Arm, ...]  # length n
    ties: Ties = "more_tests"  # which of two subsets of equal scaled cost comes first

    def __len__(self) -> int:
        return len(self.arms)

    def __iter__(self) -> Iterator[Arm]:
        return iter(self.arms)

    @cached_property
    def C(self) -> NDArray[np.float64]:  # noqa: N802  the formulas' symbol
        """Scaled costs, shape = (n,)."""
        return np.array([arm.scaled_cost for arm in self.arms])

    @property
    def n_pairs(self) -> int:
        """Number of pairs of arms, P."""
        return len(self) * (len(self) - 1) // 2

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """The arms i < j of every pair, each of shape (P,)."""
        j, i = np.tril_indices(len(self), -1)
        return i.astype(np.int16), j.astype(np.int16)  # at most 1,023 arms, but half a million pairs

    @property
    def gap(self) -> NDArray[np.float64]:
        """C_j - C_i of every pair, shape = (P,)."""
        i, j = self.pairs
        return self.C[j] - self.C[i]

    @cached_property
    def last(self) -> int:
        """The fallback arm: the last of a cascade, the dearest subset; of equals, the one with the most tests."""
        if self.structure == "cascade" or self.ties == "fewer_tests":
            return len(self) - 1
        return int(np.argmax(self.C))

    def decides(self, gap: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether pairs with these gaps can rule out an arm; two subsets of equal cost cannot."""
        return gap != 0 if self.structure == "subset" else np.ones(gap.shape, dtype=np.bool_)

    @cached_property
    def _masks(self) -> NDArray[np.int64]:
        return np.array([sum(1 << test for test in arm.tests) for arm in self.arms])

    def revealed(self, arm: int) -> _Indices:
        """Indices of the arms whose outputs are known once `arm` is played, ascending, including itself."""
        if self.structure == "cascade":
            return np.arange(arm + 1)
        return np.flatnonzero(self._masks & ~self._masks[arm] == 0)

    def revealed_pairs(self, arm: int) -> NDArray[np.int32] | slice:
        """Index of the pairs whose outputs are both known once `arm` is played, ascending."""
        if self.structure == "cascade":
            return slice(0, arm * (arm + 1) // 2)
        return _pairs_among(self, arm)

    def coverings(self, arm: int) -> tuple[_Indices, _Indices]:
        """Places (fewer, more) within `revealed(arm)` of arms where `more` is `fewer` with one test added."""
        if self.structure == "cascade":
            return np.arange(arm), np.arange(1, arm + 1)
        masks = self._masks[self.revealed(arm)]
        place = {int(mask): k for k, mask in enumerate(masks)}
        steps = [
            (place[mask & ~(1 << test)], k)
            for mask, k in place.items()
            for test in self.arms[arm].tests
            if mask >> test & 1 and mask != 1 << test
        ]
        fewer, more = np.array(steps, dtype=np.intp).reshape(-1, 2).T
        return fewer, more


@lru_cache(maxsize=128)
def _pairs_among(arms: Arms, arm: int) -> NDArray[np.int32] | slice:
    known = arms.revealed(arm)
    if len(known) == len(arms):
        return slice(None)
    j, i = np.tril_indices(len(known), -1)
    return (known[j] * (known[j] - 1) // 2 + known[i]).astype(np.int32)


def total_cost(tests: Sequence[DiagnosticTest], subset: Iterable[int]) -> float:
    """Total cost of the tests with the indices `subset`, summed as decimals so that sums that look equal are ties."""
    return float(sum((Decimal(repr(float(tests[k].cost))) for k in subset), Decimal(0)))


def make_arms(
    structure: Structure,
    tests: Sequence[DiagnosticTest],
    trade_off: float | Sequence[float] = 1.0,
    ties: Ties = "more_tests",
) -> Arms:
    """Make the arms of a problem, in the order of the selection.

    Parameters
    ----------
    structure : {"cascade", "subset"}
        Whether tests are done in the order given, as far as needed, or in any combination.
    tests : sequence of DiagnosticTest
        At most 1,000 for a cascade and 10 for subsets.
    trade_off : float or sequence of float
        lambda: one for all arms, or one for each. Subsets are then listed by size, within a size in the order of the
        tests: {a}, {b}, {c}, {a, b}, {a, c}, {b, c}, {a, b, c}.
    ties : {"more_tests", "fewer_tests"}
        Which of two subsets of equal scaled cost comes first; "fewer_tests" is the order of older stored problems.

    Returns
    -------
    Arms
        In the order of the selection.

    Raises
    ------
    InvalidInputError
        With every fault: no or too many tests, an empty or repeated name, a feature in two tests, a negative or
        infinite cost or trade-off, a total not below `LARGEST_COST`, a wrong number of trade-offs.
    """
    n_arms = len(tests) if structure == "cascade" else 2 ** min(len(tests), 64) - 1
    faults = [
        *_structure_faults(structure, tests),
        *_test_faults(tests),
        *_trade_off_faults(trade_off, n_arms),
        *_total_faults(tests, trade_off),
    ]
    if faults:
        raise InvalidInputError(faults)
    K = len(tests)
    if structure == "cascade":
        members = [tuple(range(i + 1)) for i in range(K)]
    else:
        members = [subset for size in range(1, K + 1) for subset in combinations(range(K), size)]
    costs = [total_cost(tests, subset) for subset in members]
    scale = float(trade_off) if isinstance(trade_off, int | float) else tuple(float(v) for v in trade_off)
    scales = scale if isinstance(scale, tuple) else (scale,) * n_arms
    rows = [(weight * cost, subset, cost) for weight, subset, cost in zip(scales, members, costs, strict=True)]
    if structure == "subset":
        sign = 1 if ties == "fewer_tests" else -1
        rows.sort(key=lambda row: (row[0], sign * len(row[1]), row[1]))
    arms = tuple(Arm(str(i), subset, cost, scaled) for i, (scaled, subset, cost) in enumerate(rows, 1))
    return Arms(structure, tuple(tests), scale, arms, ties)


def arms_to_json(arms: Arms) -> dict[str, Any]:
    """Write arms as the JSON object that `arms_from_json` reads."""
    return {
        "structure": arms.structure,
        "tests": [test.to_json() for test in arms.tests],
        "trade_off": list(arms.trade_off) if isinstance(arms.trade_off, tuple) else arms.trade_off,
        "ties": arms.ties,
    }


def arms_from_json(document: Mapping[str, Any]) -> Arms:
    """Read arms from a JSON object; stored objects without `ties` have fewer tests first."""
    tests = [DiagnosticTest.from_json(test) for test in document["tests"]]
    return make_arms(document["structure"], tests, document["trade_off"], document.get("ties", TIES_BEFORE))


def _structure_faults(structure: Structure, tests: Sequence[DiagnosticTest]) -> Iterator[Fault]:
    if structure not in get_args(Structure):
        yield Fault("/structure", f"must be cascade or subset, not {structure!r}")
    if not tests:
        yield Fault("/tests", "at least one test is needed")
    if structure == "subset" and len(tests) > MAX_SUBSET_TESTS:
        arms = f"{2 ** min(len(tests), 64) - 1:,}"
        yield Fault("/tests", f"{len(tests)} tests have {arms} subsets; at most {MAX_SUBSET_TESTS} tests are possible")
    if structure == "cascade" and len(tests) > MAX_CASCADE_TESTS:
        yield Fault("/tests", f"{len(tests)} tests are more than {MAX_CASCADE_TESTS}")


def _test_faults(tests: Sequence[DiagnosticTest]) -> Iterator[Fault]:
    named = name_faults(tests)
    features: dict[str, str] = {}
    for k, test in enumerate(tests):
        if k in named:
            yield named[k]
        if not (np.isfinite(test.cost) and test.cost >= 0):
            yield Fault(f"/tests/{k}/cost", f"must be finite and at least 0, not {test.cost}")
        for f, feature in enumerate(test.features):
            if feature in features:
                yield Fault(f"/tests/{k}/features/{f}", f"{feature} is measured by {features[feature]} already")
            features.setdefault(feature, test.name)


def _total_faults(tests: Sequence[DiagnosticTest], trade_off: float | Sequence[float]) -> Iterator[Fault]:
    total = sum(test.cost for test in tests if np.isfinite(test.cost))
    largest = max((scale for scale in np.atleast_1d(trade_off).tolist() if np.isfinite(scale)), default=0.0)
    if not total < LARGEST_COST:
        yield Fault("/tests", f"the costs of all tests together must be below {LARGEST_COST:g}")
    elif not total * largest < LARGEST_COST:
        yield Fault("/trade_off", f"the costs of all tests together, scaled by it, must be below {LARGEST_COST:g}")


def _trade_off_faults(trade_off: float | Sequence[float], n_arms: int) -> Iterator[Fault]:
    if isinstance(trade_off, int | float):
        if not (np.isfinite(trade_off) and trade_off >= 0):
            yield Fault("/trade_off", f"must be finite and at least 0, not {trade_off}")
        return
    if len(trade_off) != n_arms:
        yield Fault("/trade_off", f"give one number, or one per arm: there are {n_arms:,} arms, not {len(trade_off):,}")
    for i, value in enumerate(trade_off):
        if not (np.isfinite(value) and value >= 0):
            yield Fault(f"/trade_off/{i}", f"must be finite and at least 0, not {value}")
