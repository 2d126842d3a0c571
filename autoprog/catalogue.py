"""Diagnostic tests: what each costs, how long it takes, how it may harm, and what it reveals.

======  ====================================================================  ======
symbol  meaning                                                               unit
======  ====================================================================  ======
c       cost of a test                                                        money
m       its duration                                                          minutes
h       its expected harm, such as the probability of a complication          any
p       its price, c + m (worth of a minute) + h (worth of a unit of harm)    money
======  ====================================================================  ======

One notion serves all engines: a test selection chooses sets of tests, a session of diagnosis asks what tests reveal,
and a patient's missing features are revealed by the tests that were not done.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, Self

from autoprog.errors import Fault, InvalidInputError

MAX_TESTS = 1000
"""Maximum number of tests of a catalogue."""

LARGEST_COST = 1e100
"""Upper bound, excluded, of amounts and prices, alone and in total; sums of their squares stay finite."""


@dataclass(frozen=True, slots=True)
class DiagnosticTest:
    """A test that can be ordered for a patient.

    Attributes
    ----------
    name : str, unique among the tests
    cost : float, finite and at least 0, in money
    features : tuple of str, the features or findings that it reveals; empty where predictions come from elsewhere
    minutes : float, finite and at least 0
    harm : float, finite and at least 0, in any unit
    """

    name: str
    cost: float
    features: tuple[str, ...] = ()
    minutes: float = 0.0
    harm: float = 0.0

    @property
    def revealed(self) -> tuple[str, ...]:
        """Names of what the test reveals: its features, or the finding of its own name where it has none."""
        return self.features or (self.name,)

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return asdict(self) | {"features": list(self.features)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote; documents from before version 0.3 have neither minutes nor harm."""
        times = float(document.get("minutes", 0.0)), float(document.get("harm", 0.0))
        return cls(document["name"], float(document["cost"]), tuple(document["features"]), *times)


@dataclass(frozen=True, slots=True)
class Prices:
    """What a minute and a unit of harm are worth in money, each finite and at least 0."""

    minute: float = 0.0
    harm: float = 0.0

    def price(self, test: DiagnosticTest) -> float:
        """Price p of a test, in money; summed as decimals, so that prices that look equal are ties."""
        parts = ((test.cost, 1.0), (test.minutes, self.minute), (test.harm, self.harm))
        return float(sum((_decimal(amount) * _decimal(worth) for amount, worth in parts), Decimal(0)))

    def priced(self, tests: Sequence[DiagnosticTest]) -> list[DiagnosticTest]:
        """The same tests with their prices as costs, and no minutes or harm beside them."""
        return [replace(test, cost=self.price(test), minutes=0.0, harm=0.0) for test in tests]

    def to_json(self) -> dict[str, float]:
        """JSON document."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        return cls(float(document["minute"]), float(document["harm"]))


def _decimal(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def check_prices(prices: Prices) -> list[Fault]:
    """All faults of prices, below `/prices`."""
    values = asdict(prices)
    return [Fault(f"/prices/{name}", _BAD_AMOUNT) for name, value in values.items() if not _is_amount(value)]


def check_catalogue(tests: Sequence[DiagnosticTest]) -> tuple[DiagnosticTest, ...]:
    """Check the tests of a catalogue.

    Parameters
    ----------
    tests : sequence of DiagnosticTest, 1 to `MAX_TESTS`
        A feature may be revealed by several tests.

    Returns
    -------
    tuple of DiagnosticTest
        The same tests.

    Raises
    ------
    InvalidInputError
        With every fault: no or too many tests, an empty or repeated name, a feature twice in a test, an amount that is
        negative or not finite, a total not below `LARGEST_COST`.
    """
    faults = list(_catalogue_faults(tests))
    if faults:
        raise InvalidInputError(faults)
    return tuple(tests)


def _catalogue_faults(tests: Sequence[DiagnosticTest]) -> Iterator[Fault]:
    if not tests:
        yield Fault("/tests", "at least one test is needed")
    if len(tests) > MAX_TESTS:
        yield Fault("/tests", f"{len(tests):,} tests are more than {MAX_TESTS:,}")
    named = name_faults(tests)
    for k, test in enumerate(tests):
        if k in named:
            yield named[k]
        yield from _test_faults(k, test)
    for kind in _AMOUNTS:
        amounts = [getattr(test, kind) for test in tests]
        if all(_is_amount(amount) for amount in amounts) and not math.fsum(amounts) < LARGEST_COST:
            yield Fault("/tests", f"the {kind} of all tests together must be below {LARGEST_COST:g}")


def _test_faults(k: int, test: DiagnosticTest) -> Iterator[Fault]:
    for kind in _AMOUNTS:
        if not _is_amount(getattr(test, kind)):
            yield Fault(f"/tests/{k}/{kind}", _BAD_AMOUNT)
    first: dict[str, int] = {}
    for f, feature in enumerate(test.features):
        if first.setdefault(feature, f) != f:
            yield Fault(f"/tests/{k}/features/{f}", f"{feature} is named twice")


def name_faults(tests: Sequence[DiagnosticTest]) -> dict[int, Fault]:
    """Faults of tests without a name, or with another one's, below `/tests`, by index of the test."""
    first: dict[str, int] = {}
    faults: dict[int, Fault] = {}
    for k, test in enumerate(tests):
        if not test.name:
            faults[k] = Fault(f"/tests/{k}/name", "must not be empty")
        elif test.name in first:
            faults[k] = Fault(f"/tests/{k}/name", f"{test.name} is the name of test {first[test.name]} already")
        first.setdefault(test.name, k)
    return faults


_AMOUNTS = ("cost", "minutes", "harm")
_BAD_AMOUNT = f"must be finite, at least 0 and below {LARGEST_COST:g}"


def _is_amount(value: float) -> bool:
    return math.isfinite(value) and 0 <= value < LARGEST_COST
