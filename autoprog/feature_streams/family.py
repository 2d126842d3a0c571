"""Families of subsets that may be looked at: groups measured together, costs, a budget, or a list of subsets.

    u         units: the groups, and every feature that is in none                                (U,)
    theta     draw of every unit's mean reward                                                    (U,)
    c, s      cost and number of features of a unit                                               (U,)
    B, M      largest cost and largest number of features of a subset                             scalars
    lambda    trade-off: reward that a unit of cost is worth                                      scalar

The family S is the non-empty unions of units with sum c <= B and sum s <= M, or the listed subsets. Units are the arms:
features measured together are played together and share one mean reward. A round plays the member with the largest sum
of theta - lambda c. Up to 12 units, all members are compared; beyond, a knapsack is solved over all costs and sizes, in
multiples of the costs' greatest common divisor as typed.

References
----------
Thompson Sampling for Combinatorial Bandits and Its Application to Online Feature Selection, algorithm 1 (the constraint
set S).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.catalogue import LARGEST_COST
from autoprog.errors import Fault
from autoprog.feature_streams.selectors import Constraint, Subset

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

_ENUMERATED = 12
_TOLERANCE = 1e-9  # costs are added in binary
_MAX_CELLS = 20_000_000
_MANY = 1_000_000_000_000  # sums beyond which a message gives no number


@dataclass(frozen=True, slots=True)
class FeatureGroup:
    """Features that are measured together, such as one blood panel."""

    name: str  # unique among the groups; a feature's name only if that is the group's only feature
    features: tuple[str, ...]  # at least one; no feature is in two groups
    cost: float = 0.0  # at least 0


@dataclass(frozen=True, slots=True)
class Family:
    """The subsets that may be played.

    Attributes
    ----------
    groups : tuple of FeatureGroup; features in no group are free groups of their own
    subsets : tuple of tuple of str, each a union of groups; None for all within the budget and the size
    budget : float or None, B; None for no limit
    trade_off : float, lambda, at least 0; at 0 costs count only against the budget
    """

    groups: tuple[FeatureGroup, ...] = ()
    subsets: tuple[tuple[str, ...], ...] | None = None
    budget: float | None = None
    trade_off: float = 0.0

    def faults(self, features: Sequence[str], size: int | None) -> list[Fault]:
        """All faults of the family for a stream's features and the largest size M, None for no limit."""
        faults = [*self._group_faults(features), *self._number_faults()]
        if not faults:
            faults += self._subset_faults(features, size)
        return faults

    def _group_faults(self, features: Sequence[str]) -> Iterator[Fault]:
        known, names, group_of = set(features), set[str](), dict[str, str]()
        for g, group in enumerate(self.groups):
            if group.name in names or (group.name in known and set(group.features) != {group.name}):
                yield Fault(f"/groups/{g}/name", f"{group.name} is the name of another group or feature")
            names.add(group.name)
            if not group.features:
                yield Fault(f"/groups/{g}/features", "at least one feature is needed")
            if not 0 <= group.cost < LARGEST_COST:
                yield Fault(f"/groups/{g}/cost", f"must be at least 0 and below {LARGEST_COST:g}, not {group.cost}")
            for f, feature in enumerate(group.features):
                if feature not in known:
                    yield Fault(f"/groups/{g}/features/{f}", f"there is no feature {feature}")
                elif feature in group_of:
                    yield Fault(f"/groups/{g}/features/{f}", f"{feature} is measured by {group_of[feature]} already")
                group_of.setdefault(feature, group.name)

    def _number_faults(self) -> Iterator[Fault]:
        if self.budget is not None and not 0 <= self.budget < LARGEST_COST:
            yield Fault("/budget", f"must be at least 0 and below {LARGEST_COST:g}, not {self.budget}")
        if not 0 <= self.trade_off < LARGEST_COST:
            yield Fault("/trade_off", f"must be at least 0 and below {LARGEST_COST:g}, not {self.trade_off}")
        if self.subsets is not None and not self.subsets:
            yield Fault("/subsets", "at least one subset is needed")

    def _subset_faults(self, features: Sequence[str], size: int | None) -> Iterator[Fault]:
        units = _Units(self, features)
        if self.subsets is not None:
            for i, subset in enumerate(self.subsets):
                yield from self._member_faults(units, subset, size, f"/subsets/{i}")
        elif not (_affordable(units.cost, self.budget) & _affordable(units.size, size)).any():
            yield Fault("/budget", "no group is within the budget and the size: there is nothing to look at")
        elif len(units.names) > _ENUMERATED:
            yield from _grid_faults(units, self.budget, size)

    def _member_faults(self, units: _Units, subset: Sequence[str], size: int | None, place: str) -> Iterator[Fault]:
        unknown = [f for f, name in enumerate(subset) if name not in units.place]
        yield from (Fault(f"{place}/{f}", f"there is no feature {subset[f]}") for f in unknown)
        if not subset or len(set(subset)) < len(subset):
            yield Fault(place, "must hold at least one feature, each once")
        if unknown or not subset:
            return
        members = np.unique([units.of[units.place[name]] for name in subset])
        for u in members[units.size[members] > 1]:
            if not set(units.read_features(int(u))) <= set(subset):
                yield Fault(place, f"{units.names[u]} is measured as a whole: name all its features or none")
        if not _affordable(units.cost[members].sum(), self.budget).all():
            yield Fault(place, f"costs more than the budget, {self.budget}")
        if not _affordable(np.float64(len(subset)), size).all():
            yield Fault(place, f"has more features than {size}")

    def units(self, features: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Indices of every unit's features."""
        of = _Units(self, features).of
        return tuple(tuple(np.flatnonzero(of == u).tolist()) for u in range(int(of.max()) + 1))

    def constraint(self, features: Sequence[str], size: int | None) -> Constraint:
        """Make the function theta (U,) -> units of the best member, ascending; of equals the first."""
        units = _Units(self, features)
        if self.subsets is not None:
            return _listed(units, self.subsets, self.trade_off)
        if len(units.names) <= _ENUMERATED:
            return _enumerated(units, self.budget, size, self.trade_off)
        return _solved(units, self.budget, size, self.trade_off)

    def order(self, features: Sequence[str], subset: Sequence[str]) -> tuple[tuple[str, ...], float]:
        """Names of the groups and single features to order for `subset`, and their total cost."""
        units = _Units(self, features)
        members = np.unique([units.of[units.place[name]] for name in subset]).astype(np.intp)
        return tuple(units.names[u] for u in members), float(units.cost[members].sum())

    def to_json(self) -> dict[str, Any]:
        """Write the family as a JSON object."""
        return {
            "groups": [asdict(group) | {"features": list(group.features)} for group in self.groups],
            "subsets": None if self.subsets is None else [list(subset) for subset in self.subsets],
            "budget": self.budget,
            "trade_off": self.trade_off,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        groups = tuple(FeatureGroup(g["name"], tuple(g["features"]), g["cost"]) for g in document["groups"])
        given = document["subsets"]
        subsets = None if given is None else tuple(tuple(subset) for subset in given)
        return cls(groups, subsets, document["budget"], document["trade_off"])


class _Units:
    """Groups, and features in no group, in the order of their first features."""

    def __init__(self, family: Family, features: Sequence[str]) -> None:
        group_of = {feature: group for group in family.groups for feature in group.features}
        self.place = {name: j for j, name in enumerate(features)}
        self._features = features
        numbers: dict[str, int] = {}
        of, costs = [], []
        for feature in features:
            group = group_of.get(feature)
            name = feature if group is None else group.name
            if name not in numbers:
                numbers[name] = len(numbers)
                costs.append(0.0 if group is None else group.cost)
            of.append(numbers[name])
        self.names = list(numbers)
        self.of = np.array(of, dtype=np.intp)
        self.cost = np.array(costs)
        self.size = np.bincount(self.of).astype(np.float64)

    def read_features(self, unit: int) -> list[str]:
        return [self._features[j] for j in np.flatnonzero(self.of == unit).tolist()]

    def grid(self, budget: float | None, size: int | None) -> tuple[list[int], int, list[int], int]:
        """Costs, budget, sizes and largest size as whole numbers, however large; all 0 where there is no limit."""
        none = [0] * len(self.names)
        limit = 0 if size is None else min(size, len(self._features))
        sizes = none if size is None else self.size.astype(np.int64).tolist()
        if budget is None:
            return none, 0, sizes, limit
        exact = [Fraction(repr(cost)) for cost in self.cost.tolist()]
        denominator = lcm(*(cost.denominator for cost in exact))
        whole = [int(cost * denominator) for cost in exact]
        step = gcd(*whole) or 1
        most = min(int(Fraction(repr(budget)) * denominator) // step, sum(whole) // step)
        return [min(cost // step, most + 1) for cost in whole], most, sizes, limit


def _affordable(amount: _Floats | np.float64, most: float | None) -> NDArray[np.bool_]:
    return np.asarray(amount <= (np.inf if most is None else most * (1 + _TOLERANCE)))


def _grid_faults(units: _Units, budget: float | None, size: int | None) -> Iterator[Fault]:
    _, most, _, limit = units.grid(budget, size)
    cells = len(units.names) * (most + 1) * (limit + 1)
    if cells > _MAX_CELLS:
        sums = f"{most + 1:,}" if most < _MANY else f"more than {_MANY:,}"
        detail = f"{len(units.names):,} groups, {sums} sums of costs, {limit + 1:,} sizes: round the costs"
        yield Fault("/budget", f"the best of all subsets is too hard to find: {detail}")


def _listed(units: _Units, subsets: Sequence[Sequence[str]], trade_off: float) -> Constraint:
    members = [np.unique([units.of[units.place[name]] for name in subset]) for subset in subsets]
    flat = np.concatenate(members)
    starts = np.cumsum([0, *map(len, members[:-1])])

    def best(theta: _Floats) -> Subset:
        values = theta - trade_off * units.cost
        return members[int(np.argmax(np.add.reduceat(values[flat], starts)))]

    return best


def _enumerated(units: _Units, budget: float | None, size: int | None, trade_off: float) -> Constraint:
    numbers = np.arange(1, 2 ** len(units.names))
    chosen = (numbers[:, None] >> np.arange(len(units.names)) & 1).astype(np.float64)
    chosen = chosen[_affordable(chosen @ units.cost, budget) & _affordable(chosen @ units.size, size)]

    def best(theta: _Floats) -> Subset:
        return np.flatnonzero(chosen[int(np.argmax(chosen @ (theta - trade_off * units.cost)))])

    return best


def _solved(units: _Units, budget: float | None, size: int | None, trade_off: float) -> Constraint:
    whole_costs, most, whole_sizes, limit = units.grid(budget, size)
    costs, sizes = np.array(whole_costs, dtype=np.int64), np.array(whole_sizes, dtype=np.int64)
    possible = (costs <= most) & (sizes <= limit)

    def best(theta: _Floats) -> Subset:
        values = theta - trade_off * units.cost
        worth = np.flatnonzero(possible & (values > 0))
        if not len(worth):
            return np.flatnonzero(possible)[[int(np.argmax(values[possible]))]]
        return worth[_knapsack(values[worth], costs[worth], most, sizes[worth], limit)]

    return best


def _knapsack(values: _Floats, costs: _Ints, most: int, sizes: _Ints, limit: int) -> NDArray[np.bool_]:
    """Choose the most valuable items within the limits, by the best value of every cost and size; each fits alone."""
    taken = np.zeros(len(values), dtype=np.bool_)
    if costs.sum() <= most and sizes.sum() <= limit:
        return ~taken
    best = np.zeros((limit + 1, most + 1))
    took = np.zeros((len(values), limit + 1, most + 1), dtype=np.bool_)
    for k, (value, cost, size) in enumerate(zip(values.tolist(), costs.tolist(), sizes.tolist(), strict=True)):
        with_it = best[: limit + 1 - size, : most + 1 - cost] + value
        np.greater(with_it, best[size:, cost:], out=took[k, size:, cost:])
        np.maximum(with_it, best[size:, cost:], out=best[size:, cost:])
    for k in range(len(values) - 1, -1, -1):
        if took[k, limit, most]:
            taken[k] = True
            limit, most = limit - int(sizes[k]), most - int(costs[k])
    return taken
